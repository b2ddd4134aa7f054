# SPDX-License-Identifier: MIT
# Fuzzers of the readers. All seeds are the broken and hostile checkpoints of the reference.
foreach(subject safetensors torch config)
  hg_add_fuzzer(${subject} SOURCES fuzz/fuzz_${subject}.c LIBRARIES hg_files hg_base
                CORPUS ${CMAKE_CURRENT_SOURCE_DIR}/reference/bad MAX_BYTES 65536)
endforeach()
