/* SPDX-License-Identifier: MIT */
/* SPIR-V ships once, for Vulkan 1.1; what a device offers beyond that is added at load (D12). Pure.
 */
#ifndef HG_VULKAN_VK_SPIRV_H
#define HG_VULKAN_VK_SPIRV_H

#include <headgate/base.h>

/*
 * A copy of the module that declares round-to-nearest-even for 32-bit floats at every entry point;
 * what is declared already is not declared twice. *out is freed by the caller.
 * HG_ERR_DRIVER: these are not the words of a SPIR-V module (says nothing: the caller knows the
 * name).
 */
hg_result hg_vk_spirv_round_even(const uint32_t *words, size_t bytes, uint32_t **out,
                                 size_t *out_bytes);

#endif
