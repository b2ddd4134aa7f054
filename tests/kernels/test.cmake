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
# T1 whether it is used there by default or not: subgroups of 8 and of 4 lanes.
foreach(device lavapipe swiftshader)
  hg_test_selector(selector ${device})
  hg_test_entry(kernels_subgroups.${device} ${device} 300 kernels test_kernels --device ${selector} --tier T1 --precision fp32)
endforeach()
# Matrix products, which no software driver uses by itself; only new lavapipes have them.
hg_test_selector(selector lavapipe)
foreach(precision fp32 fast)
  hg_test_entry(kernels_matrix_${precision}.lavapipe lavapipe 300 kernels
                test_kernels --device ${selector} --tier T2 --precision ${precision})
endforeach()
hg_test_entry(kernels_words.lavapipe lavapipe 120 kernels
              sh ${CMAKE_CURRENT_LIST_DIR}/words.sh ${PROJECT_SOURCE_DIR}/shaders ${CMAKE_BINARY_DIR} $<TARGET_FILE:test_kernels> ${selector})
hg_test_selector(selector intel)
hg_test_entry(kernels.intel intel 300 kernels test_kernels --device ${selector})
hg_test_entry(kernels_reference.ref ref 300 kernels test_kernels --device ref --precision fp32)

hg_add_kernel_test(kernels_functions SOURCES kernels/test_functions.c LABELS kernels)
hg_add_kernel_test(kernels_panel SOURCES kernels/test_panel.c $<TARGET_OBJECTS:hg_kernels> LABELS kernels)
hg_add_kernel_test(kernels_spirv SOURCES kernels/test_spirv.c $<TARGET_OBJECTS:hg_kernels> LABELS kernels)
hg_add_command_test(kernels_matrix_shapes LABELS kernels COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/matrix_shapes.sh $<TARGET_FILE:test_kernels_spirv>)
hg_add_kernel_test(kernels_text SOURCES kernels/test_text.c kernels/hashes.c ${PROJECT_SOURCE_DIR}/engine/trial.c
                   ${PROJECT_SOURCE_DIR}/engine/matrix.c $<TARGET_OBJECTS:hg_kernels>
                   LABELS kernels)
target_compile_definitions(test_kernels_text PRIVATE HG_TEST_HASHES="${HG_TEST_DATA_ROOT}/tests/kernels/exact-1.txt")

hg_add_kernel_test(kernels_cases SOURCES kernels/test_reference.c kernels/runner.c common/tensors.c ${kernel_parts}
                   LIBRARIES PkgConfig::CJSON Threads::Threads ${CMAKE_DL_LIBS} LABELS kernels TIMEOUT 300
                   DEVICES ${kernel_devices})

# The texts once more by each compiler, unoptimised and optimised, as small libraries. One that is not installed is a case that is skipped.
if(TARGET hg_command AND TARGET headgate_lib AND NOT HG_SANITIZE)
  get_target_property(texts hg_kernels SOURCES)
  list(FILTER texts INCLUDE REGEX "/text\\.c$")
  file(GLOB text_pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/shaders/*.comp ${PROJECT_SOURCE_DIR}/shaders/*.h)
  string(REGEX REPLACE "/text\\.c" "/row.def" rows "${texts}")
  set(builds)
  set(libraries)
  foreach(compiler gcc clang)
    find_program(HG_TEXT_${compiler} ${compiler})
    foreach(level 0 3)
      if(NOT HG_TEXT_${compiler})
        list(APPEND builds ${compiler}-O${level}=)
        continue()
      endif()
      set(library ${CMAKE_CURRENT_BINARY_DIR}/text-${compiler}-O${level}.so)
      add_custom_command(OUTPUT ${library}
        COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/text_build.sh ${HG_TEXT_${compiler}} -O${level} ${PROJECT_SOURCE_DIR}/shaders ${library} ${texts}
        DEPENDS ${texts} ${rows} ${text_pages} ${PROJECT_SOURCE_DIR}/shaders/kernels.def ${CMAKE_CURRENT_LIST_DIR}/text_build.sh
                ${CMAKE_CURRENT_LIST_DIR}/text_lane.c ${CMAKE_CURRENT_LIST_DIR}/text_lane.h
        COMMENT "kernel texts by ${compiler} -O${level}" VERBATIM)
      list(APPEND builds ${compiler}-O${level}=${library})
      list(APPEND libraries ${library})
    endforeach()
  endforeach()
  add_custom_target(hg_text_builds ALL DEPENDS ${libraries})
  # Not the texts: the program has entries of its own, and an archive gives only what is asked for.
  hg_add_kernel_test(kernels_builds SOURCES kernels/test_builds.c kernels/hashes.c common/exact_sample.c
                     LIBRARIES hg_command hg_command_base headgate_lib ${CMAKE_DL_LIBS} LABELS kernels TIMEOUT 240 ARGS ${builds})
  add_dependencies(test_kernels_builds hg_text_builds)
  if(TARGET hg_figure)
    target_link_libraries(test_kernels_builds PRIVATE hg_figure)
  endif()
  target_compile_definitions(test_kernels_builds PRIVATE HG_TEST_HASHES="${HG_TEST_DATA_ROOT}/tests/kernels/exact-1.txt")
endif()
