# SPDX-License-Identifier: MIT
# The installed library, seen from outside.
if(TARGET headgate_shared AND NOT HG_SANITIZE)
  hg_add_command_test(consumer TIMEOUT 180 COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/check.sh ${PROJECT_BINARY_DIR})
endif()
