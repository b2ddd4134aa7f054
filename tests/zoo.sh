#!/bin/sh
# SPDX-License-Identifier: MIT
# The tests on drivers that this system does not have: newer Mesa, PoCL and compilers in folders with a newer Debian, and other vendors'
# OpenCL. Root is needed for the folders. Takes tens of minutes the first time, a few GB of disk.
#   sh tests/zoo.sh [--tools FOLDER] [--roots FOLDER] [NAME...]
#     --tools FOLDER  where distro.sh and intel-opencl.sh are (default: ../shared/zoo)
#     --roots FOLDER  where the systems are made and kept (default: /var/tmp/headgate-zoo)
#     NAME            of: here (this system) trixie (Debian 13) forky (testing) rusticl (in forky) intel; default: all of them
# Each gets a build folder of its own, build-zoo-NAME, and leaves a report on each driver in tests/devices; DEVICES.md is
# written anew from all reports. A system that cannot be had just now is skipped, and said to be.
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
    here | trixie | forky | rusticl | intel) names="$names $1"; shift ;;
    *) sed -n '5,11s/^# \{0,1\}//p' tests/zoo.sh >&2; exit 2 ;;
    esac
done
[ -n "$names" ] || names='here trixie forky rusticl intel'
[ -f "$tools/distro.sh" ] || { echo "skipped: $tools/distro.sh is not there"; exit 77; }
tools=$(cd "$tools" && pwd)
mkdir -p "$roots"
roots=$(cd "$roots" && pwd)
report=$(mktemp)
trap 'rm -f "$report"' EXIT

note() { printf '%-8s %s\n' "$1" "$2" | tee -a "$report"; }

# The same commands everywhere: FOLDER, cmake options, ctest arguments. Run here, or inside a system.
commands='n=$(getconf _NPROCESSORS_ONLN)
cmake -S . -B "$1" -G Ninja -DHG_TESTS=ON -DHG_TOOLS=ON -DHG_WERROR=ON -DHG_DEVICE_REPORTS=ON $2 && cmake --build "$1" --parallel "$n" || exit
status=0
ctest --test-dir "$1" -j "$n" --output-on-failure -E "^(device_report|devices_table|lint$|demo$)" $3 || status=$?
echo "== reports"
case $3 in *pocl*) only="[.]pocl" ;; *) only="" ;; esac
ctest --test-dir "$1" --output-on-failure -R "^device_report.*$only" || true
exit $status'
HG_COMMIT=$(git rev-parse --short=12 HEAD 2>/dev/null) || HG_COMMIT=unknown
export HG_COMMIT

# reports NAME ENTRY...: what that system said about these drivers, by the names of their entries
reports() {
    zoo=$1
    shift
    for entry in "$@"; do
        file=build-zoo-$zoo/device-reports/$entry.json
        [ -f "$file" ] || continue
        case $zoo in
        rusticl | intel) cp "$file" "tests/devices/$zoo.json" ;;
        *) cp "$file" "tests/devices/$entry-$zoo.json" ;;
        esac
    done
}

# result NAME: what the log of its ctest says
result() {
    log=build-zoo-$1/zoo.log
    line=$(sed '/^== reports/,$d' "$log" | grep -E '% tests passed' | tail -n 1) || true
    skips=$(sed '/^== reports/,$d' "$log" | grep -cE '^[[:space:]]*[0-9]+ - .* \(Skipped\)') || true
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
    sh "$tools/distro.sh" run "$roots/$suite" . env HG_COMMIT="$HG_COMMIT" "$@" sh -c "$commands" sh "$folder" "$options" "$select" >"$folder/zoo.log" 2>&1 || true
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
    here)
        mkdir -p build-zoo-here
        sh -c "$commands" sh build-zoo-here '' '' >build-zoo-here/zoo.log 2>&1 || true
        result here
        reports here lavapipe swiftshader pocl oclgrind ;;
    trixie | forky)
        system "$name" "$name" '' '' '' TMPDIR=/tmp
        reports "$name" lavapipe pocl ;;
    rusticl)
        system rusticl forky mesa-opencl-icd '-DHG_ICD_POCL=/etc/OpenCL/vendors/rusticl.icd' '-R [.]pocl$' TMPDIR=/tmp RUSTICL_ENABLE=llvmpipe
        reports rusticl pocl ;;
    intel)
        intel
        reports intel pocl ;;
    esac
done
json=$(find build/tests build-zoo-here/tests build-zoo-intel/tests -maxdepth 1 -name command_json -type f 2>/dev/null | head -n 1)
if [ -n "$json" ] && [ -n "$(find tests/devices -name '*.json')" ]; then
    sh tests/devices_table.sh "$json" . >DEVICES.new && mv DEVICES.new DEVICES.md
fi

echo "zoo:"
cat "$report"
if grep -q FAILED "$report"; then exit 1; fi
grep -q ' passed, ' "$report" || exit 77
