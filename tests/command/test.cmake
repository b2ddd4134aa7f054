# SPDX-License-Identifier: MIT
# The headgate command: its parts alone, then the program as a user runs it.
if(TARGET hg_command_base)
  hg_add_test(command_args SOURCES command/test_args.c LIBRARIES hg_command_base LABELS command)
  hg_add_test(command_child SOURCES command/test_child.c LIBRARIES hg_command_base LABELS command)
  hg_add_test(command_output SOURCES command/test_output.c common/tensors.c LIBRARIES hg_command_base PkgConfig::CJSON
              LABELS command)
endif()

if(TARGET headgate)
  # Reads JSON with a parser that shares nothing with the writer; compares tensors.
  add_executable(command_json command/json_value.c)
  target_link_libraries(command_json PRIVATE PkgConfig::CJSON PkgConfig::UTF8PROC)
  add_executable(command_tensors command/tensors_compare.c common/tensors.c)
  target_include_directories(command_tensors PRIVATE ${PROJECT_SOURCE_DIR}/tests/common)
  target_link_libraries(command_tensors PRIVATE PkgConfig::CJSON m)

  # Scripts are given the folder of the programs and the folder of the sources.
  foreach(script usage files text results disk signals inputs)
    hg_add_command_test(command_${script} LABELS command TIMEOUT 240 DEVICE ref
      COMMAND sh ${PROJECT_SOURCE_DIR}/tests/command/${script}.sh $<TARGET_FILE:headgate> $<TARGET_FILE:command_json>
              $<TARGET_FILE:command_tensors> ${PROJECT_SOURCE_DIR} ref)
  endforeach()
  foreach(device ref lavapipe swiftshader pocl)
    hg_test_selector(selector ${device})
    hg_add_command_test(command_devices.${device} LABELS command TIMEOUT 300 DEVICE ${device}
      COMMAND sh ${PROJECT_SOURCE_DIR}/tests/command/devices.sh $<TARGET_FILE:headgate> $<TARGET_FILE:command_json>
              $<TARGET_FILE:command_tensors> ${PROJECT_SOURCE_DIR} ${selector})
  endforeach()
endif()
