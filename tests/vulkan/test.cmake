# SPDX-License-Identifier: MIT
# The Vulkan backend alone, with three small kernels of its own. Each case runs with the features of the driver and
# with those switched off that not every driver has.
find_program(HG_GLSLC glslc REQUIRED)

set(vulkan_dir ${CMAKE_CURRENT_LIST_DIR})
set(vulkan_words_dir ${CMAKE_CURRENT_BINARY_DIR}/vulkan)
set(vulkan_words)
file(MAKE_DIRECTORY ${vulkan_words_dir})
foreach(shader affine sum8 groups)
  add_custom_command(OUTPUT ${vulkan_words_dir}/${shader}.inc
    COMMAND ${HG_GLSLC} --target-env=vulkan1.1 -O -mfmt=num -o ${vulkan_words_dir}/${shader}.inc ${vulkan_dir}/${shader}.comp
    DEPENDS ${vulkan_dir}/${shader}.comp VERBATIM)
  list(APPEND vulkan_words ${vulkan_words_dir}/${shader}.inc)
endforeach()

add_library(hg_vulkan_fixture OBJECT ${vulkan_dir}/fixture.c ${vulkan_words})
target_include_directories(hg_vulkan_fixture PRIVATE ${vulkan_words_dir})
target_include_directories(hg_vulkan_fixture PUBLIC ${vulkan_dir})
target_link_libraries(hg_vulkan_fixture PUBLIC hg_vulkan hg_base PkgConfig::CMOCKA)

hg_add_test(vulkan_device SOURCES ${vulkan_dir}/test_device.c LIBRARIES hg_vulkan_fixture hg_vulkan hg_base
            LABELS vulkan DEVICES lavapipe swiftshader TIMEOUT 120)
foreach(device lavapipe swiftshader)
  hg_test_entry(vulkan_device_poor.${device} ${device} 120 vulkan
                test_vulkan_device --without timeline,push,unified,timestamps,rte)
  hg_test_entry(vulkan_device_fences.${device} ${device} 120 vulkan test_vulkan_device --without timeline)
endforeach()
