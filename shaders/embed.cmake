# SPDX-License-Identifier: MIT
# cmake -D SOURCE=file -D OUTPUT=file -D FOLDERS=a|b -P embed.cmake
# A source with its includes put in their place and without comments and layout, as the bytes of a C string.
string(REPLACE "|" ";" FOLDERS "${FOLDERS}")

# Sets `expanded`. Text with brackets or semicolons is never treated as a list.
function(expand file)
  file(READ ${file} text)
  while(text MATCHES "#include \"([a-z_.]+)\"\n")
    set(line "${CMAKE_MATCH_0}")
    set(path)
    foreach(folder IN LISTS FOLDERS)
      if(NOT path AND EXISTS ${folder}/${CMAKE_MATCH_1})
        set(path ${folder}/${CMAKE_MATCH_1})
      endif()
    endforeach()
    if(line MATCHES "kernel.h") # C only
      set(content "")
    elseif(path)
      file(READ ${path} content)
    else()
      message(FATAL_ERROR "${file}: cannot find ${line}")
    endif()
    string(REPLACE "${line}" "${content}" text "${text}")
  endwhile()
  set(expanded "${text}" PARENT_SCOPE)
endfunction()

expand(${SOURCE})
string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" expanded "${expanded}")
# Layout is for readers of the sources: a quarter of the bytes.
string(REGEX REPLACE "[ \t]+" " " expanded "${expanded}")
string(REGEX REPLACE " \n" "\n" expanded "${expanded}")
string(REGEX REPLACE "\n " "\n" expanded "${expanded}")
string(REGEX REPLACE "\n\n+" "\n" expanded "${expanded}")
string(HEX "${expanded}" bytes)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "${bytes}0x00\n")
