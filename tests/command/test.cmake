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
  foreach(script usage files text results disk signals inputs prompts)
    hg_add_command_test(command_${script} LABELS command TIMEOUT 240 DEVICE ref
      COMMAND sh ${PROJECT_SOURCE_DIR}/tests/command/${script}.sh $<TARGET_FILE:headgate> $<TARGET_FILE:command_json>
              $<TARGET_FILE:command_tensors> ${PROJECT_SOURCE_DIR} ref)
  endforeach()
  foreach(device ref lavapipe swiftshader pocl)
    hg_test_selector(selector ${device})
    hg_add_command_test(command_devices.${device} LABELS command TIMEOUT 300 DEVICE ${device}
      COMMAND sh ${PROJECT_SOURCE_DIR}/tests/command/devices.sh $<TARGET_FILE:headgate> $<TARGET_FILE:command_json>
              $<TARGET_FILE:command_tensors> ${PROJECT_SOURCE_DIR} ${selector})
    if(NOT device STREQUAL "ref")
      hg_add_command_test(command_prompts.${device} LABELS command TIMEOUT 300 DEVICE ${device}
        COMMAND sh ${PROJECT_SOURCE_DIR}/tests/command/prompts.sh $<TARGET_FILE:headgate> $<TARGET_FILE:command_json>
                $<TARGET_FILE:command_tensors> ${PROJECT_SOURCE_DIR} ${selector})
    endif()
    hg_add_command_test(command_exact_hash.${device} LABELS command TIMEOUT 300 DEVICE ${device}
      COMMAND sh ${PROJECT_SOURCE_DIR}/tests/command/exact_hash.sh $<TARGET_FILE:headgate> $<TARGET_FILE:command_json>
              $<TARGET_FILE:command_tensors> ${PROJECT_SOURCE_DIR} ${selector})
  endforeach()
  add_executable(command_bench_check command/bench_check.c)
  target_link_libraries(command_bench_check PRIVATE PkgConfig::CJSON m)
  foreach(device ref lavapipe swiftshader pocl)
    hg_test_selector(selector ${device})
    hg_add_command_test(command_bench.${device} LABELS command TIMEOUT 300 DEVICE ${device}
      COMMAND sh ${PROJECT_SOURCE_DIR}/tests/command/bench.sh $<TARGET_FILE:headgate> $<TARGET_FILE:command_json>
              $<TARGET_FILE:command_tensors> ${PROJECT_SOURCE_DIR} ${selector} $<TARGET_FILE:command_bench_check>)
  endforeach()
  hg_test_selector(selector lavapipe)
  hg_add_command_test(command_matrix.lavapipe LABELS command TIMEOUT 300 DEVICE lavapipe
    COMMAND sh ${PROJECT_SOURCE_DIR}/tests/command/matrix.sh $<TARGET_FILE:headgate> $<TARGET_FILE:command_json>
            $<TARGET_FILE:command_tensors> ${PROJECT_SOURCE_DIR} ${selector})
  hg_test_selector(selector intel)
  hg_add_command_test(command_exact_hash.intel LABELS command TIMEOUT 300 DEVICE intel
    COMMAND sh ${PROJECT_SOURCE_DIR}/tests/command/exact_hash.sh $<TARGET_FILE:headgate> $<TARGET_FILE:command_json>
            $<TARGET_FILE:command_tensors> ${PROJECT_SOURCE_DIR} ${selector})
  hg_add_test(command_exact_pieces SOURCES command/test_exact_pieces.c common/exact_sample.c
              LIBRARIES hg_command hg_command_base headgate_lib LABELS command TIMEOUT 240 DEVICES ref lavapipe swiftshader pocl)
  if(TARGET hg_figure)
    target_link_libraries(test_command_exact_pieces PRIVATE hg_figure)
  endif()

  hg_add_test(command_exact_hash_verdict SOURCES command/test_hash_verdict.c LIBRARIES hg_command hg_command_base headgate_lib
              LABELS command)
  if(TARGET hg_figure)
    target_link_libraries(test_command_exact_hash_verdict PRIVATE hg_figure)
  endif()
  hg_add_test(command_selftest_tally SOURCES command/test_selftest_tally.c LIBRARIES hg_command hg_command_base headgate_lib
              LABELS command)
  if(TARGET hg_figure)
    target_link_libraries(test_command_selftest_tally PRIVATE hg_figure)
  endif()
  hg_add_test(command_doctor_rows SOURCES command/test_doctor.c LIBRARIES hg_command hg_command_base headgate_lib LABELS command)
  if(TARGET hg_figure)
    target_link_libraries(test_command_doctor_rows PRIVATE hg_figure)
  endif()
  foreach(device ref lavapipe swiftshader pocl)
    hg_test_selector(selector ${device})
    hg_add_command_test(command_compare.${device} LABELS command compare TIMEOUT 600 DEVICE ${device}
      COMMAND sh ${PROJECT_SOURCE_DIR}/tests/command/compare.sh $<TARGET_FILE:headgate> $<TARGET_FILE:command_json>
              $<TARGET_FILE:command_tensors> ${PROJECT_SOURCE_DIR} ${selector})
  endforeach()
  if(NOT HG_SANITIZE)
    hg_add_command_test(command_page LABELS command compare TIMEOUT 240 DEVICE ref
      COMMAND sh ${PROJECT_SOURCE_DIR}/tests/command/page.sh $<TARGET_FILE:headgate> $<TARGET_FILE:command_json>
              $<TARGET_FILE:command_tensors> ${PROJECT_SOURCE_DIR} ref)
  endif()

  # Libraries that crash, hang, exit or are no driver, for the doctor.
  foreach(kind plain crash hang exit)
    add_library(doctor_${kind} MODULE command/doctor_driver.c)
  endforeach()
  target_compile_definitions(doctor_plain PRIVATE DOCTOR_DRIVER=0)
  target_compile_definitions(doctor_crash PRIVATE DOCTOR_DRIVER=1)
  target_compile_definitions(doctor_hang PRIVATE DOCTOR_DRIVER=2)
  target_compile_definitions(doctor_exit PRIVATE DOCTOR_DRIVER=3)
  foreach(device ref lavapipe swiftshader pocl)
    hg_test_selector(selector ${device})
    hg_add_command_test(command_selftest.${device} LABELS command TIMEOUT 300 DEVICE ${device}
      COMMAND sh ${PROJECT_SOURCE_DIR}/tests/command/selftest.sh $<TARGET_FILE:headgate> $<TARGET_FILE:command_json>
              $<TARGET_FILE:command_tensors> ${PROJECT_SOURCE_DIR} ${selector} $<TARGET_FILE_DIR:doctor_plain>)
  endforeach()
  hg_add_command_test(command_doctor LABELS command TIMEOUT 240 DEVICE none
    COMMAND sh ${PROJECT_SOURCE_DIR}/tests/command/doctor.sh $<TARGET_FILE:headgate> $<TARGET_FILE:command_json>
            $<TARGET_FILE:command_tensors> ${PROJECT_SOURCE_DIR} ref $<TARGET_FILE_DIR:doctor_plain>)
  hg_add_command_test(command_doctor_drivers LABELS command TIMEOUT 240 DEVICE all
    COMMAND sh ${PROJECT_SOURCE_DIR}/tests/command/doctor_drivers.sh $<TARGET_FILE:headgate> $<TARGET_FILE:command_json>
            $<TARGET_FILE:command_tensors> ${PROJECT_SOURCE_DIR} ref)
endif()
