# SPDX-License-Identifier: MIT
# The OpenCL backend: judgement and bookkeeping on a made-up driver, failing calls on that and on real ones, then what real
# devices compute.
set(opencl_common opencl/tiny.c)
set(opencl_devices pocl oclgrind)

hg_add_test(opencl_snapshot SOURCES opencl/test_snapshot.c opencl/fake.c ${opencl_common} LIBRARIES hg_opencl hg_base)
hg_add_test(opencl_points SOURCES opencl/test_points.c opencl/fake.c ${opencl_common} LIBRARIES hg_opencl hg_base)
hg_add_test(opencl_cache SOURCES opencl/test_cache.c opencl/fake.c ${opencl_common} LIBRARIES hg_opencl hg_base)
hg_add_test(opencl_faults SOURCES opencl/test_faults.c opencl/fake.c opencl/spy.c ${opencl_common}
            LIBRARIES hg_opencl hg_base)
hg_add_test(opencl_device SOURCES opencl/test_device.c opencl/spy.c ${opencl_common} LIBRARIES hg_opencl hg_base
            TIMEOUT 120 DEVICES ${opencl_devices})
foreach(device IN LISTS opencl_devices)
  hg_test_selector(selector ${device})
  hg_test_entry(opencl_faults.${device} ${device} 120 "" test_opencl_faults --device ${selector})
endforeach()
if(TARGET hg_kernels)
  hg_add_test(opencl_kernels SOURCES opencl/test_kernels.c
              LIBRARIES hg_opencl hg_base hg_kernels TIMEOUT 300 DEVICES ${opencl_devices})
endif()
foreach(program snapshot points cache faults device kernels)
  if(TARGET test_opencl_${program})
    target_include_directories(test_opencl_${program} PRIVATE ${PROJECT_SOURCE_DIR}/engine ${PROJECT_SOURCE_DIR}/shaders)
    target_link_libraries(test_opencl_${program} PRIVATE ${CMAKE_DL_LIBS})
  endif()
endforeach()
