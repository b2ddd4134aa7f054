#!/bin/sh
# SPDX-License-Identifier: MIT
# From a fresh checkout to pictures: installs what is missing, builds, and draws what the heads of the three sample
# models look at.
#   sh tools/demo.sh [-o FOLDER] [--no-install] [OPTION OF headgate demo...]
#     -o FOLDER      where the pictures go (default: build/demo)
#     --no-install   leaves the system's packages alone
set -eu
cd "$(dirname "$0")/.."
top=$PWD

out=build/demo
install=1
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=${2:?demo.sh: -o needs a folder}; shift 2 ;;
    --no-install) install=0; shift ;;
    -h | --help) sed -n '3,7s/^# \{0,1\}//p' tools/demo.sh; exit 0 ;;
    *) break ;;
    esac
done

say() { printf '%s\n' "== $*"; }

if [ $install = 1 ]; then
    say "packages"
    sh tools/install-packages.sh build
fi

# A build folder that is already there keeps its settings (the tests use the same one). The log is shown if it fails.
say "build (in build/, about half a minute)"
mkdir -p build
log=build/demo-build.log
{
    if [ ! -f build/CMakeCache.txt ]; then
        generator=Ninja
        command -v ninja >/dev/null 2>&1 || generator='Unix Makefiles'
        cmake -S . -B build -G "$generator" -DHG_TESTS=OFF -DHG_WERROR=OFF
    fi && cmake --build build --parallel "$(getconf _NPROCESSORS_ONLN)" --target headgate
} >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    echo "demo.sh: the build failed; the whole log is $top/$log" >&2
    exit 1
}

say "demo"
mkdir -p "$out"
status=0
build/tools/headgate demo -o "$out" "$@" || status=$?
[ $status = 0 ] || { echo "demo.sh: build/tools/headgate demo -o $out ended with $status" >&2; exit $status; }
case $out in /*) ;; *) out=$top/$out ;; esac
say "done: the pictures are in $out"
find "$out" -type f \( -name '*.png' -o -name '*.svg' -o -name '*.pdf' -o -name '*.html' \) | sort | sed 's/^/  /'
echo "the program is build/tools/headgate: build/tools/headgate map --help"
