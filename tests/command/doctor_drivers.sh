#!/bin/sh
# SPDX-License-Identifier: MIT
# headgate doctor with the drivers of this machine: the devices are those of `headgate devices`, their kernels are tried.
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"
"$headgate" devices --json >"$work/out" 2>"$work/err"
selectors=$(sed -n 's/.*"selector": "\([a-z]*:[0-9]*\)".*/\1/p' "$work/out")
[ -n "$selectors" ] || { echo 'no device with a driver on this machine'; exit 77; }
checks=$((checks + 1))
"$headgate" doctor >"$work/out" 2>"$work/err"
found=$?
[ $found -le 1 ] || fail "exit code $found"
for selector in $selectors; do
    prints "^  (ok|note) +$selector +[^ ]"
    checks=$((checks + 1))
    sed -n '/^devices/,/^$/p' "$work/out" | grep "^  note   $selector +cannot be used" >/dev/null ||
        sed -n '/^selftest/,/^$/p' "$work/out" | grep -Eq "^  ok     $selector +right for fp32 and for exact: all [0-9]+ kernels$" ||
        fail "the kernels of $selector were not tried, or failed"
done
checks=$((checks + 1))
sed -n '/^Vulkan$/,/^$/p; /^OpenCL$/,/^$/p' "$work/out" | grep -Eq '^  ok     .*(loads, [0-9]+ device|loads: .*[0-9]+ device)' ||
    fail 'no driver file is said to load'
# A file that is no JSON hides all Vulkan drivers from some loaders; the command shows them again.
case $selectors in *vk:*)
    mkdir -p text/vulkan/icd.d
    echo text >text/vulkan/icd.d/text.json
    XDG_CONFIG_DIRS="$work/text" "$headgate" doctor >"$work/hidden" 2>"$work/err"
    if grep -q '^  ok     vk:0 ' "$work/hidden"; then
        echo 'skipped: the loader of this machine is not misled by a broken driver file'
    else
        mend=$(sed -n 's/^  wrong  Vulkan  .*none together.*; fix: \(export .*\)$/\1/p' "$work/hidden")
        ok 'a command for what is hidden' test -n "$mend"
        (eval "$mend" && XDG_CONFIG_DIRS="$work/text" "$headgate" devices) >"$work/mended" 2>"$work/err"
        ok 'the command shows it' grep -q ' vk:0 ' "$work/mended"
    fi ;;
esac
# PoCL that cannot write its cache has no device; the command mends that.
if grep -q 'Portable Computing Language' "$work/out"; then
    : >"$work/file"
    POCL_CACHE_DIR="$work/file/none" "$headgate" doctor >"$work/out" 2>"$work/err"
    prints '^  wrong  .*Portable Computing Language.*; fix: export POCL_CACHE_DIR=/var/tmp/'
    POCL_CACHE_DIR="$work/pocl" "$headgate" doctor >"$work/out" 2>"$work/err"
    prints '^  ok     .*Portable Computing Language, OpenCL [0-9.]* PoCL [^ ]*, LLVM [0-9.]*, 1 device'
    # Its cache is warm now. A compiler that relaxes arithmetic is the variable's doing, and said so.
    POCL_CACHE_DIR="$work/pocl" POCL_EXTRA_BUILD_FLAGS=-cl-fast-relaxed-math "$headgate" doctor -q >"$work/out" 2>"$work/err"
    prints '^  note   cl:[0-9]+ .*not usable with --exact \([0-9]+ kernels? wrong\); right for fp32, where others take their place; first WRONG: .*; fix: unset POCL_EXTRA_BUILD_FLAGS$'
    prints '^  note   POCL_EXTRA_BUILD_FLAGS .*; fix: unset POCL_EXTRA_BUILD_FLAGS$'
    # What is linked already must not hide that there is no linker.
    PATH='' POCL_CACHE_DIR="$work/pocl" TMPDIR="$work" "$headgate" doctor >"$work/out" 2>"$work/err"
    if grep -Eq '^  ok     cl:[0-9]+ +right for fp32 and for exact' "$work/out"; then
        echo 'skipped: this PoCL links without the linker of the system'
    else
        prints '^  wrong  cl:[0-9]+ .*(Final linking|cannot be tried).*; fix: export PATH=/'
        prints '^  note   default .*(vk:[0-9]+, on the processor|cl:[0-9]+ would be taken, and its kernels cannot be (built|tried))|^  ok     default +vk:'
    fi
    ok 'the scratch cache is gone' sh -c '! ls -d "$1"/headgate-doctor-* 2>/dev/null' sh "$work"
fi
# Without PATH PoCL finds no linker, and ends the process that it is in.
checks=$((checks + 1))
env -i "$headgate" doctor >"$work/out" 2>"$work/err"
found=$?
[ $found -le 1 ] || fail "exit code $found in an empty environment"
prints '^  note   PATH +not set.*; fix: export PATH='
checks=$((checks + 1))
! grep 'Final linking' "$work/out" | grep -qv '; fix: export PATH=/' || fail 'no linker is not mended by PATH'
nothing_left
finish
