#!/bin/sh
# SPDX-License-Identifier: MIT
# headgate bench on one device: tables, JSON and what the figures must have in common. Times are looked at, never judged.
# The sixth argument is bench_check.
# shellcheck source=tests/command/lib.sh
. "$(dirname "$0")/lib.sh"
check=$6
model=$samples/gate_headwise

# Rows with everything: depth, maps, ceiling; two precisions in one run.
code 0 bench "$model" -p 8,16 -n 2 -d 0,20 -r 3 --maps --ceiling --device "$selector" --device "$selector@exact" --json
cp "$work/out" rows.json
ok 'the JSON of rows' "$check" rows.json
is 'rows.#' 20
is rows.0.test pp8
is rows.1.test pp8+maps
is rows.4.test tg2
is rows.9.test 'tg2 @ d20'
is rows.9.depth 20
is rows.10.precision exact
is 'ceilings.#' 2
is 'memory.#' 2
is 'passes.#' 0
is provenance.precision fp32
code 0 inspect "$model" --json
cp "$work/out" inspect.json
"$json" inspect.json weight_bytes >weights
at_least() { # at_least FILE PATH NUMBER
    "$json" "$1" "$2" | awk -v least="$3" '{ exit !($1 >= least) }'
}
ok 'the plan has the weights' at_least rows.json rows.0.planned_bytes "$(cat weights)"
ok 'maps are planned for' at_least rows.json rows.1.planned_bytes "$(($("$json" rows.json rows.0.planned_bytes) + 1))"
ok 'maps take memory' at_least rows.json rows.1.device_bytes "$(($("$json" rows.json rows.0.device_bytes) + 1))"
ok 'depth takes memory' at_least rows.json rows.5.device_bytes "$(($("$json" rows.json rows.0.device_bytes) + 1))"
# A prompt behind others costs more arithmetic than the same alone, and capturing costs none.
ok 'attention to what is deep' at_least rows.json rows.5.flops "$(($("$json" rows.json rows.0.flops) + 1))"
ok 'captures take no arithmetic' [ "$("$json" rows.json rows.1.flops)" = "$("$json" rows.json rows.0.flops)" ]

# Every kernel of the same tests.
code 0 bench "$model" -p 8 -n 2 -d 0,20 -r 2 --maps --kernels --device "$selector" --json
cp "$work/out" kernels.json
ok 'the JSON of kernels adds up to that of rows' "$check" rows.json kernels.json
is 'passes.#' 6
is 'rows.#' 0
code 0 bench "$model" -p 8 -n 0 -r 1 --kernels --ceiling --device "$selector" --json
ok 'shares of kernels' "$check" "$work/out"

# The ceiling needs no model.
code 0 bench --ceiling --device "$selector" --json
ok 'the JSON of a ceiling' "$check" "$work/out"
is 'ceilings.0.selector' "$selector"
code 0 bench --ceiling --device "$selector" --format csv
ok 'a heading and a row' sh -c '[ "$(wc -l <"$1")" = 2 ]' sh "$work/out"

# Tables for people: at most 100 columns, but for what a device calls itself; what ran stands below.
fits() { awk 'length($0) > 100 && !/^[a-z:0-9]+@/ { print; bad = 1 } END { exit bad }' "$work/out"; }
code 0 bench "$model" -p 8 -n 2 -d 0,20 -r 2 --maps --ceiling --device "$selector"
prints '^\| device +\| test +\| tokens/s \| +min \| +max \| GB/s \| GFLOP/s \| read % \| fp32 % \|$'
prints "^\| $selector@fp32 +\| pp8\+maps @ d20 \| +[0-9.]+ \| +[0-9.]+ \| +[0-9.]+ \| "
prints "^$selector@fp32 pp8\+maps: [0-9.]+ x the time of pp8 \([0-9.]+ to [0-9.]+, turn by turn\)$"
prints "^memory of $selector@fp32: .* allocated, .* planned \(pp8\+maps @ d20\); the process grew"
prints "^$selector@fp32 ran embed_rows T[0-9A-Z]+ "
ok 'the table fits 100 columns' fits
code 0 bench "$model" -p 8 -n 2 -r 2 --kernels --ceiling --device "$selector"
prints '^\| mat[a-z]+ T[0-9A-Z]+ bf16p? +\| 8x128x516 +\| +[0-9.]+ % (read|fp32) +\| +4 \| '
prints '^shapes: '
prints "^$selector@fp32 ran "
ok 'the kernels fit 100 columns' fits
code 0 bench "$model" -p 8 -n 0 -r 1 --kernels --device "$selector" --format csv
prints '^"gate_headwise",'"\"$selector\""',.*,"fp32","pp8","mat[a-z]+","T[0-9A-Z]+","bf16p?",'

# How weights lie is chosen as by map, and told by what ran. Of OpenCL drivers these get TC, rusticl does not.
code 0 bench "$model" -p 8 -n 0 -r 1 --device "$selector"
if grep -Eq 'Portable Computing Language|Intel\(R\) OpenCL' "$work/out"; then
    prints ' matmul TC '
    code 0 bench "$model" -p 8 -n 0 -r 1 --repack never --device "$selector"
    prints ' matmul TC bf16 '
    code 0 bench "$model" -p 8 -n 0 -r 1 --repack always --device "$selector"
    prints ' matmul TC bf16p '
fi
finish
