#!/bin/sh
# SPDX-License-Identifier: MIT
# The kernel texts as C, built once more: a library of them by another compiler or at another level (tests/kernels/test_builds.c).
#   sh text_build.sh COMPILER LEVEL SHADERS OUT TEXT...    TEXT: generated/NAME/text.c; LEVEL: -O0 or -O3
# At -O3 for this processor, where fused products exist: that is where a compiler would be tempted.
set -eu
compiler=$1 level=$2 shaders=$3 out=$4
shift 4
here=$(cd "$(dirname "$0")" && pwd)
flags="-std=c11 -fPIC -ffp-contract=off -fvisibility=default $level"
if [ "$level" = -O3 ] && echo 'int none;' | "$compiler" -march=native -x c -c -o /dev/null - 2>/dev/null; then
    flags="$flags -march=native"
fi
objects=$out.objects
rm -rf "$objects"
mkdir -p "$objects"
n=0
for text in "$@" "$here/text_lane.c"; do
    n=$((n + 1))
    # shellcheck disable=SC2086 # a list of flags
    "$compiler" $flags -include "$here/text_lane.h" -I "$(dirname "$text")" -I "$shaders" -c -o "$objects/$n.o" "$text"
done
"$compiler" -shared -o "$out" "$objects"/*.o
rm -rf "$objects"
