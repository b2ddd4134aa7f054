# SPDX-License-Identifier: MIT
# The engine above the seam, without a driver: choices on made-up devices, hazards, the upload pass, runs.
foreach(subject plan hazard upload selftest watch)
  hg_add_test(engine_${subject} SOURCES engine/test_${subject}.c LIBRARIES headgate_lib)
  target_include_directories(test_engine_${subject} PRIVATE ${PROJECT_SOURCE_DIR}/engine ${PROJECT_SOURCE_DIR}/shaders)
endforeach()
hg_add_test(engine_stage SOURCES engine/test_stage.c LIBRARIES headgate_lib DEVICES ref lavapipe pocl)
target_include_directories(test_engine_stage PRIVATE ${PROJECT_SOURCE_DIR}/engine ${PROJECT_SOURCE_DIR}/shaders)
hg_add_test(engine_tune SOURCES engine/test_tune.c LIBRARIES headgate_lib TIMEOUT 300 DEVICES lavapipe pocl)
target_include_directories(test_engine_tune PRIVATE ${PROJECT_SOURCE_DIR}/engine ${PROJECT_SOURCE_DIR}/shaders)
