# SPDX-License-Identifier: MIT
# The headgate command: against the public headers of the library only.
pkg_check_modules(LIBCRYPTO REQUIRED IMPORTED_TARGET libcrypto)
include(GNUInstallDirs)

# Files without a name are Linux's (O_TMPFILE; elsewhere output.c uses a temporary one), as are children that die with their parent.
set_source_files_properties(child.c output.c paragraph.c PROPERTIES COMPILE_DEFINITIONS _GNU_SOURCE)

# hg_command_base needs no library: the command line, messages, outputs. hg_command is the rest, apart from main.c.
# Both are objects, so that tests can link them.
add_library(hg_command_base OBJECT args.c child.c help.c interrupt.c json_writer.c message.c numbers.c options.c output.c paragraph.c
                                   progress.c safetensors_write.c)
target_include_directories(hg_command_base PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/engine/include
                                                  ${PROJECT_SOURCE_DIR}/host/include)
target_compile_definitions(hg_command_base PUBLIC _XOPEN_SOURCE=700) # realpath
target_link_libraries(hg_command_base PUBLIC Threads::Threads m)

add_library(
  hg_command OBJECT
  app.c choice.c file_names.c map_prompts.c map_result.c measures.c metrics_prompts.c passes.c prompts.c compare.c compare_child.c compare_verdict.c compare_json.c compare_page.c compare_page_chart.c
  compare_page_maps.c compare_page_style.c compare_page_table.c compare_page_text.c compare_reason.c compare_report.c compare_table.c cmd_bench.c bench_json.c bench_kernel_table.c bench_kernels.c bench_memory.c bench_options.c bench_run.c bench_speed.c bench_table.c columns.c cmd_compare.c cmd_demo.c cmd_devices.c cmd_inspect.c cmd_logits.c cmd_map.c cmd_metrics.c cmd_tokenize.c
  commands.c device_list.c digest.c dump.c evaluate.c machine.c maps.c picture.c prompt.c provenance.c record.c source.c spool.c stage_frame.c stage_judge.c surroundings.c trace.c)
target_compile_definitions(hg_command PRIVATE HG_SAMPLES_SOURCE="${CMAKE_CURRENT_SOURCE_DIR}/samples")
target_link_libraries(hg_command PUBLIC hg_command_base hg_raster PkgConfig::LIBCRYPTO)
target_sources(hg_command PRIVATE cmd_selftest.c selftest_side.c selftest_tally.c)
target_sources(hg_command PRIVATE cmd_exact_hash.c exact_hash.c exact_hash_side.c samples.c shipped.c)
# The doctor reads manifests (JSON) and opens drivers as a loader does.
target_sources(hg_command PRIVATE cmd_doctor.c doctor_access.c doctor_ask.c doctor_devices.c doctor_driver.c
                                  doctor_environment.c doctor_folders.c doctor_fonts.c doctor_layers.c doctor_opencl.c
                                  doctor_probe.c doctor_report.c doctor_search.c doctor_selftest.c doctor_system.c
                                  doctor_vulkan.c)
set_source_files_properties(doctor_access.c doctor_ask.c doctor_report.c PROPERTIES COMPILE_DEFINITIONS _GNU_SOURCE)
target_link_libraries(hg_command PUBLIC PkgConfig::CJSON ${CMAKE_DL_LIBS})
if(NOT TARGET hg_figure)
  target_sources(hg_command PRIVATE figure_none.c)
endif()

if(TARGET headgate_lib)
  add_executable(headgate main.c)
  target_link_libraries(headgate PRIVATE hg_command hg_command_base headgate_lib)
  if(TARGET hg_figure)
    target_link_libraries(headgate PRIVATE hg_figure)
  endif()
  install(TARGETS headgate RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  foreach(sample baseline gate_elementwise gate_headwise)
    install(DIRECTORY samples/${sample} DESTINATION ${CMAKE_INSTALL_DATADIR}/headgate/samples
            FILES_MATCHING PATTERN "*.json" PATTERN "*.safetensors")
  endforeach()
  install(FILES samples/README.md samples/exact-hashes.txt samples/prompts.jsonl DESTINATION ${CMAKE_INSTALL_DATADIR}/headgate/samples)
endif()
