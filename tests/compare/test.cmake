# SPDX-License-Identifier: MIT
# headgate compare: seeded faults are found and named, healthy devices are never called different.
if(TARGET hg_command AND TARGET headgate_lib)
  set(compare_parts hg_command hg_command_base headgate_lib)
  if(TARGET hg_figure)
    list(APPEND compare_parts hg_figure)
  endif()
  # With sanitizers the first layer alone: every fault's code once.
  set(faults_length)
  if(HG_SANITIZE)
    set(faults_length --short)
  endif()
  hg_add_test(compare_faults SOURCES compare/test_faults.c compare/faults.c compare/fault_wrapper.c compare/fixture.c
              LIBRARIES ${compare_parts} LABELS compare TIMEOUT 600 ARGS ${faults_length})
  target_include_directories(test_compare_faults PRIVATE ${PROJECT_SOURCE_DIR}/engine ${PROJECT_SOURCE_DIR}/shaders)
  hg_add_test(compare_kernel_faults SOURCES compare/test_kernel_faults.c compare/faults.c compare/fault_wrapper.c LIBRARIES headgate_lib
              LABELS compare TIMEOUT 300)
  target_include_directories(test_compare_kernel_faults PRIVATE ${PROJECT_SOURCE_DIR}/engine ${PROJECT_SOURCE_DIR}/shaders)
endif()
if(TARGET hg_command AND TARGET headgate_lib)
  set(HG_COMPARE_MODELS 20 CACHE STRING "random models on which no healthy device may be called different; 200 under --full")
  hg_add_test(compare_calm SOURCES compare/test_calm.c compare/fixture.c LIBRARIES ${compare_parts} LABELS compare TIMEOUT 1800
              ARGS --count ${HG_COMPARE_MODELS} DEVICES ref lavapipe swiftshader pocl)
endif()
if(TARGET hg_command AND TARGET headgate_lib)
  foreach(subject children page records)
    hg_add_test(compare_${subject} SOURCES compare/test_${subject}.c compare/faults.c compare/fault_wrapper.c compare/fixture.c
                LIBRARIES ${compare_parts} LABELS compare TIMEOUT 240)
    target_include_directories(test_compare_${subject} PRIVATE ${PROJECT_SOURCE_DIR}/engine ${PROJECT_SOURCE_DIR}/shaders)
  endforeach()
endif()
