# SPDX-License-Identifier: MIT
# make_model writes random checkpoints of any shape: for benchmarks, and for a look at a large model without having one.
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
add_executable(make_model bench/make_model.c bench/random_model.c bench/torch_file.c)
target_link_libraries(make_model PRIVATE PkgConfig::ZLIB)

if(TARGET headgate_lib)
  hg_add_test(make_model SOURCES bench/test_make_model.c LIBRARIES headgate_lib ARGS $<TARGET_FILE:make_model>)
  add_dependencies(test_make_model make_model)

  # Many prompts one at a time and in passes, side by side: for PERFORMANCE.md. The entry only sees that it runs.
  add_executable(bench_batch bench/batch.c)
  target_compile_definitions(bench_batch PRIVATE _POSIX_C_SOURCE=200809L)
  target_link_libraries(bench_batch PRIVATE headgate_lib)
  hg_add_command_test(bench_batch DEVICE ref COMMAND bench_batch ${PROJECT_SOURCE_DIR}/tools/samples/gate_headwise
                      ${PROJECT_SOURCE_DIR}/tools/samples/prompts.jsonl --device ref --rounds 1 --what maps)
endif()
