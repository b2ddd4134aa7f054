# SPDX-License-Identifier: MIT
# The Vulkan backend alone, with three small kernels of its own. Cases on a driver run with its features, and with those
# switched off that not every driver has.
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
add_custom_target(hg_vulkan_test_words DEPENDS ${vulkan_words})

add_library(hg_vulkan_fixture OBJECT ${vulkan_dir}/fixture.c)
add_dependencies(hg_vulkan_fixture hg_vulkan_test_words)
target_include_directories(hg_vulkan_fixture PUBLIC ${vulkan_dir} ${vulkan_words_dir})
target_link_libraries(hg_vulkan_fixture PUBLIC hg_vulkan hg_base PkgConfig::CMOCKA)
set(vulkan_libraries hg_vulkan_fixture hg_vulkan hg_base)

# Without a driver
foreach(subject parts snapshot loader)
  hg_add_test(vulkan_${subject} SOURCES ${vulkan_dir}/test_${subject}.c LIBRARIES ${vulkan_libraries} LABELS vulkan)
endforeach()
hg_add_command_test(vulkan_symbols LABELS vulkan
  COMMAND sh ${vulkan_dir}/symbols.sh ${CMAKE_NM} "$<TARGET_OBJECTS:hg_vulkan>")

# Broken drivers beside good ones
add_library(hg_vulkan_refusing_icd MODULE ${vulkan_dir}/refusing_icd.c)
add_dependencies(test_vulkan_loader hg_vulkan_refusing_icd)
target_compile_definitions(test_vulkan_loader PRIVATE HG_REFUSING_ICD="$<TARGET_FILE:hg_vulkan_refusing_icd>"
                           HG_ICD_LAVAPIPE="${HG_ICD_LAVAPIPE}" HG_ICD_SWIFTSHADER="${HG_ICD_SWIFTSHADER}")
hg_test_entry(vulkan_loader.all all 60 vulkan test_vulkan_loader --drivers)

# On a driver
hg_add_test(vulkan_device SOURCES ${vulkan_dir}/test_device.c LIBRARIES ${vulkan_libraries} LABELS vulkan
            DEVICES lavapipe swiftshader TIMEOUT 120)
hg_add_test(vulkan_cache SOURCES ${vulkan_dir}/test_cache.c LIBRARIES ${vulkan_libraries} LABELS vulkan
            DEVICES lavapipe swiftshader TIMEOUT 120)
hg_add_test(vulkan_faults SOURCES ${vulkan_dir}/test_faults.c ${vulkan_dir}/hook.c LIBRARIES ${vulkan_libraries} LABELS vulkan
            DEVICES lavapipe TIMEOUT 240)
target_link_options(test_vulkan_faults PRIVATE LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free)
foreach(device lavapipe swiftshader)
  hg_test_entry(vulkan_device_poor.${device} ${device} 120 vulkan
                test_vulkan_device --without timeline,push,unified,timestamps,rte)
  hg_test_entry(vulkan_device_fences.${device} ${device} 120 vulkan test_vulkan_device --without timeline)
endforeach()
# One driver is enough: these ask what we do, not what it does.
hg_test_entry(vulkan_faults_poor.lavapipe lavapipe 240 vulkan test_vulkan_faults --without timeline,push,unified)
