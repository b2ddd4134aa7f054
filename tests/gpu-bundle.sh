#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds what tests/gpu-check.sh runs on another machine that can fetch and build nothing: the command (without figures) and the device tests,
# with the libraries they load, the Vulkan and OpenCL loaders and the validation layer beside them. That machine needs a C library as
# new as this one's, a driver, and a checkout (for tests/reference and tools/samples).
#   sh tests/gpu-bundle.sh [-o FILE]     FILE: default build-gpu/gpu-bundle.tar.xz
set -eu
cd "$(dirname "$0")/.."
build="build-gpu"
out=$build/gpu-bundle.tar.xz
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=$2; shift 2 ;;
    *) sed -n '6s/^# \{0,1\}//p' tests/gpu-bundle.sh >&2; exit 2 ;;
    esac
done

mkdir -p $build
# shellcheck disable=SC2016
{ cmake -S . -B $build -G Ninja -DHG_FIGURES=OFF -DHG_TESTS=ON -DHG_WERROR=OFF -DHG_TEST_DATA_ROOT=. '-DHG_TEST_SUBJECTS=kernels;golden;api;bench' \
    '-DCMAKE_BUILD_RPATH=$ORIGIN/lib' && cmake --build $build --parallel "$(getconf _NPROCESSORS_ONLN)" \
    --target headgate make_model bench_batch test_kernels test_golden test_api_batch; } >$build/log 2>&1 || { tail -n 30 $build/log; exit 1; }

bundle=$build/gpu-bundle
rm -rf $bundle
mkdir -p $bundle/lib $bundle/layers
for program in tools/headgate tests/make_model tests/bench_batch tests/test_kernels tests/test_golden tests/test_api_batch; do
    cp "$build/$program" $bundle/
done
strip $bundle/headgate $bundle/make_model $bundle/bench_batch $bundle/test_*
# Everything that is not part of the C and C++ runtime travels.
for program in headgate make_model bench_batch test_kernels test_golden test_api_batch; do
    ldd "$bundle/$program" | awk '$2 == "=>" { print $3 }'
done | grep -vE '/(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+)\.so' | sort -u >$build/libraries
find /usr/lib /usr/lib64 -name 'libvulkan.so.1' -o -name 'libOpenCL.so.1' 2>/dev/null >>$build/libraries || true
while read -r library; do cp -L "$library" $bundle/lib/; done <$build/libraries
# The layer's manifest names its library relative to itself.
layer=$(find /usr/lib -name libVkLayer_khronos_validation.so -not -path '*chromium*' | head -n 1)
manifest=$(find /usr/share/vulkan -name VkLayer_khronos_validation.json | head -n 1)
if [ -n "$layer" ] && [ -n "$manifest" ]; then
    cp "$layer" $bundle/layers/
    sed 's|"library_path": *"[^"]*"|"library_path": "./libVkLayer_khronos_validation.so"|' "$manifest" >$bundle/layers/VkLayer_khronos_validation.json
else
    echo "gpu-bundle: skipped: no validation layer here, so none in the bundle"
fi
git rev-parse HEAD >$bundle/commit 2>/dev/null || echo unknown >$bundle/commit

size=$(du -sb $bundle | cut -f1)
[ "$size" -lt 67108864 ] || { echo "gpu-bundle: $size bytes, 64 MiB is the limit"; exit 1; }
tar -C $build -cJf "$out" gpu-bundle
echo "gpu-bundle: $out, $(stat -c %s "$out") bytes, $size unpacked"
