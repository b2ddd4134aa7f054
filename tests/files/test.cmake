# SPDX-License-Identifier: MIT
# Readers of checkpoints: every reference case, good and bad, and hostile bytes of our own making.
set(files_sources files/support.c files/torch_writer.c common/tensors.c)
foreach(subject models bad damage torch json prompts config resolve scan real)
  set(files_more)
  if(subject STREQUAL "bad")
    set(files_more files/allocations.c)
  endif()
  hg_add_test(files_${subject} SOURCES files/test_${subject}.c ${files_more} ${files_sources}
              LABELS files LIBRARIES hg_files hg_base)
  target_include_directories(test_files_${subject} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/files)
endforeach()
target_link_options(test_files_bad PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
