#!/bin/sh
# SPDX-License-Identifier: MIT
# Shared by the scripts of this folder: sh SCRIPT HEADGATE JSON TENSORS SOURCES SELECTOR.
# Every check is counted; a script ends with 1 if one failed, and with 1 if it made none.
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
set -u
headgate=$1 json=$2 tensors=$3 sources=$4 selector=$5
samples=$sources/tools/samples
reference=$sources/tests/reference
prompt='Sparse gating mechanism mitigates attention sink.'
# Nothing of the user's own.
unset HG_DEVICE HF_HUB_CACHE HF_HOME NO_COLOR CLICOLOR_FORCE
export LC_ALL=C

work=$(mktemp -d "${TMPDIR:-/tmp}/headgate-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
export XDG_CACHE_HOME="$work/cache"
cd "$work" || exit 1

checks=0 failures=0
fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$*" >&2
    sed 's/^/    stdout: /' "$work/out" 2>/dev/null | head -5 >&2
    sed 's/^/    stderr: /' "$work/err" 2>/dev/null | head -10 >&2
}
ok() { # ok WHAT COMMAND...: the command succeeds
    what=$1
    shift
    checks=$((checks + 1))
    "$@" || fail "$what"
}

# A minimal container may have the program and no pseudo-terminals.
has_terminals() { script -qec true /dev/null >/dev/null 2>&1 </dev/null; }

# code N ARGUMENTS...: headgate ends with N; its output is in $work/out and $work/err.
code() {
    expected=$1
    shift
    checks=$((checks + 1))
    "$headgate" "$@" >"$work/out" 2>"$work/err"
    found=$?
    [ $found = "$expected" ] || fail "headgate $*: exit code $found, expected $expected"
}
# says PATTERN: standard error of the last call has a line that matches (grep -E).
says() {
    checks=$((checks + 1))
    grep -Eq -- "$1" "$work/err" || fail "no line on standard error matches: $1"
}
prints() {
    checks=$((checks + 1))
    grep -Eq -- "$1" "$work/out" || fail "no line on standard output matches: $1"
}
# refuses N PATTERN ARGUMENTS...: exit code N, one error in that wording, nothing on standard output.
refuses() {
    expected=$1 pattern=$2
    shift 2
    code "$expected" "$@"
    says "^headgate: error: .*($pattern)"
    checks=$((checks + 1))
    [ ! -s "$work/out" ] || fail "headgate $*: wrote to standard output although it failed"
}
# value PATH: a value of the JSON on the last standard output.
value() {
    "$json" "$work/out" "$1"
}
# is PATH EXPECTED
is() {
    checks=$((checks + 1))
    found=$(value "$1") || found="(none)"
    [ "$found" = "$2" ] || fail "$1 is $found, expected $2"
}
# near PATH VALUE: within 1e-4
near() {
    checks=$((checks + 1))
    found=$(value "$1") || found=nan
    awk -v a="$found" -v b="$2" 'BEGIN { d = a - b; exit !(d < 1e-4 && d > -1e-4) }' ||
        fail "$1 is $found, expected about $2"
}
# left: no temporary file was left in this folder
nothing_left() {
    checks=$((checks + 1))
    found=$(find "${1:-$work}" -name '.headgate-*')
    [ -z "$found" ] || fail "left behind: $found"
}

finish() {
    [ $checks -gt 0 ] || failures=1
    printf '%s: %d checks, %d failed\n' "${0##*/}" $checks $failures
    [ $failures = 0 ]
    exit
}
