# SPDX-License-Identifier: MIT
# From kernels.def and one source per kernel: SPIR-V (glslc), OpenCL C as data, and the text compiled as C.
# Target: OBJECT library hg_kernels. A row that cannot be read, a missing source or a shader that does not
# compile stops the build. No generator program: rows are cut out of the table by CMake.
find_program(HG_GLSLC glslc REQUIRED)

set(dir ${CMAKE_CURRENT_SOURCE_DIR})
set(out ${CMAKE_CURRENT_BINARY_DIR}/generated)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${dir}/kernels.def)
# What a kernel text may include; touching one rebuilds all of them.
set(pages ${dir}/page.h ${dir}/function.h ${dir}/weight.h ${dir}/norm.h)

# The table as a list of rows: no comments, no preprocessor lines, one line each.
file(READ ${dir}/kernels.def table)
string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" table "${table}")
string(REGEX REPLACE "#[^\n]*" "" table "${table}")
string(REGEX REPLACE "[ \n]+" " " table "${table}")
if(table MATCHES ";")
  message(FATAL_ERROR "kernels.def: a semicolon outside a comment")
endif()
string(REGEX REPLACE " ?(PARAMS|KERNEL|VARIANT)\\(" ";\\1(" rows "${table}")
list(REMOVE_ITEM rows "" " ")

# Writes only what changed, so that a reconfigure rebuilds nothing.
function(hg_write path text)
  if(EXISTS ${path})
    file(READ ${path} old)
    if(old STREQUAL text)
      return()
    endif()
  endif()
  file(WRITE ${path} "${text}")
endfunction()

set(modules "/* Generated from kernels.def. */\n")
set(texts)
set(parts)
set(sources_done)
foreach(row IN LISTS rows)
  if(row MATCHES "^PARAMS\\(([a-z0-9_]+), (.*)\\) ?$")
    # Inside a kernel F is a type; in a row it marks a field.
    string(REGEX REPLACE "([ (,])([UF])\\(" "\\1FIELD_\\2(" params_${CMAKE_MATCH_1} "${row}")
  elseif(row MATCHES "^KERNEL\\(([a-z0-9_]+), (B\\(.*\\)), [^()]*\\) ?$")
    set(kernel ${CMAKE_MATCH_1})
    set(kernel_${kernel} "${row}")
    string(REGEX MATCHALL "B\\([A-Z]+, [a-z0-9]+, [a-z0-9_]+\\)" binds "${CMAKE_MATCH_2}")
    set(defines_${kernel})
    set(index 0)
    foreach(bind IN LISTS binds)
      string(REGEX REPLACE ".*, ([a-z0-9_]+)\\)" "\\1" name "${bind}")
      list(APPEND defines_${kernel} -DBIND_${name}=${index})
      math(EXPR index "${index} + 1")
    endforeach()
  elseif(row MATCHES "^VARIANT\\(([a-z0-9_]+), ([A-Z0-9]+), ([a-z0-9]+), ([a-z0-9_]+), ([0-9]+), (.*), ?([a-z0-9_]+)\\) ?$")
    set(kernel ${CMAKE_MATCH_1})
    set(tier ${CMAKE_MATCH_2})
    set(dtype ${CMAKE_MATCH_3})
    set(source ${CMAKE_MATCH_4})
    set(threads ${CMAKE_MATCH_5})
    set(spec "${CMAKE_MATCH_6}")
    set(name ${kernel}_${tier}_${dtype})
    if(NOT DEFINED params_${kernel} OR NOT DEFINED kernel_${kernel})
      message(FATAL_ERROR "kernels.def: VARIANT before PARAMS and KERNEL: ${row}")
    endif()
    if(NOT EXISTS ${dir}/${source}.comp)
      message(FATAL_ERROR "kernels.def: ${name} has no source ${dir}/${source}.comp")
    endif()
    string(TOUPPER "HG_W_${dtype}" weight)

    # row.def: what the text includes where its head stands.
    set(here ${out}/${name})
    if(spec MATCHES "S")
      set(line "SPECS(${spec})")
    else()
      set(line)
    endif()
    hg_write(${here}/row.def "${params_${kernel}}\n${line}\n${kernel_${kernel}}\n")

    # Tile numbers: macros with the defaults; for C, then, any.
    string(REGEX MATCHALL "S\\([A-Z0-9_]+, [0-9]+\\)" specs "${spec}")
    set(fixed)
    set(spec_defines)
    set(any)
    set(same "1")
    set(undef)
    set(index 0)
    foreach(item IN LISTS specs)
      string(REGEX MATCH "S\\(([A-Z0-9_]+), ([0-9]+)\\)" item "${item}")
      list(APPEND spec_defines -D${CMAKE_MATCH_1}=${CMAKE_MATCH_2})
      string(APPEND fixed "#define ${CMAKE_MATCH_1} ${CMAKE_MATCH_2}u\n")
      string(APPEND any "#define ${CMAKE_MATCH_1} hg_spec[${index}]\n")
      string(APPEND undef "#undef ${CMAKE_MATCH_1}\n")
      string(APPEND same " && (spec)[${index}] == ${CMAKE_MATCH_2}u")
      math(EXPR index "${index} + 1")
    endforeach()

    # T0C is for processors: OpenCL and C.
    if(tier STREQUAL "T0C")
      string(APPEND modules "#define HG_SPIRV_${name} NULL, 0\n")
    else()
      set(spirv ${here}/spirv.inc)
      add_custom_command(OUTPUT ${spirv}
        COMMAND ${HG_GLSLC} --target-env=vulkan1.1 -std=450core -O -Werror -fshader-stage=compute -mfmt=num
                -DTHREADS=${threads} -D${weight}=1 ${defines_${kernel}} ${spec_defines} -I ${here} -I ${dir}
                ${dir}/${source}.comp -o ${spirv}
        DEPENDS ${dir}/${source}.comp ${pages} ${here}/row.def
        COMMENT "SPIR-V ${name}" VERBATIM)
      list(APPEND parts ${spirv})
      string(APPEND modules "static const uint32_t hg_spirv_${name}[] = {\n#include \"${name}/spirv.inc\"\n};\n")
      string(APPEND modules "#define HG_SPIRV_${name} hg_spirv_${name}, sizeof(hg_spirv_${name})\n")
    endif()

    if(NOT source IN_LIST sources_done)
      list(APPEND sources_done ${source})
      set(cl ${out}/${source}.cl.inc)
      add_custom_command(OUTPUT ${cl}
        COMMAND ${CMAKE_COMMAND} -D SOURCE=${dir}/${source}.comp -D OUTPUT=${cl} -D "FOLDERS=${here}|${dir}"
                -P ${dir}/embed.cmake
        DEPENDS ${dir}/${source}.comp ${pages} ${here}/row.def ${dir}/embed.cmake
        COMMENT "OpenCL C ${source}" VERBATIM)
      list(APPEND parts ${cl})
      string(APPEND modules "static const char hg_cl_${source}[] = {\n#include \"${source}.cl.inc\"\n};\n")
    endif()

    # The text as C: once with the table's tile numbers as constants, once with any.
    set(text "/* Generated from kernels.def. */\n#define HG_TEXT 1\n#define THREADS ${threads}u\n#define ${weight} 1\n")
    string(APPEND text "#define HG_TEXT_ENTRY hg_text_${name}\n#define HG_TEXT_PARAMS struct hg_${kernel}_params\n")
    string(APPEND text "#define HG_BODY hg_body\n#define HG_BODY_SPEC\n#define ARRAY(size) size\n${fixed}")
    string(APPEND text "#include \"${source}.comp\"\n")
    if(specs)
      string(APPEND text "#undef HG_BODY\n#undef HG_BODY_SPEC\n#undef ARRAY\n${undef}")
      string(APPEND text "#define HG_BODY hg_body_any\n#define HG_BODY_SPEC const uint32_t *hg_spec,\n")
      string(APPEND text "#define HG_TILE_MAX 64u\n#define ARRAY(size) HG_TILE_MAX\n${any}#include \"${source}.comp\"\n")
      string(APPEND text "#undef HG_BODY\n#define HG_BODY hg_body\n#define HG_BODY_ANY hg_body_any\n")
      string(APPEND text "#define HG_TEXT_SPECS ${index}u\n#define HG_TEXT_DEFAULT(spec) (${same})\n")
    endif()
    string(APPEND text "#include \"text.h\"\n")
    hg_write(${here}/text.c "${text}")
    set_source_files_properties(${here}/text.c PROPERTIES INCLUDE_DIRECTORIES ${here} COMPILE_OPTIONS "-O3")
    list(APPEND texts ${here}/text.c)
  else()
    message(FATAL_ERROR "kernels.def: cannot read this row: ${row}")
  endif()
endforeach()
hg_write(${out}/modules.h "${modules}")

file(GLOB references CONFIGURE_DEPENDS ${dir}/reference/*.c)
add_library(hg_kernels OBJECT kernels.c grid.c shapes.c bound.c ${references} ${texts} ${parts})
target_include_directories(hg_kernels PUBLIC ${dir} PRIVATE ${out})
set_source_files_properties(kernels.c PROPERTIES OBJECT_DEPENDS "${parts}")
set_source_files_properties(${references} PROPERTIES COMPILE_OPTIONS "-O3")
