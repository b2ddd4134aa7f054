# SPDX-License-Identifier: MIT
# Every kernel on every driver that is installed; the functions and the SPIR-V without one. Links the engine's
# parts alone: nothing here knows a model.
set(kernel_parts)
foreach(part hg_base hg_core hg_reference hg_vulkan hg_opencl hg_kernels)
  list(APPEND kernel_parts $<TARGET_OBJECTS:${part}>)
endforeach()
set(kernel_devices ref lavapipe swiftshader pocl)

function(hg_add_kernel_test name)
  hg_add_test(${name} ${ARGN})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/engine ${PROJECT_SOURCE_DIR}/engine/include
                                                  ${PROJECT_SOURCE_DIR}/shaders)
endfunction()

hg_add_kernel_test(kernels SOURCES kernels/test_kernels.c kernels/judge.c kernels/runner.c ${kernel_parts}
                   LIBRARIES Threads::Threads ${CMAKE_DL_LIBS} LABELS kernels TIMEOUT 300 DEVICES ${kernel_devices})
foreach(device IN LISTS kernel_devices)
  hg_test_selector(selector ${device})
  hg_test_entry(kernels_minimum.${device} ${device} 300 kernels test_kernels --device ${selector} --limits spec-minimum)
endforeach()
hg_test_entry(kernels_reference.ref ref 300 kernels test_kernels --device ref --precision fp32)

hg_add_kernel_test(kernels_functions SOURCES kernels/test_functions.c LABELS kernels)
hg_add_kernel_test(kernels_spirv SOURCES kernels/test_spirv.c $<TARGET_OBJECTS:hg_kernels> LABELS kernels)
hg_add_kernel_test(kernels_text SOURCES kernels/test_text.c ${PROJECT_SOURCE_DIR}/engine/trial.c $<TARGET_OBJECTS:hg_kernels>
                   LABELS kernels)
target_compile_definitions(test_kernels_text PRIVATE HG_TEST_HASHES="${HG_TEST_DATA_ROOT}/tests/kernels/exact-1.txt")

hg_add_kernel_test(kernels_cases SOURCES kernels/test_reference.c kernels/runner.c common/tensors.c ${kernel_parts}
                   LIBRARIES PkgConfig::CJSON Threads::Threads ${CMAKE_DL_LIBS} LABELS kernels TIMEOUT 300
                   DEVICES ${kernel_devices})
