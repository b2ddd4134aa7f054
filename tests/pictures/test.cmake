# SPDX-License-Identifier: MIT
# From a model to a picture: golden cell values read back from a PNG; what stands in an SVG.
if(TARGET headgate_lib AND TARGET hg_figure)
  pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)
  hg_add_test(picture_cells SOURCES pictures/test_cells.c common/tensors.c
              LIBRARIES headgate_lib hg_figure PkgConfig::CJSON PkgConfig::PNG LABELS pictures)
  target_include_directories(test_picture_cells PRIVATE ${PROJECT_SOURCE_DIR}/tools)
endif()
if(TARGET headgate AND TARGET make_model)
  hg_add_command_test(picture_text LABELS pictures TIMEOUT 120 DEVICE ref
                      COMMAND sh ${PROJECT_SOURCE_DIR}/tests/pictures/text.sh $<TARGET_FILE:headgate> $<TARGET_FILE:make_model>
                              ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/pictures)
endif()
