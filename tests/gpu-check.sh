#!/bin/sh
# SPDX-License-Identifier: MIT
# The device checks on a machine with a GPU: kernels, models against the original's numbers, exact mode against the reference's bytes and the
# shipped hashes, validation, smallest limits, speed. Builds and fetches nothing: takes the bundle of tests/gpu-bundle.sh, and the reference files
# from the checkout.
#   sh tests/gpu-check.sh BUNDLE [-o FILE] [--seconds N] [--device SEL]... [--preset NAME]
#     -o FILE        everything as one JSON document (default: gpu-check.json)
#     --seconds N    no step starts after N seconds (default: 420); those that did not run are named
#     --device SEL   which devices (default: all that are no software)
#     --preset NAME  shape of the model for the speed figures, see make_model (default: 1.7b, the published one; 3.4 GB of disk)
# Drivers are found as the loaders do (VK_DRIVER_FILES, OCL_ICD_VENDORS). Exit status: 0 all passed, 1 something failed, 77 no such device.
set -eu
cd "$(dirname "$0")/.."
out=gpu-check.json budget=420 devices='' bundle='' preset=1.7b
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=$2; shift 2 ;;
    --seconds) budget=$2; shift 2 ;;
    --device) devices="$devices $2"; shift 2 ;;
    --preset) preset=$2; shift 2 ;;
    -*) sed -n '6,11s/^# \{0,1\}//p' tests/gpu-check.sh >&2; exit 2 ;;
    *) bundle=$1; shift ;;
    esac
done
[ -f "$bundle" ] || { echo "gpu-check: no bundle '$bundle'; make one with tests/gpu-bundle.sh" >&2; exit 2; }
start=$(date +%s)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xf "$bundle"
bin=$work/gpu-bundle
export XDG_CACHE_HOME="$work/cache" VK_LAYER_PATH="$bin/layers"
mkdir -p "$work/cache"

# A text as the inside of a JSON string.
quote() { tr -d '\r\000-\010\013\014\016-\037' | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/\\t/g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }'; }
elapsed() { echo $(($(date +%s) - start)); }

: >"$work/steps"
failed=0
ran=0
# step NAME SECONDS COMMAND...: its output goes to $work/NAME.out
step() {
    name=$1 limit=$2
    shift 2
    left=$((budget - $(elapsed)))
    if [ $left -le 5 ]; then
        echo "not run, no time left: $name"
        printf ',{"name":"%s","result":"not run: no time left"}' "$name" >>"$work/steps"
        return 0
    fi
    [ $left -ge "$limit" ] || limit=$left
    before=$(date +%s)
    status=0
    timeout "$limit" "$@" >"$work/$name.out" 2>"$work/$name.err" || status=$?
    seconds=$(($(date +%s) - before))
    case $status in
    0) result=passed ran=$((ran + 1)) ;;
    77) result=skipped ;;
    124) result="failed: longer than $limit s" failed=$((failed + 1)) ;;
    *) result="failed: exit status $status" failed=$((failed + 1)) ;;
    esac
    printf '%-34s %4s s  %s\n' "$name" "$seconds" "$result"
    printf ',{"name":"%s","result":"%s","seconds":%s,"cases":%s,"skipped_cases":%s,"tail":"' "$name" "$result" "$seconds" \
        "$(cat "$work/$name.out" "$work/$name.err" | grep -c '\[       OK \]')" "$(cat "$work/$name.out" "$work/$name.err" | grep -cE '\[  SKIPPED \] [^0-9]')" >>"$work/steps"
    # What failed first, and the end.
    { cat "$work/$name.out" "$work/$name.err" | grep -vE '\[ (RUN     |      OK) \]|^ *[{}"]' | head -n 20; tail -n 5 "$work/$name.err"; } | cut -c1-400 | quote >>"$work/steps"
    printf '"}' >>"$work/steps"
}

"$bin/headgate" devices --json >"$work/devices.json" 2>"$work/devices.err" || true
if [ -z "$devices" ]; then
    devices=$(awk -F'"' '/"selector":/ { s = $4 } /"type":/ { t = $4 } /"unusable": null/ { if (t != "software") print s }' "$work/devices.json")
fi
if [ -z "$devices" ]; then
    cat "$work/devices.err"
    "$bin/headgate" devices || true
    echo "skipped: no device here that is more than software"
    exit 77
fi

# First what is quick and tells most, for every device; the speed of each comes last.
: >"$work/hashes"
: >"$work/comparisons"
for device in $devices; do
    n=$(echo "$device" | tr -d ':')
    step "kernels-$n" 90 "$bin/test_kernels" --device "$device"
    step "subgroups-$n" 60 "$bin/test_kernels" --device "$device" --tier T1 --precision fp32
    step "golden-$n" 90 "$bin/test_golden" --device "$device" --cuts few
    step "exact-$n" 90 "$bin/test_golden" --device "$device" --precision exact --cuts none
    for name in baseline gate_elementwise gate_headwise; do
        step "hash-$n-$name" 60 "$bin/headgate" exact-hash "tools/samples/$name" --samples tools/samples --device "$device" --check --json
        [ ! -s "$work/hash-$n-$name.out" ] || { printf ',' && cat "$work/hash-$n-$name.out"; } >>"$work/hashes"
    done
    # Products and attention with matrices, where the device has them (else skipped).
    for precision in fp32 fast; do
        step "kernels-matrix-$n-$precision" 60 "$bin/test_kernels" --device "$device" --tier T2 --precision "$precision"
    done
    step "golden-matrix-$n" 90 "$bin/test_golden" --device "$device" --tier T2 --cuts few
    if grep -q '"operands": "f16"' "$work/devices.json"; then
        step "compare-$n-matrix" 60 "$bin/headgate" compare tools/samples/gate_headwise --device "$device/T0" --device "$device/T2" \
            --prompt 'Sparse gating mechanism mitigates attention sink.' --replay 10 --json
        [ ! -s "$work/compare-$n-matrix.out" ] || { printf ',' && cat "$work/compare-$n-matrix.out"; } >>"$work/comparisons"
    fi
    for precision in fp32 exact; do
        step "compare-$n-$precision" 60 "$bin/headgate" compare tools/samples/gate_headwise --device "ref@$precision" \
            --device "$device@$precision" --prompt 'Sparse gating mechanism mitigates attention sink.' --replay 10 --json
        [ ! -s "$work/compare-$n-$precision.out" ] || { printf ',' && cat "$work/compare-$n-$precision.out"; } >>"$work/comparisons"
    done
    step "tiers-$n" 60 "$bin/headgate" compare tools/samples/gate_headwise --device "$device/T0" --device "$device/T1" \
        --device "$device" --prompt 'Sparse gating mechanism mitigates attention sink.' --json
    step "selftest-$n" 60 "$bin/headgate" selftest --device "$device" --full
    step "batch-$n" 60 "$bin/test_api_batch" --device "$device"
    step "minimum-$n" 90 "$bin/test_golden" --device "$device" --precision exact --limits spec-minimum --cuts none
done
if [ "$preset" = tiny ]; then prompts=32,128; else prompts=128,512,2048; fi
step "model" 90 "$bin/make_model" "$work/model" --preset "$preset" --gate headwise
: >"$work/benches"
for device in $devices; do
    n=$(echo "$device" | tr -d ':')
    step "bench-$n" 120 "$bin/headgate" bench "$work/model" --device "$device" -p "$prompts" -n 32 -r 3 --json
    [ ! -s "$work/bench-$n.out" ] || { printf ',' && cat "$work/bench-$n.out"; } >>"$work/benches"
    step "batch-speed-$n" 60 "$bin/bench_batch" "$work/model" tools/samples/prompts.jsonl --tokenizer tools/samples/baseline --device "$device" --what maps
    [ ! -s "$work/batch-speed-$n.out" ] || tail -n 1 "$work/batch-speed-$n.out"
    rows=T0@fp32 # without a tier the device takes its best
    ! grep -q '"operands": "f16"' "$work/devices.json" || rows='T0@fp32 T2@fast'
    for row in $rows; do
        step "bench-$n-$row" 120 "$bin/headgate" bench "$work/model" --device "$device/$row" -p "$prompts" -n 16 -r 3 --json
        [ ! -s "$work/bench-$n-$row.out" ] || { printf ',' && cat "$work/bench-$n-$row.out"; } >>"$work/benches"
    done
    step "bench-exact-$n" 120 "$bin/headgate" bench "$work/model" --device "$device" --exact -p "${prompts%%,*}" -n 16 -r 3 --json
    [ ! -s "$work/bench-exact-$n.out" ] || { printf ',' && cat "$work/bench-exact-$n.out"; } >>"$work/benches"
done

{
    printf '{"schema":1,"kind":"gpu-check","commit":"%s","seconds":%s,"passed":%s,"failed":%s,"devices":' "$(cat "$bin/commit")" "$(elapsed)" "$ran" "$failed"
    if [ -s "$work/devices.json" ]; then cat "$work/devices.json"; else printf null; fi
    printf ',"steps":[%s],"exact_hashes":[%s],"comparisons":[%s],"benches":[%s]}\n' "$(sed 's/^,//' "$work/steps")" "$(sed '1s/^,//' "$work/hashes")" \
        "$(sed '1s/^,//' "$work/comparisons")" "$(sed '1s/^,//' "$work/benches")"
} >"$out"
echo "gpu-check: $ran steps passed, $failed failed, $(elapsed) s, $out"
[ $failed = 0 ]
