#!/bin/sh
# SPDX-License-Identifier: MIT
# DEVICES.md from tests/devices/*.json: sh tests/devices_table.sh JSON SOURCES >DEVICES.md
# JSON is the program command_json of a build. Drivers with the same exact hashes agree byte for byte.
set -eu
json=$1 sources=$2
cat <<'END'
# Devices

Written by `tests/zoo.sh` from the reports in `tests/devices/`; not by hand. Every driver here runs on a processor: speeds say nothing about a GPU.

- **kernels**, **golden**: entries of the test suite that passed of those run on the driver (every kernel on every shape, byte for byte against its text;
  96 golden models and the samples, in fp32, exact, and under the limits that Vulkan guarantees).
- **exact**: the sha256 of logits and maps of the three sample models under `--precision exact` is the one that ships (`headgate exact-hash`).
- **ref fp32**, **ref exact**: verdict of `headgate compare` against the reference, five runs.
- **pp128**, **tg16**: tokens per second of `headgate bench` on a random model of 8 layers, hidden 256.

| driver | version | system | kernels | golden | selftest | exact | ref fp32 | ref exact | pp128 | tg16 | date | commit |
|---|---|---|---|---|---|---|---|---|---:|---:|---|---|
END
value() { "$json" "$file" "$1"; }
of() { # of NAME: passed of run
    passed=$(value "$1.passed") failed=$(value "$1.failed")
    printf '%s of %s' "$passed" $((passed + failed))
}
speed() {
    number=$(value "tokens_per_second.$1")
    if [ "$number" = null ]; then printf -- '-'; else printf '%.3g' "$number"; fi
}
for file in "$sources"/tests/devices/*.json; do
    shipped=0 hashed=0
    for sample in baseline gate_elementwise gate_headwise; do
        verdict=$("$json" "$file" "exact.$sample.verdict" 2>/dev/null) || continue
        hashed=$((hashed + 1))
        [ "$verdict" != 'as shipped' ] || shipped=$((shipped + 1))
    done
    printf '| %s | %s | %s | %s | %s | %s | %s of %s | %s | %s | %s | %s | %s | %s |\n' "$(value driver)" "$(value driver_version)" \
        "$(value system)" "$(of kernels)" "$(of golden)" "$(value selftest)" "$shipped" "$hashed" "$(value verdict_fp32)" \
        "$(value verdict_exact)" "$(speed prefill_128)" "$(speed decode_16)" "$(value date)" "$(value commit)"
done
printf '\nThe hashes that ship, of order %s:\n\n' "$(sed -n 's/.*HG_EXACT_REVISION "\(.*\)"$/\1/p' "$sources/engine/include/headgate/base.h")"
for sample in baseline gate_elementwise gate_headwise; do
    for file in "$sources"/tests/devices/*.json; do
        hash=$("$json" "$file" "exact.$sample.sha256" 2>/dev/null) || continue
        [ -z "$hash" ] || printf -- '- %s: `%s`\n' "$sample" "$hash"
    done
done | sort | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)$/\2 on \1 drivers/'
