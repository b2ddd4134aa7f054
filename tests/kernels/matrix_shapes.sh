#!/bin/sh
# SPDX-License-Identifier: MIT
# Tier T2's modules with the numbers of matrix shapes that no device here has: valid SPIR-V, matrices of that size, an equal share for each
# subgroup. engine/matrix.c gives these numbers (tests/engine/test_plan.c); those that it refuses are seen to be wrong here, too.
#   sh tests/kernels/matrix_shapes.sh TEST_KERNELS_SPIRV
# Tools: those in the folder $HG_SPIRV_TOOLS, else those that are installed. Exit status 77: they do not know cooperative matrices (before 2024).
set -eu
test_spirv=$1
tools=${HG_SPIRV_TOOLS:+$HG_SPIRV_TOOLS/}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for tool in opt val dis; do
    command -v "${tools}spirv-$tool" >/dev/null || { echo "skipped: no spirv-$tool here"; exit 77; }
done
"$test_spirv" --write "$work"
if ! "${tools}spirv-val" --target-env vulkan1.3 "$work/matmul_f16.spv" >"$work/log" 2>&1; then
    grep -q 'Invalid capability operand: 6022' "$work/log" || { cat "$work/log"; exit 1; }
    echo "skipped: $("${tools}spirv-val" --version | head -n 1) does not know cooperative matrices"
    exit 77
fi

# valid MODULE NUMBERS: NUMBERS in the form "ID:VALUE ..."
valid() {
    "${tools}spirv-opt" --target-env=vulkan1.3 "--set-spec-const-default-value=$2" --freeze-spec-const --fold-spec-const-op-composite \
        "$work/$1.spv" -o "$work/s.spv" >"$work/log" 2>&1 && "${tools}spirv-val" --target-env vulkan1.3 "$work/s.spv" >"$work/log" 2>&1
}

# matrix TYPE ROWS COLS USE: the module has matrices of this type
matrix() {
    grep -qE "OpTypeCooperativeMatrixKHR %$1 %uint_3[_0-9]* %uint_$2(_[0-9]+)? %uint_$3(_[0-9]+)? %uint_$4(_[0-9]+)?\$" "$work/text"
}

tried=0
failed=0
while read -r m n k width; do
    for module in attention_none matmul_f16 matmul_bf16; do
        for parts in 1 2; do
            numbers="2:$m 3:$n 4:$k 5:$width 6:$parts"
            [ $module != attention_none ] || numbers="1:$m 2:$n 3:$k 4:$width"
            tried=$((tried + 1))
            if ! valid $module "$numbers"; then
                echo "FAILED: $module of ${m}x${n}x$k, $width wide: $(head -n 1 "$work/log")"
                failed=1
                continue
            fi
            "${tools}spirv-dis" "$work/s.spv" >"$work/text"
            { matrix half "$m" "$k" 0 && matrix half "$k" "$n" 1 && matrix float "$m" "$n" 2; } || {
                echo "FAILED: $module has not the matrices of ${m}x${n}x$k"
                grep OpTypeCooperativeMatrixKHR "$work/text"
                failed=1
            }
            [ $module != attention_none ] || break # has one number of parts
        done
    done
done <<'END'
16 16 16 32
16 16 16 64
16 8 16 32
16 8 8 32
16 8 16 64
8 16 16 16
8 8 16 8
8 8 32 32
32 32 16 64
8 8 8 8
END
# What is left out: subgroups without a matrix of their own.
for numbers in '1:16 2:16 3:16 4:8' '1:32 2:32 3:16 4:8'; do
    tried=$((tried + 1))
    if valid attention_none "$numbers"; then
        echo "FAILED: attention with the numbers $numbers should not be valid"
        failed=1
    fi
done
echo "$tried modules, $("${tools}spirv-val" --version | head -n 1)"
exit $failed
