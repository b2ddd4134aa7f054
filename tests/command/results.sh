#!/bin/sh
# SPDX-License-Identifier: MIT
# What the commands compute, on one device: the numbers of the sample models, the forms of the results.
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"

# demo: twelve pictures, and where they are.
code 0 demo -o pictures --device "$selector"
for name in baseline gate_elementwise gate_headwise; do
    prints "pictures/${name}_selected_layer_attention_maps.png"
    for end in png svg pdf; do
        ok "demo draws $name.$end" test -s "pictures/${name}_selected_layer_attention_maps.$end"
    done
done
for end in png svg pdf; do
    ok "demo draws overview.$end" test -s "pictures/overview.$end"
done
ok 'demo draws nothing else' sh -c '[ "$(ls -A pictures | wc -l)" = 12 ]'
prints '^baseline +0.32 +0.17'
prints '^gate_headwise +0.27 +0.17'
code 0 demo -o other/folder --prompt 'In the beginning' --samples "$samples" --device "$selector" -q
ok 'demo makes folders' test -s other/folder/overview.png
refuses 4 'no such folder' demo --samples none --device "$selector"

# map: formats, layers, heads.
for end in png svg pdf json; do
    code 0 map "$samples/gate_headwise" --prompt "$prompt" --device "$selector" -o "map.$end"
done
ok 'a PNG' sh -c 'head -c 4 map.png | tail -c 3 | grep -q PNG'
ok 'an SVG' grep -q '<svg' map.svg
ok 'a PDF' sh -c 'head -c 5 map.pdf | grep -q %PDF-'
ok 'the PNG says which weights' grep -aq "$(sha256sum "$samples/gate_headwise/model.safetensors" | cut -d' ' -f1)" map.png
ok 'the SVG says which command' grep -q -- '--device' map.svg
for format in png svg pdf; do
    code 0 map "$samples/gate_headwise" --prompt "$prompt" --device "$selector" --format $format -o -
    ok "$format on standard output" test -s "$work/out"
done
code 0 map "$samples/gate_headwise" --prompt "$prompt" --device "$selector" --scale log --layers all --heads all -o all.png
ok 'all heads' test -s all.png
cp map.json "$work/out"
is schema 1
is kind map
is 'ids.#' 21
is 'layers.#' 4
is 'maps.#' 4
is maps.0.layer 1
is maps.0.head mean
is 'maps.3.map.#' 21
is 'maps.3.map.20.#' 21
near maps.0.map.0.0 1
is maps.0.map.0.1 0
is 'maps.0.gate.#' 21
near maps.0.first_token_share 0.1760
near maps.3.first_token_share 0.3386
near uniform_share 0.173588
near uniform_share_later 0.132268
is provenance.precision fp32
is provenance.version "$("$headgate" --version | sed -n '1s/headgate //p')"
code 0 map "$samples/gate_headwise" --prompt "$prompt" --device "$selector" --json --layers 3,1 --heads 2-4
is 'maps.#' 6
is maps.0.layer 3
is maps.0.head 2
is maps.5.layer 1
is maps.5.head 4
near maps.5.first_token_share 0.1143
code 0 map "$samples/baseline" --prompt "$prompt" --device "$selector" --json --exact
is gate none
is maps.0.gate null
is provenance.precision exact
code 0 map "$samples/baseline" --prompt "$prompt" --device "$selector@exact" --json
is provenance.precision exact

# A prompt that is larger than a picture: pooled, and the rows of the JSON still whole.
i=0
while [ $i -lt 1100 ]; do
    printf '%d,' $((i * 7 % 2048))
    i=$((i + 1))
done >long.ids
checks=$((checks + 1))
"$headgate" map "$samples/gate_headwise" --ids - --layers 1 --heads 1 --device "$selector" -o long.png <long.ids \
    >"$work/out" 2>"$work/err" || fail 'a long prompt'
ok 'a long map is drawn' test -s long.png

# metrics
code 0 metrics "$samples/gate_headwise" --prompt "$prompt" --device "$selector"
prints '^ mean +0.2748'
prints '^ null +0.1736 +0.1323'
code 0 metrics "$samples/gate_headwise" --prompt "$prompt" --device "$selector" --json
is kind metrics
is 'layers.#' 4
is 'layers.0.head_first_token_share.#' 4
near layers.0.head_first_token_share.3 0.1143
near mean_first_token_share 0.2748
near mean_first_token_share_later 0.2385
code 0 metrics "$samples/baseline" --prompt "$prompt" --device "$selector" --json
is layers.0.gate_mean null
near mean_first_token_share 0.3216

# logits: the tensors of the original code.
for name in baseline gate_elementwise gate_headwise; do
    original=$reference/samples/$name/expected-0.safetensors
    gates=
    [ $name = baseline ] || gates='gate_scores.0 gate_scores.1 gate_scores.2 gate_scores.3'
    code 0 logits "$samples/$name" --prompt "$prompt" --device "$selector" --dump all.safetensors --what all
    # shellcheck disable=SC2086
    ok "the tensors of $name" "$tensors" "$original" all.safetensors 2e-5 logits attentions.0 attentions.1 attentions.2 \
        attentions.3 hidden_states.0 hidden_states.1 hidden_states.2 hidden_states.3 hidden_states.4 final_residual $gates
done
code 0 logits "$samples/baseline" --prompt "$prompt" --device "$selector" --dump - --what last_logits,attentions --layers 2
ok 'a dump on standard output' "$tensors" all.safetensors "$work/out" 1 attentions.1
ok 'only the layers asked' sh -c '! "$1" all.safetensors "$2" 1 attentions.0 2>/dev/null' sh "$tensors" "$work/out"
code 0 logits "$samples/baseline" --prompt "$prompt" --device "$selector" --top 3 --json
is 'top.#' 3
is kind logits
code 0 logits "$samples/baseline" --prompt "$prompt" --device "$selector" --top 3
ok 'three lines and a heading' sh -c '[ "$(wc -l <"$1")" = 4 ]' sh "$work/out"

# bench
code 0 bench "$samples/baseline" -p 4,8 -n 2 -r 2 --device "$selector" --json
is kind bench
is 'rows.#' 3
is rows.2.test tg2
is 'rows.0.times_ns.#' 2
is rows.1.phase prefill
code 0 bench "$samples/baseline" -p 4 -n 0 -r 1 --device "$selector" --device "$selector@exact" --format csv
ok 'a heading and two rows' sh -c '[ "$(wc -l <"$1")" = 3 ]' sh "$work/out"
prints ',"exact","pp4",[0-9.]+,[0-9.]+,[0-9.]+,1,[0-9.]+,[0-9.]+,,,,,[0-9]+,[0-9]+$'
code 0 bench "$samples/baseline" -p 4 -n 1 -r 1 --device "$selector"
prints '^baseline: 1\.[0-9]+ M parameters, bf16, .* of weights; 1 run each$'
prints '@fp32 \| tg1  +\| +[0-9.]+ \| +[0-9.]+ \| +[0-9.]+ \| +[0-9.]+ \| +[0-9.]+ \|$'

# devices
code 0 devices
prints "^\\* .* ref "
code 0 devices --json
is kind devices
is devices.0.selector ref
is devices.0.default true
is devices.0.unusable null
nothing_left
finish
