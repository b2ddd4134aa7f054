# SPDX-License-Identifier: MIT
# Fuzzers of the readers. All seeds are the broken and hostile checkpoints of the reference.
foreach(subject safetensors torch config)
  hg_add_fuzzer(${subject} SOURCES fuzz/fuzz_${subject}.c LIBRARIES hg_files hg_base
                CORPUS ${CMAKE_CURRENT_SOURCE_DIR}/reference/bad MAX_BYTES 65536)
endforeach()
hg_add_fuzzer(prompts SOURCES fuzz/fuzz_prompts.c LIBRARIES hg_files hg_base
              CORPUS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/seeds/prompts MAX_BYTES 4096)
# Records of compare: the tools' reader.
if(TARGET hg_command AND TARGET headgate_lib)
  set(record_parts hg_command hg_command_base headgate_lib)
  if(TARGET hg_figure)
    list(APPEND record_parts hg_figure)
  endif()
  hg_add_fuzzer(record SOURCES fuzz/fuzz_record.c LIBRARIES ${record_parts}
                CORPUS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/seeds/record MAX_BYTES 8192)
endif()
