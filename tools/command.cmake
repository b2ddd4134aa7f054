# SPDX-License-Identifier: MIT
# The headgate command: against the public headers of the library only.
pkg_check_modules(LIBCRYPTO REQUIRED IMPORTED_TARGET libcrypto)
include(GNUInstallDirs)

# Objects apart from the program, so that tests can link parts of it.
add_library(
  hg_command OBJECT
  app.c args.c choice.c cmd_bench.c cmd_demo.c cmd_devices.c cmd_inspect.c cmd_logits.c cmd_map.c cmd_metrics.c cmd_tokenize.c
  commands.c digest.c dump.c evaluate.c help.c interrupt.c json_writer.c machine.c maps.c message.c numbers.c options.c output.c
  picture.c progress.c prompt.c provenance.c safetensors_write.c source.c)
target_include_directories(
  hg_command PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/engine/include ${PROJECT_SOURCE_DIR}/host/include)
# realpath is an XSI function.
target_compile_definitions(hg_command PRIVATE _XOPEN_SOURCE=700 HG_SAMPLES_SOURCE="${CMAKE_CURRENT_SOURCE_DIR}/samples")
target_link_libraries(hg_command PUBLIC PkgConfig::LIBCRYPTO Threads::Threads m)

if(TARGET headgate_lib)
  add_executable(headgate main.c)
  target_link_libraries(headgate PRIVATE hg_command hg_figure headgate_lib)
  install(TARGETS headgate RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  foreach(sample baseline gate_elementwise gate_headwise)
    install(DIRECTORY samples/${sample} DESTINATION ${CMAKE_INSTALL_DATADIR}/headgate/samples
            FILES_MATCHING PATTERN "*.json" PATTERN "*.safetensors")
  endforeach()
  install(FILES samples/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/headgate/samples)
endif()
