# SPDX-License-Identifier: MIT
# tokenizer.json: needs hg_files (JSON, mappings) and hg_base at link time.
add_library(hg_tokenizer OBJECT
  tokenizer.c tokenizer_added.c tokenizer_bpe.c tokenizer_decode.c tokenizer_encode.c tokenizer_file.c tokenizer_labels.c
  tokenizer_nfc.c tokenizer_pattern.c tokenizer_split.c tokenizer_template.c tokenizer_text.c tokenizer_vocab.c)
target_include_directories(hg_tokenizer PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/include
                                               ${PROJECT_SOURCE_DIR}/engine ${PROJECT_SOURCE_DIR}/engine/include)
target_link_libraries(hg_tokenizer PUBLIC PkgConfig::CJSON PkgConfig::PCRE2 PkgConfig::UTF8PROC)
