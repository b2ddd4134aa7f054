#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the library into a scratch folder and uses it as a stranger would; looks at the symbols of what was installed.
#   sh tests/consumer/check.sh BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?build folder}" && pwd)
scratch=$build/tests/consumer
model=$here/../../tools/samples/gate_headwise
failed=0
complain() { failed=1; echo "consumer: $*"; }

rm -rf "$scratch"
mkdir -p "$scratch"
cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/install.log"
lib=$(dirname "$(find "$scratch/prefix" -name libheadgate.a)")

# Symbols. The static library exports to whoever links it all that is not static, private functions included.
nm -g --defined-only "$lib/libheadgate.a" | awk 'NF == 3 && $3 !~ /^hg_/ { print $3 }' >"$scratch/static.names"
[ ! -s "$scratch/static.names" ] || complain "the static library defines names outside hg_: $(tr '\n' ' ' <"$scratch/static.names")"
nm -D --defined-only "$lib/libheadgate.so" | awk '$3 !~ /^(hg_|_init$|_fini$)/ { print $3 }' >"$scratch/shared.names"
[ ! -s "$scratch/shared.names" ] || complain "the shared library exports names outside hg_: $(tr '\n' ' ' <"$scratch/shared.names")"
# Every function of the public headers is there.
sed -n 's/^HG_API .*[ *]\(hg_[a-z0-9_]*\)(.*/\1/p' "$scratch"/prefix/include/headgate/*.h | sort -u >"$scratch/promised"
nm -D --defined-only "$lib/libheadgate.so" | awk '{ print $3 }' | sort -u >"$scratch/there"
comm -23 "$scratch/promised" "$scratch/there" >"$scratch/absent"
[ -s "$scratch/promised" ] || complain "no function found in the public headers"
[ ! -s "$scratch/absent" ] || complain "declared in a public header, but not in the library: $(tr '\n' ' ' <"$scratch/absent")"
# The library never prints, ends the program or reads the environment.
nm -u "$lib/libheadgate.so" | awk '{ print $2 }' | sed 's/@.*//' |
    grep -xE 'printf|puts|putchar|vprintf|perror|stdout|stderr|exit|_exit|abort|quick_exit|getenv|secure_getenv|vk[A-Z].*|cl[A-Z][a-z].*' >"$scratch/forbidden" || true
[ ! -s "$scratch/forbidden" ] || complain "the library uses what it must not: $(tr '\n' ' ' <"$scratch/forbidden")"

# find_package, C and C++, shared and static.
generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
cmake -S "$here" -B "$scratch/package" -G "$generator" -DCMAKE_PREFIX_PATH="$scratch/prefix" >"$scratch/package.log" 2>&1 &&
    cmake --build "$scratch/package" >>"$scratch/package.log" 2>&1 || {
    tail -n 20 "$scratch/package.log"
    complain "find_package(headgate) does not give a program"
}
# pkg-config, shared and static.
export PKG_CONFIG_PATH="$lib/pkgconfig"
config() { pkg-config --define-variable=prefix="$scratch/prefix" "$@" headgate; }
# shellcheck disable=SC2046
cc -std=c11 -Wall -Wextra -Wpedantic -Wno-missing-field-initializers -Werror "$here/share.c" -o "$scratch/share_pkg" $(config --cflags --libs) ||
    complain "pkg-config --libs headgate does not link"
# shellcheck disable=SC2046
cc -std=c11 "$here/share.c" -o "$scratch/share_pkg_static" $(config --cflags) "$lib/libheadgate.a" $(config --static --libs | tr ' ' '\n' | grep -v headgate) ||
    complain "pkg-config --static --libs headgate does not link"

export LD_LIBRARY_PATH="$lib"
: >"$scratch/want"
for program in "$scratch"/package/share_* "$scratch/share_pkg" "$scratch/share_pkg_static"; do
    case $program in *.cpp) continue ;; esac
    [ -f "$program" ] && [ -x "$program" ] || { complain "$program was not built"; continue; }
    "$program" "$model" ref >"$scratch/got" || { complain "$program failed"; continue; }
    [ -s "$scratch/want" ] || cp "$scratch/got" "$scratch/want"
    cmp -s "$scratch/want" "$scratch/got" || complain "$program prints something else than the first one"
done
grep -q '^layer 4: 0\.[0-9]' "$scratch/want" || complain "the example does not print four layers"
cat "$scratch/want"
exit $failed
