# SPDX-License-Identifier: MIT
# DEVICES.md is what the reports in this folder say; the reports themselves are made where tests/zoo.sh asks for them.
if(TARGET headgate AND TARGET command_json)
  hg_add_command_test(devices_table LABELS docs
    COMMAND sh -c "sh '${PROJECT_SOURCE_DIR}/tests/devices_table.sh' '$<TARGET_FILE:command_json>' '${PROJECT_SOURCE_DIR}' >table.md && cmp table.md '${PROJECT_SOURCE_DIR}/DEVICES.md'")

  option(HG_DEVICE_REPORTS "entries device_report.NAME, which write a report on each driver: minutes" OFF)
  if(HG_DEVICE_REPORTS)
    foreach(device lavapipe swiftshader pocl oclgrind)
      hg_test_selector(selector ${device})
      hg_add_command_test(device_report.${device} LABELS report TIMEOUT 1500 DEVICE ${device}
        COMMAND sh ${PROJECT_SOURCE_DIR}/tests/device_report.sh $<TARGET_FILE:headgate> $<TARGET_FILE:command_json> $<TARGET_FILE:make_model>
                ${PROJECT_SOURCE_DIR} ${selector} ${device} ${PROJECT_BINARY_DIR}/zoo.log ${PROJECT_BINARY_DIR}/device-reports/${device}.json)
    endforeach()
  endif()
endif()
