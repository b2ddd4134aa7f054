#!/bin/sh
# SPDX-License-Identifier: MIT
# All tests, from a fresh checkout: installs what is missing, builds twice (gcc with warnings as errors in build/; clang with
# address and undefined-behaviour sanitizers and the fuzzers in build-san/), then one ctest run over both.
#   sh tests/run.sh [--full] [--no-install]
#     --full        also other drivers of the zoo (newer Debian releases in a folder, Intel's OpenCL), the sanitized build on
#                   every driver, and long fuzzing: hours
#     --no-install  leaves the system's packages alone
# Without --full it ends within 35 minutes on two cores. What is skipped is named and counted at the end, never passed silently.
# One test alone: ctest --test-dir build -R NAME --output-on-failure
set -eu
cd "$(dirname "$0")/.."
full=0
install=1
for argument in "$@"; do
    case $argument in
    --full) full=1 ;;
    --no-install) install=0 ;;
    -h | --help) sed -n '3,11s/^# \{0,1\}//p' tests/run.sh; exit 0 ;;
    *) echo "run.sh: unknown argument '$argument' (--full, --no-install)" >&2; exit 2 ;;
    esac
done
start=$(date +%s)
say() { printf '== %s (%d s since the start)\n' "$*" $(($(date +%s) - start)); }
cores=$(getconf _NPROCESSORS_ONLN)

# The library reads no environment, the command does: tests must not depend on how this shell is set up.
for name in $(env | sed -n 's/^\(HG_[A-Z_]*\|HF_[A-Z_]*\|CFLAGS\|LDFLAGS\|VK_[A-Z_]*\|OCL_[A-Z_]*\|POCL_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done

say "packages"
if [ $install = 1 ]; then
    sh tools/install-packages.sh test
else
    sh tools/install-packages.sh test --check || echo "going on all the same"
fi

if [ $full = 1 ]; then drivers=ON fuzz=3600 models=200; else drivers=OFF fuzz=200 models=20; fi

# build FOLDER OPTION...: quiet unless it fails. Both keep assert().
build() {
    folder=$1
    shift
    mkdir -p "$folder"
    { cmake -S . -B "$folder" -G Ninja -DHG_TESTS=ON -DHG_TOOLS=ON -DHG_WERROR=ON "$@" &&
        cmake --build "$folder" --parallel "$cores"; } >"$folder/log" 2>&1 || {
        tail -n 60 "$folder/log"
        echo "run.sh: the build in $folder/ failed; the whole log is $folder/log"
        exit 1
    }
}

say "build with gcc, warnings are errors"
build build -DCMAKE_C_COMPILER=gcc -DCMAKE_C_FLAGS_RELWITHDEBINFO='-O2 -g' -DHG_SANITIZED_BUILD="$PWD/build-san" -DHG_COMPARE_MODELS=$models

say "build with clang and sanitizers"
build build-san -DCMAKE_C_COMPILER=clang -DCMAKE_C_FLAGS_RELWITHDEBINFO='-O1 -gline-tables-only' -DHG_SANITIZE=address,undefined \
    -DHG_FUZZ=ON -DHG_FUZZ_SECONDS=$fuzz -DHG_SANITIZED_DRIVERS=$drivers

rm -f build/zoo-failed
if [ $full = 1 ]; then
    say "the zoo"
    zoo=0
    sh tests/zoo.sh || zoo=$?
    [ $zoo = 0 ] || [ $zoo = 77 ] || echo $zoo >build/zoo-failed
    say "the bundle for a machine with a GPU, on a software driver"
    { sh tests/gpu-bundle.sh && sh tests/gpu-check.sh build-gpu/gpu-bundle.tar.xz --device vk:0 --preset tiny -o build/gpu-check.json; } ||
        echo 1 >build/zoo-failed
fi

say "tests"
# The summary comes last; before it, cases that were skipped inside an entry that passed otherwise. ctest's lines are
# passed on as they come.
: >build/summary
{
    status=0
    ctest --test-dir build -j "$cores" --output-on-failure || status=$?
    echo $status >build/status
} 2>&1 | {
    held=0
    while IFS= read -r line; do
        case $line in *'% tests passed'*) held=1 ;; esac
        if [ $held = 1 ]; then printf '%s\n' "$line" >>build/summary; else printf '%s\n' "$line"; fi
    done
}
awk '/^[0-9]+\/[0-9]+ Test: / { entry = $3 }
    /\[  SKIPPED \] [^0-9]/ || /^(lint: )?skipped/ {
        sub(/^\[  SKIPPED \] |^(lint: )?skipped:? /, "")
        if (seen[entry, $0]++) next
        if (entry in what) {
            what[entry] = what[entry] ", " $0
        } else {
            order[++entries] = entry
            what[entry] = $0
        }
        skips++
    }
    END {
        for (i = 1; i <= entries; i++) print "skipped inside " order[i] ": " what[order[i]]
        printf "%d checks were skipped inside entries; entries that were skipped as a whole are listed below\n", skips
    }' build/Testing/Temporary/LastTest.log
cat build/summary
status=$(cat build/status)
[ ! -f build/zoo-failed ] || status=1
exit "$status"
