#!/bin/sh
# SPDX-License-Identifier: MIT
# Prompts: tokenize and detokenize, files and standard input, and text or ids that a model cannot take (exit code 2).
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"
model=$samples/baseline

code 0 tokenize "$model" 'Hello, world'
prints '<\|endoftext\|>'
code 0 tokenize "$model" 'Hello, world' --json
is kind tokenize
is ids.0 0
is byte_begin.1 0
is text 'Hello, world'
count=$(value 'ids.#')
is 'tokens.#' "$count"
is 'labels.#' "$count"
is 'byte_end.#' "$count"
is "byte_end.$((count - 1))" 12
code 0 tokenize "$model" 'Hello, world' --no-special --json
is 'ids.#' $((count - 1))

# There and back again, byte for byte.
printf 'Tabs\tand\n\nlines, caf\303\251 \344\275\240\345\245\275 \360\237\230\200\n' >text
ids=$("$headgate" tokenize "$model" - --only ids --no-special <text)
checks=$((checks + 1))
"$headgate" detokenize "$model" --ids "$ids" >back 2>"$work/err" && cmp -s text back || fail 'the text does not come back'
checks=$((checks + 1))
"$headgate" tokenize "$model" --prompt-file text --only ids | "$headgate" detokenize "$model" --ids - --no-special >back &&
    cmp -s text back || fail 'the text does not come back through a pipe'
code 0 detokenize "$model" --ids "$ids" --json
is kind detokenize
is text "$(cat text)"
code 0 detokenize "$model" --ids '0, 40
41'
printf 'a\000b' >nul
code 0 tokenize "$model" --prompt-file nul --json
is 'byte_end.3' 3

refuses 2 'UTF-8.*offset 1 ' tokenize "$model" "$(printf 'a\377b')"
refuses 2 'UTF-8.*offset 1 ' map "$model" --prompt "$(printf 'a\377b')" --device "$selector"
refuses 2 'no token' map "$model" --prompt '' --no-special --device "$selector"
refuses 2 'vocabulary of baseline ends at 2047' map "$model" --ids 1,2048 --device "$selector"
refuses 2 'expected token ids' map "$model" --ids 1,x --device "$selector"
refuses 2 'expected token ids' map "$model" --ids -1 --device "$selector"
refuses 2 'expected token ids' map "$model" --ids 99999999999 --device "$selector"
refuses 2 'no id in it' map "$model" --ids '' --device "$selector"
refuses 2 '' detokenize "$model" --ids 1,2048
refuses 4 'cannot read none' map "$model" --prompt-file none --device "$selector"
refuses 4 'cannot read' map "$model" --prompt-file / --device "$selector"
head -c 70000000 /dev/zero >large
refuses 2 'larger than 64 MiB' tokenize "$model" --prompt-file large
rm large

# Without a tokenizer: a text stops, ids do not.
mkdir bare && cp "$model/config.json" "$model/model.safetensors" bare/
refuses 4 'no tokenizer.json.*--ids works' map bare --prompt x --device "$selector"
code 0 map bare --ids 7,8 --json --device "$selector"
is labels.1 '<8>'
is tokens.1 null
is text null
printf '{' >bare/tokenizer.json
code 0 map bare --ids 7,8 --json --device "$selector"
says '^headgate: warning: '
is labels.1 '<8>'

# One token, and more than the model was made for.
code 0 map "$model" --ids 5 --json --device "$selector"
near maps.0.map.0.0 1
is uniform_share 1
is uniform_share_later null
seq 1 300 | tr '\n' ',' >many
checks=$((checks + 1))
"$headgate" logits "$model" --ids - --device "$selector" <many >"$work/out" 2>"$work/err" || fail 'more tokens than positions'
says 'warning: the prompt has 300 tokens; baseline was made for 256'
finish
