# SPDX-License-Identifier: MIT
# Everything that reads checkpoints: no device, no tokenizer.
add_library(hg_files OBJECT file.c json.c json_text.c)
target_include_directories(hg_files PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/include
                                           ${PROJECT_SOURCE_DIR}/engine ${PROJECT_SOURCE_DIR}/engine/include
                                           ${PROJECT_SOURCE_DIR}/shaders)
target_link_libraries(hg_files PUBLIC PkgConfig::CJSON PkgConfig::UTF8PROC m)
