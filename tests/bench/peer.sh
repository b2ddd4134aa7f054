#!/bin/sh
# SPDX-License-Identifier: MIT
# headgate beside llama.cpp on this machine: the same random weights, the same prompt lengths and threads, turn by turn.
#   sh tests/bench/peer.sh [option...]
#     --peer FOLDER      where the peer's peer.sh is (default: ../shared/peer); it fetches and builds the peer the first time
#     --work FOLDER      the peer's environments and the models (default: /var/tmp/headgate-peer)
#     --headgate FILE    default: build/tools/headgate
#     --kind cpu|vulkan  backend of the peer (default: cpu)
#     --device SEL       device of headgate (default: cl:0; lavapipe: vk:0 with --kind vulkan); with precision as SEL@exact
#     --shape LIST       tiny, 0.6b, 1.7b (default: tiny); a table for each shape and type
#     --type LIST        f32, f16, bf16 (default: bf16)
#     -p LIST -n N       prompt lengths and decoded tokens (default: 32,128 and 32)
#     -d LIST            tokens in the cache before (default: 0); other depths have no figure of a peer whose peer.py takes no -d
#     --maps             also prompts with everything captured; beside the peer, which captures nothing
#     --repack HOW       auto, always or never (default: auto)
#     -r N --rounds N    measured runs in a turn, and turns (default: 3 and 3)
#     -o FILE            all figures as JSON, a line for each table
# Prints a table: tokens/s of both (median of the turns), and the ratio ours : peer with its range over the turns.
# To name one Vulkan driver for both, set VK_ICD_FILENAMES. Exit status 77: the peer cannot be had.
set -eu
cd "$(dirname "$0")/../.."
peer=../shared/peer work=/var/tmp/headgate-peer headgate=build/tools/headgate kind=cpu device=cl:0 shapes=tiny types=bf16
prompts=32,128 decode=32 depths=0 maps='' repack=auto repeat=3 rounds=3 out=''
while [ $# -gt 0 ]; do
    case $1 in
    --maps) maps=--maps; shift; continue ;;
    --peer) peer=$2 ;;
    --work) work=$2 ;;
    --headgate) headgate=$2 ;;
    --kind) kind=$2 ;;
    --device) device=$2 ;;
    --shape) shapes=$(echo "$2" | tr , ' ') ;;
    --type) types=$(echo "$2" | tr , ' ') ;;
    -p) prompts=$2 ;;
    -n) decode=$2 ;;
    -d) depths=$2 ;;
    --repack) repack=$2 ;;
    -r) repeat=$2 ;;
    --rounds) rounds=$2 ;;
    -o) out=$2 ;;
    *) sed -n '4,20s/^# \{0,1\}//p' tests/bench/peer.sh >&2; exit 2 ;;
    esac
    shift 2
done
[ -f "$peer/peer.sh" ] || { echo "skipped: $peer/peer.sh is not there"; exit 77; }
[ -x "$headgate" ] || { echo "peer.sh: $headgate is not built" >&2; exit 2; }

mkdir -p "$work/models"
sh "$peer/peer.sh" setup "$work" >"$work/setup.log" 2>&1 || { tail -n 3 "$work/setup.log"; echo "skipped: the peer cannot be had just now"; exit 77; }
depth_of_peer=''
if [ "$depths" != 0 ] && grep -q '"-d"' "$peer/peer.py"; then depth_of_peer="-d $depths"; fi
turns=$(mktemp)
trap 'rm -f "$turns"' EXIT
threads=$(getconf _NPROCESSORS_ONLN)
[ -z "$out" ] || : >"$out"

# compare SHAPE TYPE
compare() {
    gguf=$work/models/$1-$2.gguf
    [ -f "$gguf" ] && [ -f "$work/models/$1-$2/model.safetensors" ] ||
        sh "$peer/peer.sh" make "$work" "$work/models" --shape "$1" --types "$2" >/dev/null
    : >"$turns"
    round=0
    while [ $round -lt "$rounds" ]; do
        # shellcheck disable=SC2086
        sh "$peer/peer.sh" bench "$work" "$kind" "$gguf" -p "$prompts" -n "$decode" -r "$repeat" -t "$threads" $depth_of_peer | tail -n 1 >>"$turns"
        # shellcheck disable=SC2086
        "$headgate" bench "$work/models/$1-$2" --device "$device" -p "$prompts" -n "$decode" -d "$depths" -r "$repeat" --repack "$repack" $maps --json |
            tr -d '\n' >>"$turns"
        echo >>"$turns"
        round=$((round + 1))
    done
    python3 - "$turns" "$kind" "${out:-/dev/null}" "$(cut -d ' ' -f 1-3 /proc/loadavg)" <<'EOF'
import json, statistics, sys

lines = [json.loads(line) for line in open(sys.argv[1])]
theirs, ours = lines[0::2], lines[1::2]


def cell(value):
    return "-" if value is None else f"{value:.4g}"


rows = []
for test in [row["test"] for row in ours[0]["rows"]]:
    a = [next(row for row in turn["rows"] if row["test"] == test) for turn in ours]
    other = test.replace("+maps", "")
    b = [turn[other]["median"] for turn in theirs if other in turn]
    ratios = [x["median_tokens_per_s"] / y for x, y in zip(a, b)]
    maps = [x["maps_ratio"] for x in a if x["maps_ratio"] is not None]
    rows.append({"test": test, "headgate": statistics.median(x["median_tokens_per_s"] for x in a), "peer": statistics.median(b) if b else None,
                 "ratio": statistics.median(ratios) if b else None, "ratio_min": min(ratios, default=None), "ratio_max": max(ratios, default=None),
                 "maps_ratio": statistics.median(maps) if maps else None})
first = ours[0]["rows"][0]
print(f"headgate on {first['device']} ({first['driver']}, {first['precision']}) beside llama.cpp {sys.argv[2]}, {theirs[0]['model']}, load {sys.argv[4]}")
print("| test | headgate tokens/s | llama.cpp tokens/s | ratio | range over the turns | time of maps |")
print("| --- | ---: | ---: | ---: | --- | ---: |")
for row in rows:
    span = f"{cell(row['ratio_min'])} to {cell(row['ratio_max'])}" if row["peer"] is not None else "-"
    print(f"| {row['test']} | {cell(row['headgate'])} | {cell(row['peer'])} | {cell(row['ratio'])} | {span} | {cell(row['maps_ratio'])} |")
tiers = sorted({f"{v['kernel']} {v['tier']}" for v in ours[0]["variants"] if v["kernel"].startswith(("mat", "attention"))})
print("ran " + ", ".join(tiers) + "\n")
with open(sys.argv[3], "a") as file:
    print(json.dumps({"schema": 1, "kind": "peer", "rows": rows, "headgate": ours, "peer": theirs}), file=file)
EOF
}

for shape in $shapes; do
    for type in $types; do
        compare "$shape" "$type"
    done
done
