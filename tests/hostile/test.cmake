# SPDX-License-Identifier: MIT
# Broken and hostile checkpoints (tests/reference/bad) through the whole way: in process up to the outputs, and through the
# command up to the exit code.
if(TARGET headgate_lib)
  hg_add_test(hostile SOURCES hostile/test_hostile.c common/tensors.c LIBRARIES headgate_lib PkgConfig::CJSON TIMEOUT 240)
endif()
if(TARGET headgate)
  hg_add_command_test(hostile_command TIMEOUT 240
                      COMMAND sh ${PROJECT_SOURCE_DIR}/tests/hostile/command.sh $<TARGET_FILE:headgate>
                              ${PROJECT_SOURCE_DIR}/tests/reference/bad ${CMAKE_CURRENT_BINARY_DIR}/hostile)
endif()
