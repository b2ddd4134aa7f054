#!/bin/sh
# SPDX-License-Identifier: MIT
# Matrix products on one device that has them: as near to the reference as T0, and labelled where they are fast.
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"
model=$samples/gate_headwise
"$headgate" devices --json >"$work/out" 2>"$work/err"
shapes=0
n=0
while [ "$(value "devices.$n.selector")" != "" ]; do
    [ "$(value "devices.$n.selector")" != "$selector" ] || shapes=$(value "devices.$n.matrix_shapes.#")
    n=$((n + 1))
done
[ "$shapes" -gt 0 ] || { echo "no cooperative matrices on $selector"; exit 77; }

code 0 devices
prints 'matrices .*f16 \(sums .*f32\)'
code 0 compare "$model" --device "$selector/T0" --device "$selector/T2" --prompt "$prompt" --json
is verdict 'same within rounding'
is devices.1.verdict 'same within rounding'
ok 'products by T2' grep -q '"tier": "T2"' "$work/out"
code 0 selftest --quick --device "$selector/T2@fp32"
prints '^ *matmul +T2 +bf16 .*pass'
prints '^ *attention +T2 .*pass'
code 0 selftest --quick --device "$selector/T2@fast" --json
is devices.0.precision fast

# Fast: near the truth, and said wherever a result is.
code 0 metrics "$model" --prompt "$prompt" --device "$selector/T2" --json
is provenance.precision fp32
share=$(value mean_first_token_share)
code 0 metrics "$model" --prompt "$prompt" --device "$selector/T2@fast" --json
is provenance.precision fast
checks=$((checks + 1))
awk -v a="$share" -v b="$(value mean_first_token_share)" 'BEGIN { d = a - b; exit !(d != 0 && d < 2e-3 && d > -2e-3) }' ||
    fail "mean first-token share: fast $(value mean_first_token_share), fp32 $share"
code 0 map "$model" --prompt "$prompt" --device "$selector/T2" --precision fast -o fast.png
ok 'in the picture' sh -c "tr '\\000' ' ' <fast.png | grep -aq 'Precision *fast'"
code 0 map "$model" --prompt "$prompt" --device "$selector/T2" --precision fast --json
is provenance.precision fast
code 0 logits "$model" --prompt "$prompt" --device "$selector/T2" --precision fast --dump fast.safetensors
ok 'in the tensors' grep -aq '"headgate.precision": *"fast"' fast.safetensors
code 0 bench "$model" -p 32 -n 1 -r 1 --device "$selector/T2" --precision fast --json
is rows.0.precision fast
code 0 bench "$model" -p 32 -n 1 -r 1 --device "$selector/T2" --precision fast
prints 'fast'
code 1 compare "$model" --device "$selector/T0" --device "$selector/T2@fast" --prompt "$prompt"
prints 'did not run: .*precision fast rounds more'
# Without being asked for T2 a processor computes with fp32, and says so.
code 0 metrics "$model" --ids 1,2 --device "$selector@fast" --json
says 'precision fast needs tier T2'
is provenance.precision fp32
# Exact is exact: matrices have no part in it.
code 0 exact-hash "$model" --samples "$samples" --device "$selector/T2" --check
nothing_left
finish
