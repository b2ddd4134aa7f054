#!/bin/sh
# SPDX-License-Identifier: MIT
# What one driver does, as JSON: sh tests/device_report.sh HEADGATE JSON MAKE_MODEL SOURCES SELECTOR NAME LOG OUT
#   NAME  of the driver among the tests' entries (lavapipe, pocl, ...); LOG: what ctest said about them; OUT: the file.
# Run by ctest under that driver alone (-DHG_DEVICE_REPORTS=ON), after the other tests: tests/zoo.sh does both.
# Exit status: 0 the report is written, whatever it says; 77 there is no such driver here.
set -eu
headgate=$1 json=$2 make_model=$3 sources=$4 selector=$5 name=$6 log=$7 out=$8
prompt='Sparse gating mechanism mitigates attention sink.'
work=$(mktemp -d "${TMPDIR:-/tmp}/headgate-report.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
# One that checks every access takes minutes for what others do in milliseconds.
if [ "$name" = oclgrind ]; then samples=baseline quick=1; else samples='baseline gate_elementwise gate_headwise' quick=0; fi

"$headgate" devices --json >devices.json
found=0 index=0
while [ "$index" -lt "$("$json" devices.json 'devices.#')" ]; do
    if [ "$("$json" devices.json "devices.$index.selector")" = "$selector" ]; then found=1; break; fi
    index=$((index + 1))
done
[ $found = 1 ] || { echo "skipped: no device $selector here"; exit 77; }
value() { "$json" devices.json "devices.$index.$1"; }
# A text of a driver as a JSON string.
quoted() { printf '"%s"' "$(printf '%s' "$1" | tr -d '\000-\037' | sed 's/[\\"]/\\&/g')"; }

# entries PATTERN: what the log has of them, as an object
entries() {
    line() { grep -cE "Test +#[0-9]+: ($1)[.]$name .*$2" "$log" || true; }
    printf '{ "passed": %d, "failed": %d, "skipped": %d }' "$(line "$1" '  Passed')" "$(line "$1" '[*]{3}(Failed|Timeout|Exception)')" \
        "$(line "$1" '[*]{3}Skipped')"
}

hashes=''
for sample in $samples; do
    "$headgate" exact-hash "$sources/tools/samples/$sample" --device "$selector" --json >hash.json 2>hash.err || true
    hash=$("$json" hash.json sha256.all 2>/dev/null) || hash=''
    verdict=$("$json" hash.json verdict 2>/dev/null) || verdict=$(head -n 1 hash.err)
    hashes="$hashes${hashes:+,}
    \"$sample\": { \"sha256\": $(quoted "$hash"), \"verdict\": $(quoted "$verdict") }"
done

verdict() { # verdict BASELINE DEVICE: of the gated sample
    "$headgate" compare "$sources/tools/samples/gate_headwise" --prompt "$prompt" --device "$1" --device "$2" --replay 5 \
        --timeout 600 --json >compare.json 2>compare.err || true
    "$json" compare.json verdict 2>/dev/null || head -n 1 compare.err
}
if [ $quick = 1 ]; then
    fp32='not run' exact='not run' selftest='not run' prefill=null decode=null
else
    fp32=$(verdict ref "$selector") exact=$(verdict ref@exact "$selector@exact")
    if "$headgate" selftest --device "$selector" --full >selftest.txt 2>&1; then selftest=passed; else selftest=$(tail -n 1 selftest.txt); fi
    "$make_model" tiny --preset tiny --gate headwise >/dev/null
    "$headgate" bench tiny -p 128 -n 16 -r 3 --device "$selector" --json >bench.json
    prefill=$("$json" bench.json rows.0.median_tokens_per_s) decode=$("$json" bench.json rows.1.median_tokens_per_s)
fi

system=$(sed -n 's/^PRETTY_NAME="\(.*\)"$/\1/p' /etc/os-release)
commit=$(git -C "$sources" rev-parse --short=12 HEAD 2>/dev/null) || commit=${HG_COMMIT:-unknown}
cat >report.json <<END
{
  "schema": 1,
  "kind": "device-report",
  "name": "$name",
  "device": $(quoted "$(value name)"),
  "driver": $(quoted "$(value driver)"),
  "driver_version": $(quoted "$(value driver_version)"),
  "api_version": $(quoted "$(value api_version)"),
  "type": $(quoted "$(value type)"),
  "system": $(quoted "$system"),
  "date": "$(date -u +%Y-%m-%d)",
  "program": $(quoted "$("$headgate" --version | head -n 1)"),
  "commit": $(quoted "$commit"),
  "kernels": $(entries 'kernels|kernels_minimum|kernels_cases|opencl_kernels'),
  "golden": $(entries 'golden|golden_exact|golden_minimum'),
  "selftest": $(quoted "$selftest"),
  "exact": {$hashes
  },
  "verdict_fp32": $(quoted "$fp32"),
  "verdict_exact": $(quoted "$exact"),
  "tokens_per_second": { "prefill_128": $prefill, "decode_16": $decode }
}
END
"$json" report.json >/dev/null
mkdir -p "$(dirname "$out")"
cp report.json "$out"
echo "wrote $out"
