# SPDX-License-Identifier: MIT
# The OpenCL backend. Needs the headers alone: the library is opened at run time.
hg_engine_part(hg_opencl opencl/cl_load.c opencl/cl_snapshot.c opencl/cl_device.c opencl/cl_memory.c opencl/cl_program.c
                         opencl/cl_cache.c opencl/cl_record.c opencl/cl_point.c)
target_link_libraries(hg_opencl PRIVATE ${CMAKE_DL_LIBS})
