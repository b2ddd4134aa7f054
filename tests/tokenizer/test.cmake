# SPDX-License-Identifier: MIT
# Text to ids and back: the recorded encodings, rules one by one, hostile files, and what Unicode's versions change.
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
set(tokenizer_parts hg_tokenizer hg_files hg_base PkgConfig::CJSON PkgConfig::PCRE2 PkgConfig::UTF8PROC PkgConfig::ZLIB
                    Threads::Threads)
foreach(subject reference rules files labels limits unicode)
  hg_add_test(tokenizer_${subject} SOURCES tokenizer/test_${subject}.c tokenizer/tokenizer_case.c tokenizer/unicode_list.c
              LIBRARIES ${tokenizer_parts} LABELS tokenizer)
endforeach()
