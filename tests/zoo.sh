#!/bin/sh
# SPDX-License-Identifier: MIT
# The tests on drivers that this system does not have: newer Mesa, PoCL and compilers in folders with a newer Debian, and other vendors'
# OpenCL. Root is needed for the folders. Takes tens of minutes the first time, a few GB of disk.
#   sh tests/zoo.sh [--tools FOLDER] [--roots FOLDER] [NAME...]
#     --tools FOLDER  where distro.sh and intel-opencl.sh are (default: ../shared/zoo)
#     --roots FOLDER  where the systems are made and kept (default: /var/tmp/headgate-zoo)
#     NAME            of: trixie (Debian 13) forky (testing) rusticl (in forky) intel; default: all of them
# Each gets a build folder of its own, build-zoo-NAME. A system that cannot be had just now is skipped, and said to be.
# Exit status: 0 what ran passed, 1 something failed, 77 nothing could run.
set -eu
cd "$(dirname "$0")/.."
tools=../shared/zoo
roots=/var/tmp/headgate-zoo
names=''
while [ $# -gt 0 ]; do
    case $1 in
    --tools) tools=$2; shift 2 ;;
    --roots) roots=$2; shift 2 ;;
    trixie | forky | rusticl | intel) names="$names $1"; shift ;;
    *) sed -n '5,10s/^# \{0,1\}//p' tests/zoo.sh >&2; exit 2 ;;
    esac
done
[ -n "$names" ] || names='trixie forky rusticl intel'
[ -f "$tools/distro.sh" ] || { echo "skipped: $tools/distro.sh is not there"; exit 77; }
tools=$(cd "$tools" && pwd)
mkdir -p "$roots"
roots=$(cd "$roots" && pwd)
report=$(mktemp)
trap 'rm -f "$report"' EXIT

note() { printf '%-8s %s\n' "$1" "$2" | tee -a "$report"; }

# The same commands everywhere: FOLDER, cmake options, ctest arguments. Run here, or inside a system.
commands='n=$(getconf _NPROCESSORS_ONLN)
cmake -S . -B "$1" -G Ninja -DHG_TESTS=ON -DHG_TOOLS=ON -DHG_WERROR=ON $2 && cmake --build "$1" --parallel "$n" &&
    ctest --test-dir "$1" -j "$n" --output-on-failure $3'

# result NAME: what the log of its ctest says
result() {
    log=build-zoo-$1/zoo.log
    line=$(grep -E '% tests passed' "$log" | tail -n 1) || true
    skips=$(grep -cE '^[[:space:]]*[0-9]+ - .* \(Skipped\)' "$log") || true
    total=${line##* }
    case $line in
    '100% tests passed'*)
        if [ "${skips:-0}" = "$total" ]; then
            note "$1" "skipped: none of the $total entries found its driver, see $log"
        else
            note "$1" "$((total - skips)) passed, 0 failed, $skips skipped"
        fi ;;
    *) note "$1" "FAILED: ${line:-it did not build}, see $log" ;;
    esac
}

# system NAME SUITE PACKAGES OPTIONS CTEST-ARGUMENTS VARIABLE=VALUE...
system() {
    name=$1 suite=$2 packages=$3 options=$4 select=$5
    shift 5
    folder=build-zoo-$name
    mkdir -p "$folder"
    status=0
    sh "$tools/distro.sh" make "$suite" "$roots/$suite" ca-certificates >"$folder/system.log" 2>&1 || status=$?
    if [ $status != 0 ]; then
        note "$name" "skipped: $suite cannot be had just now (distro.sh ended with $status)"
        return 0
    fi
    # Some tests look at the command on a terminal; a bind of /dev alone has none.
    [ -e "$roots/$suite/dev/pts/ptmx" ] || mount --bind /dev/pts "$roots/$suite/dev/pts" 2>/dev/null || true
    # shellcheck disable=SC2086
    { sh "$tools/distro.sh" run "$roots/$suite" . sh tools/install-packages.sh test &&
        { [ -z "$packages" ] || sh "$tools/distro.sh" run "$roots/$suite" . apt-get -y -qq --no-install-recommends install $packages; }; } \
        >"$folder/packages.log" 2>&1 || {
        note "$name" "skipped: its packages cannot be had just now, see $folder/packages.log"
        return 0
    }
    sh "$tools/distro.sh" run "$roots/$suite" . env "$@" sh -c "$commands" sh "$folder" "$options" "$select" >"$folder/zoo.log" 2>&1 || true
    result "$name"
}

# OpenCL of another vendor takes the place of PoCL in the entries NAME.pocl.
intel() {
    folder=build-zoo-intel
    mkdir -p "$folder"
    if ! variables=$(sh "$tools/intel-opencl.sh" "$roots/intel" 2>"$folder/packages.log"); then
        note intel "skipped: the driver cannot be had just now, see $folder/packages.log"
        return 0
    fi
    (
        eval "$variables"
        # The loader takes a folder of vendor files, or one of the system's own folder by name; so a folder with this one alone.
        mkdir -p "$roots/intel/alone"
        cp "$roots/intel/vendors/intel-cpu.icd" "$roots/intel/alone/"
        sh -c "$commands" sh "$folder" "-DHG_ICD_POCL=$roots/intel/alone" '-R [.]pocl$'
    ) >"$folder/zoo.log" 2>&1 || true
    result intel
}

for name in $names; do
    case $name in
    trixie | forky) system "$name" "$name" '' '' '-E ^(lint|demo)$' TMPDIR=/tmp ;;
    rusticl) system rusticl forky mesa-opencl-icd '-DHG_ICD_POCL=/etc/OpenCL/vendors/rusticl.icd' '-R [.]pocl$' RUSTICL_ENABLE=llvmpipe ;;
    intel) intel ;;
    esac
done

echo "zoo:"
cat "$report"
if grep -q FAILED "$report"; then exit 1; fi
grep -q ' passed, ' "$report" || exit 77
