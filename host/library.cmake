# SPDX-License-Identifier: MIT
# libheadgate: every part above in one library, static (headgate_lib) and shared (headgate_shared), and its package.
add_library(hg_model OBJECT batch.c model.c session.c forward.c ops.c capture.c metrics.c)
target_include_directories(hg_model PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/include
                                           ${PROJECT_SOURCE_DIR}/engine ${PROJECT_SOURCE_DIR}/engine/include
                                           ${PROJECT_SOURCE_DIR}/shaders)

set(HG_PARTS hg_base hg_core hg_reference hg_vulkan hg_opencl hg_kernels hg_files hg_tokenizer hg_model)
set(HG_OBJECTS)
foreach(part IN LISTS HG_PARTS)
  list(APPEND HG_OBJECTS $<TARGET_OBJECTS:${part}>)
endforeach()

function(hg_library target kind export_name)
  add_library(${target} ${kind} ${HG_OBJECTS})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME headgate EXPORT_NAME ${export_name} LINKER_LANGUAGE C
                                             VERSION ${PROJECT_VERSION} SOVERSION 0)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                                              $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/engine/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE PkgConfig::CJSON PkgConfig::PCRE2 PkgConfig::UTF8PROC Threads::Threads m
                                          ${CMAKE_DL_LIBS})
endfunction()

include(GNUInstallDirs)
hg_library(headgate_lib STATIC headgate_static)
hg_library(headgate_shared SHARED headgate)

if(PROJECT_IS_TOP_LEVEL)
  include(CMakePackageConfigHelpers)
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headgate)
  install(TARGETS headgate_lib headgate_shared EXPORT headgate-targets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY include/headgate ${PROJECT_SOURCE_DIR}/engine/include/headgate
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
  install(EXPORT headgate-targets NAMESPACE headgate:: DESTINATION ${package_dir})
  configure_package_config_file(headgate-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/headgate-config.cmake
                                INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/headgate-config-version.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/headgate-config.cmake
                ${CMAKE_CURRENT_BINARY_DIR}/headgate-config-version.cmake DESTINATION ${package_dir})
  configure_file(headgate.pc.in ${CMAKE_CURRENT_BINARY_DIR}/headgate.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/headgate.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
