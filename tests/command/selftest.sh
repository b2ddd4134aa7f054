#!/bin/sh
# SPDX-License-Identifier: MIT
# headgate selftest: a device that is right, and drivers that are wrong, crash or hang; what a wrong one means for --exact.
#   sh selftest.sh HEADGATE JSON TENSORS SOURCES SELECTOR MODULES
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"
modules=$6
"$headgate" devices --json >"$work/out" 2>"$work/err"
if ! grep -q "\"selector\": \"$selector\"" "$work/out"; then
    echo "no device $selector on this machine"
    exit 77
fi

code 0 selftest --device "$selector" --quick
ok 'a verdict at the end' sh -c 'tail -n 1 "$1" | grep -qx "all kernels pass on 1 device"' sh "$work/out"
prints '^  probe +T0 +- +1/1 +2  pass$'
prints '^TIER: T0 is portable; T0C '
ok 'headings fit 80 columns' sh -c '! grep -E "^(  KERNEL|[a-z]+:[0-9]|ref)" "$1" | grep -Eq "^.{81}"' sh "$work/out"
ok 'a kernel that is not used has no counts' sh -c '! grep -E " 0/0 " "$1"' sh "$work/out"
ok 'no failure' sh -c '! grep -Eq "WRONG|other bits" "$1"' sh "$work/out"
code 0 selftest --device "$selector" --quick --replay 3 --json
is schema 1
is kind selftest
is level quick
is devices.0.selector "$selector"
is devices.0.passed true
is devices.0.kernels.0.kernel embed_rows
is devices.0.kernels.0.replays 3
is devices.0.kernels.0.verdict pass
is devices.0.kernels.0.within_bound null
is devices.0.right_for_exact true
is devices.0.right_for_fp32 true
# Under fp32 the probe has nothing to say.
code 0 selftest --device "$selector@fp32" --quick
prints '^  probe +T0 +- +- +-  not used: it asks for the bits of exact'
if [ "$selector" != ref ]; then
    # What was tried before a first use is kept, and is not tried again.
    code 0 logits "$samples/baseline" --prompt "$prompt" --device "$selector" --exact
    checked=$(find "$XDG_CACHE_HOME/headgate" -name 'checks-*.txt')
    ok 'verdicts are kept' grep -q '^probe T0 none [0-9a-f]* pass$' "$checked"
    kept=$(cat "$checked")
    code 0 logits "$samples/baseline" --prompt "$prompt" --device "$selector" --exact
    ok 'and stay' test "$kept" = "$(cat "$checked")"
else
    code 0 selftest --device ref --device ref --quick --limits spec-minimum
    prints '^all kernels pass on 2 devices$'
    code 0 selftest --device all --quick --json
    is devices.0.selector ref
    code 0 selftest
    prints '^  probe +T0 +- +2/2 +5  pass$'
    refuses 2 'contradict' selftest --quick --full
    refuses 2 'replay' selftest --replay 0
    refuses 2 'NAME=NUMBER' selftest --limits bogus
    refuses 3 "no device 'vk:77' \(there (are|is) (vk:0, |cl:0, )*ref\)$" selftest --device vk:77 --quick
    code 3 selftest --device vk:77 --quick --json
    is devices.0.passed false
    ok 'JSON says why' sh -c '"$1" "$2" devices.0.failure | grep -q "no device .vk:77. (there"' sh "$json" "$work/out"
    refuses 3 'below 8' selftest --device ref --limits buffers=3
    code 3 selftest --device ref --device vk:77 --quick
    prints '^vk:77: did not finish$'
    prints '^ref: all [0-9]+ kernels pass$'
    # Drivers that end or stop the process they are loaded into.
    mkdir vendors
    for kind in crash hang exit; do
        printf '%s\n' "$modules/libdoctor_$kind.so" >vendors/x.icd
        checks=$((checks + 1))
        OCL_ICD_VENDORS=$PWD/vendors "$headgate" selftest --device cl:0 --quick --timeout 2 >"$work/out" 2>"$work/err"
        found=$?
        [ $found = 1 ] || fail "a driver that does $kind: exit code $found, expected 1"
        prints '^cl:0: did not finish$'
        case $kind in
        crash) says 'cl:0: the driver crashed before its first kernel: its process was ended by signal' ;;
        hang) says 'cl:0: the driver hung before its first kernel: no sign of life for 2 s' ;;
        exit) says 'cl:0: its process ended early' ;;
        esac
    done
    # Ctrl-C while a driver hangs: its process goes, too.
    printf '%s\n' "$modules/libdoctor_hang.so" >vendors/x.icd
    checks=$((checks + 1))
    DOCTOR_PID_FILE=$PWD/pid OCL_ICD_VENDORS=$PWD/vendors timeout --preserve-status -k 30 -s INT 1 "$headgate" selftest --device cl:0 \
        >"$work/out" 2>"$work/err"
    found=$?
    [ $found = 130 ] || fail "SIGINT: exit code $found, expected 130"
    ok 'the driver was started' test -s pid
    ok 'no process is left' sh -c '! kill -0 "$(cat pid)" 2>/dev/null'
fi

# PoCL takes options for its compiler from outside: with these it merges, reorders and fuses.
if [ "$selector" = cl:0 ] && grep -qi 'portable computing' "$work/out" "$checked"; then
    export POCL_EXTRA_BUILD_FLAGS=-cl-fast-relaxed-math XDG_CACHE_HOME="$work/other"
    code 6 logits "$samples/baseline" --prompt "$prompt" --device cl:0 --exact
    says 'precision exact cannot be had: kernel probe \(T0\) is wrong on cl:0 .*operation ".*must not be cancelled": expected .*relaxes float arithmetic: use another device, or the reference'
    ok 'a failure is kept' grep -rq '^probe T0 none [0-9a-f]* fail shape' "$work/other"
    code 6 logits "$samples/baseline" --prompt "$prompt" --device cl:0 --exact
    says 'kernel probe \(T0\) is wrong'
    code 1 selftest --device cl:0 --replay 1
    prints '^  probe .* other bits: probe operations: operation'
    prints '^  rms_norm .* WRONG: rms_norm zero, no eps: y\[0\]: expected 0, found'
    prints '^  silu_mul .* other bits, within its bound: silu_mul'
    prints '^cl:0: 1 kernel wrong \(rms_norm\), not usable$'
    # Vectors (TC) take the place of what is wrong, and the other way round.
    code 1 selftest --device cl:0@fp32 --quick --replay 1
    prints '^cl:0: usable: [0-9]+ of [0-9]+ kernels fail, others take their place$'
    code 1 selftest --device cl:0 --quick --replay 1 --json
    is devices.0.right_for_fp32 false
    is devices.0.right_for_exact false
    i=0
    while [ $i -lt 99 ] && [ "$(value devices.0.kernels.$i.kernel)" != silu_mul ]; do i=$((i + 1)); done
    is devices.0.kernels.$i.verdict fail
    is devices.0.kernels.$i.within_bound true
fi
nothing_left
finish
