#!/bin/sh
# SPDX-License-Identifier: MIT
# The words of tier T2: SPIR-V that is kept beside the sources, because few compilers can make it. Needs a configured build folder,
# in which CMake has left the rows of the table (a configure that failed because words are old has, too).
#   sh shaders/words.sh BUILD [COMPILER]              makes shaders/words/*.inc
#   sh shaders/words.sh --spirv FOLDER BUILD COMPILER writes FOLDER/NAME.spv instead: what any compiler makes of the sources
#   sh shaders/words.sh --version COMPILER            how the compiler names itself
# COMPILER: glslangValidator or glslc (default: glslangValidator). The words say which one made those that are kept, README.md where it is.
set -eu
shaders=$(cd "$(dirname "$0")" && pwd)

version() {
    case $1 in
    *glslc*) "$1" --version | sed -n 's/^shaderc \(.*[^ ]\) *$/shaderc \1/p' ;;
    *) "$1" --version | sed -n 's/^Glslang Version: *\(.*[^ ]\) *$/glslang \1/p' ;;
    esac
}

# compile COMPILER ROW OUTPUT
compile() {
    { read -r defines; read -r source; } <"$2/arguments"
    case $1 in
    *glslc*) set -- "$@" --target-env=vulkan1.1 -fshader-stage=compute ;;
    *) set -- "$@" -V -g0 --target-env vulkan1.1 -S comp ;;
    esac
    compiler=$1 row=$2 output=$3
    shift 3
    # shellcheck disable=SC2086
    "$compiler" "$@" $defines "-I$row" "-I$shaders" "$shaders/$source.comp" -o "$output" >"$output.log" || { cat "$output.log" >&2; exit 1; }
}

case ${1:-} in
--version) version "$2"; exit ;;
--spirv) folder=$2; shift 2; [ $# = 2 ] || { sed -n '5,8s/^# \{0,1\}//p' "$0" >&2; exit 2; } ;;
'' | -*) sed -n '5,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
*) folder='' ;;
esac
build=$1
compiler=${2:-glslangValidator}
command -v "$compiler" >/dev/null || { echo "words.sh: no $compiler; shaders/README.md says which compiler, and where it is" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
made=0
for row in "$build"/shaders/generated/*_T2_*; do
    [ -f "$row/arguments" ] || continue
    name=${row##*/}
    compile "$compiler" "$row" "$work/$name.spv"
    if [ -n "$folder" ]; then
        cp "$work/$name.spv" "$folder/"
        continue
    fi
    source=$(sed -n 2p "$row/arguments")
    sums=$(sha256sum "$row/arguments" "$shaders/$source.comp" | cut -d ' ' -f 1 | tr -d '\n')
    {
        echo '/* SPDX-License-Identifier: MIT */'
        echo "/* SPIR-V of $source.comp, made by words.sh with $(version "$compiler")"
        echo " * inputs $(printf %s "$sums" | sha256sum | cut -d ' ' -f 1) */"
        od -An -v -tx4 -w32 "$work/$name.spv" | sed 's/ \([0-9a-f]\{8\}\)/0x\1,/g'
    } >"$work/$name.inc"
    mkdir -p "$shaders/words"
    mv "$work/$name.inc" "$shaders/words/"
    made=$((made + 1))
done
if [ -z "$folder" ]; then
    [ $made -gt 0 ] || { echo "words.sh: $build has no rows of tier T2; configure it first" >&2; exit 2; }
    echo "words.sh: $made modules by $(version "$compiler")"
fi
