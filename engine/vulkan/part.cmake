# SPDX-License-Identifier: MIT
# The Vulkan backend. Headers only: the loader is opened at run time; of volk its device table
# alone is used.
find_path(HG_VOLK_INCLUDE_DIR volk.h REQUIRED)
find_path(HG_VULKAN_INCLUDE_DIR vulkan/vulkan_core.h REQUIRED)

hg_engine_part(hg_vulkan
  vulkan/vk_cache.c vulkan/vk_choice.c vulkan/vk_debug.c vulkan/vk_device.c vulkan/vk_enumerate.c
  vulkan/vk_facts.c vulkan/vk_load.c vulkan/vk_memory.c vulkan/vk_pipeline.c vulkan/vk_ranges.c
  vulkan/vk_record.c vulkan/vk_spirv.c vulkan/vk_submit.c)
target_include_directories(hg_vulkan SYSTEM PRIVATE ${HG_VOLK_INCLUDE_DIR} ${HG_VULKAN_INCLUDE_DIR})
target_compile_definitions(hg_vulkan PRIVATE VK_NO_PROTOTYPES)
target_link_libraries(hg_vulkan PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
