#!/bin/sh
# SPDX-License-Identifier: MIT
# text.sh HEADGATE MAKE_MODEL SOURCE OUT: labels of every script stand in the SVG as text, characters that the tokenizer splits as
# their bytes; the F of the titles is the F of `headgate metrics`. With the Qwen3 tokenizer on a random model: the vocabulary of
# the samples is too small to keep such words whole.
set -eu
headgate=$1 make_model=$2 source=$3 out=$4
rm -rf "$out" && mkdir -p "$out" && cd "$out"
gzip -dc "$source/tests/reference/tokenizer/qwen3-tokenizer.json.gz" >tokenizer.json
"$make_model" model --preset tiny --vocab 151936 --layers 1 --gate headwise --tokenizer tokenizer.json >/dev/null
failed=0
check() { # WHAT COMMAND...
    what=$1
    shift
    "$@" >/dev/null 2>&1 || { echo "FAILED: $what"; failed=1; }
}

prompt='注意力 日本語 한국어 مرحبا שלום नमस्ते 🙂 🫨 <a&b> gating
end'
"$headgate" map model --prompt "$prompt" --device ref -o text.svg
"$headgate" map model --prompt "$prompt" --device ref -o text.json
for text in 注意力 日本 مر שלום न 🙂 '&lt;' ␣gating ⏎ '&lt;F0&gt;'; do
    check "'$text' in the SVG" grep -q -- ">[^<]*$text" text.svg
done
check "Korean in the SVG" grep -qE '>[^<]*(한|국|어)' text.svg
check "no raw spelling of the vocabulary" sh -c '! grep -qE "Ġ|Ċ" text.svg'

sample=$source/tools/samples/gate_elementwise
"$headgate" map "$sample" --prompt "Sparse gating mechanism mitigates attention sink." --device ref --layers all -o f.svg
"$headgate" metrics "$sample" --prompt "Sparse gating mechanism mitigates attention sink." --device ref --json >f.json
# Two decimals of each layer's first_token_share, in the order of the layers.
tr ',{' '\n\n' <f.json | sed -n 's/.*"first_token_share": *\([0-9.]*\).*/\1/p' | head -n 4 >shares
[ "$(wc -l <shares)" -eq 4 ] || { echo "FAILED: four shares in metrics --json"; failed=1; }
while read -r share; do
    check "F $share in a title" grep -q "first token $(printf '%.2f' "$share") (uniform 0.17)" f.svg
done <shares
[ $failed = 0 ] && echo "picture_text: all there"
exit $failed
