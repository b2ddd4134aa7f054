# SPDX-License-Identifier: MIT
# make_model writes random checkpoints of any shape: for benchmarks, and for a look at a large model without having one.
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
add_executable(make_model bench/make_model.c bench/random_model.c bench/torch_file.c)
target_link_libraries(make_model PRIVATE PkgConfig::ZLIB)

if(TARGET headgate_lib)
  hg_add_test(make_model SOURCES bench/test_make_model.c LIBRARIES headgate_lib ARGS $<TARGET_FILE:make_model>)
  add_dependencies(test_make_model make_model)
endif()
