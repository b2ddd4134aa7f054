#!/bin/sh
# SPDX-License-Identifier: MIT
# The commands on one device: the same shares, the same tensors, pictures.
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"
"$headgate" devices --json >"$work/out" 2>"$work/err"
if ! grep -q "\"selector\": \"$selector\"" "$work/out"; then
    echo "no device $selector on this machine"
    exit 77
fi
code 0 demo -o pictures --device "$selector"
prints '^baseline +0.32 +0.17'
prints '^gate_elementwise +0.27 +0.17'
ok 'the overview' test -s pictures/overview.png
for precision in fp32 exact; do
    for name in baseline gate_elementwise gate_headwise; do
        code 0 logits "$samples/$name" --prompt "$prompt" --device "$selector" --precision $precision \
            --dump all.safetensors --what all
        ok "the tensors of $name, $precision" "$tensors" "$reference/samples/$name/expected-0.safetensors" \
            all.safetensors 2e-5 logits attentions.0 attentions.3 hidden_states.4 final_residual
    done
done
code 0 metrics "$samples/gate_elementwise" --prompt "$prompt" --device "$selector" --json
checks=$((checks + 1))
awk -v a="$(value mean_first_token_share)" 'BEGIN { exit !(a > 0.2706 && a < 0.2708) }' || fail 'mean first-token share'
code 0 bench "$samples/baseline" -p 8 -n 2 -r 1 --device "$selector" --json
is 'rows.#' 2
is rows.0.selector "$selector"
code 0 map "$samples/baseline" --prompt "$prompt" --device "$selector" --limits spec-minimum --exact -o minimum.png
code 0 map "$samples/baseline" --prompt "$prompt" --device "$selector" --validate -o validated.png
nothing_left
finish
