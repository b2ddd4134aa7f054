#!/bin/sh
# SPDX-License-Identifier: MIT
# headgate beside llama.cpp on this machine: the same random weights, the same prompt lengths and threads, turn by turn.
#   sh tests/bench/peer.sh [option...]
#     --peer FOLDER      where the peer's peer.sh is (default: ../shared/peer); it fetches and builds the peer the first time
#     --work FOLDER      the peer's environments and the models (default: /var/tmp/headgate-peer)
#     --headgate FILE    default: build/tools/headgate
#     --kind cpu|vulkan  backend of the peer (default: cpu)
#     --device SEL       device of headgate (default: cl:0); with precision as SEL@exact
#     --shape NAME       tiny, 0.6b or 1.7b (default: tiny)
#     --type TYPE        f32, f16 or bf16 (default: bf16)
#     -p LIST -n N       prompt lengths and decoded tokens (default: 32,128 and 32)
#     -r N --rounds N    measured runs in a turn, and turns (default: 3 and 3)
#     -o FILE            all figures as JSON
# Prints a table: tokens/s of both (median of the turns), and the ratio ours : peer with its range over the turns.
# To name one Vulkan driver for both, set VK_ICD_FILENAMES. Exit status 77: the peer cannot be had.
set -eu
cd "$(dirname "$0")/../.."
peer=../shared/peer work=/var/tmp/headgate-peer headgate=build/tools/headgate kind=cpu device=cl:0 shape=tiny type=bf16
prompts=32,128 decode=32 repeat=3 rounds=3 out=''
while [ $# -gt 0 ]; do
    case $1 in
    --peer) peer=$2 ;;
    --work) work=$2 ;;
    --headgate) headgate=$2 ;;
    --kind) kind=$2 ;;
    --device) device=$2 ;;
    --shape) shape=$2 ;;
    --type) type=$2 ;;
    -p) prompts=$2 ;;
    -n) decode=$2 ;;
    -r) repeat=$2 ;;
    --rounds) rounds=$2 ;;
    -o) out=$2 ;;
    *) sed -n '4,17s/^# \{0,1\}//p' tests/bench/peer.sh >&2; exit 2 ;;
    esac
    shift 2
done
[ -f "$peer/peer.sh" ] || { echo "skipped: $peer/peer.sh is not there"; exit 77; }
[ -x "$headgate" ] || { echo "peer.sh: $headgate is not built" >&2; exit 2; }

mkdir -p "$work/models"
sh "$peer/peer.sh" setup "$work" >"$work/setup.log" 2>&1 || { tail -n 3 "$work/setup.log"; echo "skipped: the peer cannot be had just now"; exit 77; }
gguf=$work/models/$shape-$type.gguf
[ -f "$gguf" ] && [ -f "$work/models/$shape-$type/model.safetensors" ] ||
    sh "$peer/peer.sh" make "$work" "$work/models" --shape "$shape" --types "$type" >/dev/null

turns=$(mktemp)
trap 'rm -f "$turns"' EXIT
threads=$(getconf _NPROCESSORS_ONLN)
round=0
while [ $round -lt "$rounds" ]; do
    sh "$peer/peer.sh" bench "$work" "$kind" "$gguf" -p "$prompts" -n "$decode" -r "$repeat" -t "$threads" | tail -n 1 >>"$turns"
    "$headgate" bench "$work/models/$shape-$type" --device "$device" -p "$prompts" -n "$decode" -r "$repeat" --json | tr -d '\n' >>"$turns"
    echo >>"$turns"
    round=$((round + 1))
done

python3 - "$turns" "$kind" "${out:-/dev/null}" <<'EOF'
import json, statistics, sys

lines = [json.loads(line) for line in open(sys.argv[1])]
theirs, ours = lines[0::2], lines[1::2]
rows = []
for test in [row["test"] for row in ours[0]["rows"]]:
    a = [next(row for row in turn["rows"] if row["test"] == test)["median_tokens_per_s"] for turn in ours]
    b = [turn[test]["median"] for turn in theirs]
    ratios = [x / y for x, y in zip(a, b)]
    rows.append({"test": test, "headgate": statistics.median(a), "peer": statistics.median(b), "ratio": statistics.median(ratios),
                 "ratio_min": min(ratios), "ratio_max": max(ratios)})
first = ours[0]["rows"][0]
print(f"headgate on {first['device']} ({first['driver']}, {first['precision']}) beside llama.cpp {sys.argv[2]}, {theirs[0]['model']}")
print("| test | headgate tokens/s | llama.cpp tokens/s | ratio | range over the turns |")
print("| --- | ---: | ---: | ---: | --- |")
for row in rows:
    print(f"| {row['test']} | {row['headgate']:.4g} | {row['peer']:.4g} | {row['ratio']:.3g} | {row['ratio_min']:.3g} to {row['ratio_max']:.3g} |")
with open(sys.argv[3], "w") as file:
    json.dump({"schema": 1, "kind": "peer", "rows": rows, "headgate": ours, "peer": theirs}, file, indent=1)
EOF
