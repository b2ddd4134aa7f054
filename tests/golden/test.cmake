# SPDX-License-Identifier: MIT
# The whole model against the original's numbers, on every driver that is installed.
if(TARGET headgate_lib)
  set(golden_devices ref lavapipe swiftshader pocl)
  hg_add_test(golden SOURCES golden/main.c golden/golden_case.c golden/golden_run.c golden/golden_judge.c golden/golden_stage.c
                             common/tensors.c
              LIBRARIES headgate_lib PkgConfig::CJSON LABELS golden TIMEOUT 300 ARGS --cuts few DEVICES ${golden_devices})
  hg_add_test(golden_judge SOURCES golden/test_judge.c golden/golden_case.c golden/golden_run.c golden/golden_judge.c
                                   golden/golden_stage.c common/tensors.c
              LIBRARIES headgate_lib PkgConfig::CJSON LABELS golden)
  foreach(device IN LISTS golden_devices)
    hg_test_selector(selector ${device})
    hg_test_entry(golden_exact.${device} ${device} 300 golden test_golden --device ${selector} --precision exact --cuts all)
    hg_test_entry(golden_minimum.${device} ${device} 300 golden
                  test_golden --device ${selector} --precision exact --limits spec-minimum --cuts none)
  endforeach()
  hg_test_selector(selector lavapipe)
  hg_test_entry(golden_matrix.lavapipe lavapipe 300 golden test_golden --device ${selector} --tier T2 --cuts few)
  # All of T1, of which these devices use a part by themselves.
  foreach(device lavapipe swiftshader)
    hg_test_selector(selector ${device})
    hg_test_entry(golden_subgroups.${device} ${device} 300 golden test_golden --device ${selector} --tier T1 --cuts few)
  endforeach()
  hg_test_selector(selector intel)
  hg_test_entry(golden_exact.intel intel 300 golden test_golden --device ${selector} --precision exact --cuts all)
endif()
