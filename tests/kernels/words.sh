#!/bin/sh
# SPDX-License-Identifier: MIT
# The words of tier T2 that are kept are what their sources say. With the compiler that made them: the same words. With any other that
# knows cooperative matrices: words that pass the tests of the kernels, where a device has matrices.
#   sh tests/kernels/words.sh SHADERS BUILD TEST_KERNELS SELECTOR
# Compilers: $HG_GLSLANG, glslangValidator, glslc. Exit status 77: none of them can do it.
set -eu
shaders=$1 build=$2 test_kernels=$3 selector=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tried=0
failed=0

words() { grep -o '0x[0-9a-f]\{8\}' "$1"; }

# same FOLDER: what is there is what is kept
same() {
    for spirv in "$1"/*.spv; do
        name=$(basename "$spirv" .spv)
        od -An -v -tx4 -w4 "$spirv" | sed 's/^ /0x/' >"$1/$name.words"
        words "$shaders/words/$name.inc" | cmp -s - "$1/$name.words" || { echo "FAILED: words/$name.inc has other words than its source"; failed=1; }
    done
}

kept=$(sed -n 's/^.*made by words.sh with \(.*[^ ]\) *$/\1/p' "$shaders"/words/*.inc | sort -u)
[ "$(echo "$kept" | wc -l)" = 1 ] || { echo "FAILED: words by several compilers: $kept"; exit 1; }
for compiler in ${HG_GLSLANG:-} glslangValidator glslc; do
    command -v "$compiler" >/dev/null 2>&1 || continue
    version=$(sh "$shaders/words.sh" --version "$compiler") || continue
    folder=$work/$tried
    mkdir "$folder"
    if ! sh "$shaders/words.sh" --spirv "$folder" "$build" "$compiler" >"$folder/log" 2>&1; then
        echo "$version cannot: $(grep -m 1 -iE 'error|not supported' "$folder/log" || head -n 1 "$folder/log")"
        continue
    fi
    tried=$((tried + 1))
    if [ "$version" = "$kept" ]; then
        same "$folder"
        echo "$version: compared with the words that are kept"
        continue
    fi
    status=0
    "$test_kernels" --device "$selector" --tier T2 --precision fp32 --words "$folder" >"$folder/log" 2>&1 || status=$?
    case $status in
    0) echo "$version: its words pass on $(sed -n 's/^[0-9]* calls on \([^,]*\).*/\1/p' "$folder/log")" ;;
    77) echo "$version: compiles; no device here to try its words on" ;;
    *) grep -E 'ERROR' "$folder/log" || cat "$folder/log"; echo "FAILED: the words of $version"; failed=1 ;;
    esac
done
[ $tried -gt 0 ] || { echo "skipped: no compiler here knows cooperative matrices (kept words: $kept)"; exit 77; }
exit $failed
