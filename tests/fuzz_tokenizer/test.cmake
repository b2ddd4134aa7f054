# SPDX-License-Identifier: MIT
hg_add_fuzzer(tokenizer SOURCES fuzz/fuzz_tokenizer.c LIBRARIES hg_tokenizer hg_files hg_base
              CORPUS ${CMAKE_CURRENT_LIST_DIR}/seeds MAX_BYTES 8192)
