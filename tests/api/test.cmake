# SPDX-License-Identifier: MIT
# The public interface as a program uses it: sessions, captures, batches, wrong calls, threads; every header alone as C99 and C++11.
if(TARGET headgate_lib)
  hg_add_test(api SOURCES api/test_session.c LIBRARIES headgate_lib Threads::Threads LABELS api TIMEOUT 120)
  hg_add_test(api_batch SOURCES api/test_batch.c LIBRARIES headgate_lib LABELS api TIMEOUT 300
              DEVICES ref lavapipe swiftshader pocl)
  hg_add_test(api_long SOURCES api/test_long.c compare/fixture.c LIBRARIES headgate_lib m LABELS api TIMEOUT 600 DEVICES lavapipe pocl)
  hg_add_test(api_repack SOURCES api/test_repack.c LIBRARIES headgate_lib LABELS api TIMEOUT 120 DEVICES ref lavapipe pocl)
  hg_add_test(api_tune SOURCES api/test_tune.c LIBRARIES headgate_lib LABELS api TIMEOUT 300 DEVICES lavapipe pocl)
endif()
hg_add_command_test(api_headers LABELS api COMMAND sh ${PROJECT_SOURCE_DIR}/tests/api/headers.sh ${PROJECT_SOURCE_DIR}
                                                   ${CMAKE_C_COMPILER})
