# SPDX-License-Identifier: MIT
# Everything that reads checkpoints: no device, no tokenizer. Needs hg_base at link time.
add_library(hg_files OBJECT
  checkpoint.c config.c config_rope.c file.c json.c json_text.c pickle.c prompts.c real.c resolve.c rope.c safetensors.c scan.c slots.c
  tensor.c torch_file.c weight_files.c weight_index.c zip.c)
target_include_directories(hg_files PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/include
                                           ${PROJECT_SOURCE_DIR}/engine ${PROJECT_SOURCE_DIR}/engine/include
                                           ${PROJECT_SOURCE_DIR}/shaders)
target_link_libraries(hg_files PUBLIC PkgConfig::CJSON PkgConfig::UTF8PROC m)
# madvise is no POSIX function.
set_source_files_properties(file.c PROPERTIES COMPILE_DEFINITIONS _DEFAULT_SOURCE)
