/* SPDX-License-Identifier: MIT */
/*
 * From a row of the kernel table to a VkPipeline, once per variant and constants. Layouts depend on
 * two numbers only, bindings and words of params, so few exist and all kernels share them.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vk.h"
#include "vk_spirv.h"

static hg_result need_set_layout(hg_vk_dev *dev, uint32_t bind_count)
{
    VkDescriptorSetLayoutBinding rows[HG_BINDS_MAX];
    VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = bind_count,
        .pBindings = rows,
    };
    VkResult result;

    if (dev->set_layout[bind_count])
        return HG_OK;
    if (dev->choice.features & HG_FEATURE_PUSH_DESCRIPTOR)
        info.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
    for (uint32_t i = 0; i < bind_count; i++)
        rows[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    result =
        dev->fn.vkCreateDescriptorSetLayout(dev->handle, &info, NULL, &dev->set_layout[bind_count]);
    if (result != VK_SUCCESS)
        dev->set_layout[bind_count] = VK_NULL_HANDLE; /* a failed call leaves anything */
    return hg_vk_fail(dev, result, "vkCreateDescriptorSetLayout");
}

static hg_result need_layout(hg_vk_dev *dev, uint32_t bind_count, uint32_t param_bytes)
{
    VkPipelineLayout *layout = &dev->layout[bind_count][param_bytes / 4];
    VkPushConstantRange params = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = param_bytes};
    VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &dev->set_layout[bind_count],
        .pushConstantRangeCount = param_bytes > 0,
        .pPushConstantRanges = &params,
    };
    VkResult created;
    hg_result result;

    if (*layout)
        return HG_OK;
    result = need_set_layout(dev, bind_count);
    if (result != HG_OK)
        return result;
    created = dev->fn.vkCreatePipelineLayout(dev->handle, &info, NULL, layout);
    if (created != VK_SUCCESS)
        *layout = VK_NULL_HANDLE;
    return hg_vk_fail(dev, created, "vkCreatePipelineLayout");
}

static hg_result create_module(hg_vk_dev *dev, const hg_variant *variant, const char *name,
                               VkShaderModule *out)
{
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = variant->spirv_bytes,
        .pCode = variant->spirv,
    };
    uint32_t *patched = NULL;
    hg_result result;

    *out = VK_NULL_HANDLE;
    if (dev->choice.features & HG_FEATURE_RTE32) {
        result =
            hg_vk_spirv_round_even(variant->spirv, variant->spirv_bytes, &patched, &info.codeSize);
        if (result != HG_OK)
            return hg_fail(&dev->base.plan.log, result, "kernel %s: %s", name,
                           result == HG_ERR_HOST_MEMORY ? "out of memory"
                                                        : "its SPIR-V is not a module");
        info.pCode = patched;
    }
    result = hg_vk_fail(dev, dev->fn.vkCreateShaderModule(dev->handle, &info, NULL, out), name);
    if (result != HG_OK)
        *out = VK_NULL_HANDLE;
    free(patched);
    return result;
}

/* The width of subgroups that a variant is made for: its number WIDTH. 0: any. */
static uint32_t width_of(const hg_vk_dev *dev, const hg_vk_pipe *pipe)
{
    const hg_variant *variant = pipe->base.variant;

    for (uint32_t i = 0; i < variant->spec_count; i++)
        if (strcmp(variant->spec_name[i], "WIDTH") == 0 &&
            dev->choice.features & HG_FEATURE_SUBGROUP_SIZE)
            return pipe->base.spec[i];
    return 0;
}

static hg_result compile(hg_vk_dev *dev, hg_vk_pipe *pipe, VkShaderModule module, const char *name)
{
    VkSpecializationMapEntry entries[HG_SPEC_MAX];
    VkSpecializationInfo spec = {
        .mapEntryCount = pipe->base.variant->spec_count,
        .pMapEntries = entries,
        .dataSize = pipe->base.variant->spec_count * sizeof(uint32_t),
        .pData = pipe->base.spec,
    };
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage =
            {
                .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main",
                .pSpecializationInfo = spec.mapEntryCount > 0 ? &spec : NULL,
            },
        .layout = pipe->layout,
    };
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo width = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = width_of(dev, pipe)};
    hg_result result;

    if (width.requiredSubgroupSize) {
        info.stage.pNext = &width;
        info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    }
    for (uint32_t i = 0; i < spec.mapEntryCount; i++)
        entries[i] =
            (VkSpecializationMapEntry){i, (uint32_t)(i * sizeof(uint32_t)), sizeof(uint32_t)};
    result = hg_vk_fail(
        dev,
        dev->fn.vkCreateComputePipelines(dev->handle, dev->cache, 1, &info, NULL, &pipe->handle),
        name);
    if (result == HG_OK)
        hg_vk_name(dev, VK_OBJECT_TYPE_PIPELINE, (uint64_t)pipe->handle, name);
    else
        pipe->handle = VK_NULL_HANDLE;
    return result;
}

static hg_vk_pipe *find_pipe(hg_vk_dev *dev, const hg_variant *variant, const uint32_t *spec)
{
    hg_vk_pipe *pipe;

    pthread_mutex_lock(&dev->pipe_lock);
    for (pipe = dev->pipes; pipe; pipe = pipe->next)
        if (pipe->base.variant == variant &&
            memcmp(pipe->base.spec, spec, variant->spec_count * sizeof(*spec)) == 0)
            break;
    pthread_mutex_unlock(&dev->pipe_lock);
    return pipe;
}

static hg_result create_pipe(hg_vk_dev *dev, const hg_variant *variant, const uint32_t *spec,
                             hg_vk_pipe **out)
{
    const hg_kernel *kernel = &hg_kernels[variant->kernel];
    VkShaderModule module = VK_NULL_HANDLE;
    hg_vk_pipe *pipe = calloc(1, sizeof(*pipe));
    hg_result res = HG_OK;

    *out = NULL;
    if (!pipe)
        return hg_fail(&dev->base.plan.log, HG_ERR_HOST_MEMORY, "kernel %s: out of memory",
                       kernel->name);
    pipe->base.dev = &dev->base;
    pipe->base.variant = variant;
    memcpy(pipe->base.spec, spec, sizeof(pipe->base.spec));
    pipe->bind_count = kernel->bind_count;
    pipe->param_bytes = kernel->param_bytes;
    pthread_mutex_lock(&dev->pipe_lock);
    res = need_layout(dev, kernel->bind_count, kernel->param_bytes);
    pthread_mutex_unlock(&dev->pipe_lock);
    HG_TRY(res);
    pipe->layout = dev->layout[kernel->bind_count][kernel->param_bytes / 4];
    pipe->set_layout = dev->set_layout[kernel->bind_count];
    HG_TRY(create_module(dev, variant, kernel->name, &module));
    HG_TRY(compile(dev, pipe, module, kernel->name));
out:
    if (module)
        dev->fn.vkDestroyShaderModule(dev->handle, module, NULL);
    if (res != HG_OK)
        free(pipe);
    else
        *out = pipe;
    return res;
}

hg_result hg_vk_prepare(hg_dev *base, const hg_variant *variant, const uint32_t *spec,
                        hg_pipe **out)
{
    hg_vk_dev *dev = (hg_vk_dev *)base;
    const hg_kernel *kernel = &hg_kernels[variant->kernel];
    hg_vk_pipe *pipe;
    hg_result result = HG_OK;

    *out = NULL;
    assert(variant->spec_count <= HG_SPEC_MAX && kernel->bind_count <= HG_BINDS_MAX);
    assert(kernel->param_bytes % 4 == 0 && kernel->param_bytes <= HG_PARAM_WORDS_MAX * 4);
    if (!variant->spirv)
        return hg_fail(&base->plan.log, HG_ERR_UNSUPPORTED,
                       "kernel %s: this variant has no SPIR-V and cannot run under Vulkan",
                       kernel->name);
    if (variant->threads > dev->facts.properties.limits.maxComputeWorkGroupInvocations)
        return hg_fail(&base->plan.log, HG_ERR_UNSUPPORTED,
                       "kernel %s: needs %u invocations per work-group; %s allows %u", kernel->name,
                       variant->threads, base->plan.device.name,
                       dev->facts.properties.limits.maxComputeWorkGroupInvocations);
    if (atomic_load(&dev->lost))
        return hg_vk_fail(dev, VK_ERROR_DEVICE_LOST, kernel->name);
    pipe = find_pipe(dev, variant, spec);
    if (!pipe) {
        /* Compiled without the lock, so that others compile meanwhile. Two that want the same one
         * at once get one each, and later callers the newer. */
        result = create_pipe(dev, variant, spec, &pipe);
        if (pipe) {
            pthread_mutex_lock(&dev->pipe_lock);
            pipe->next = dev->pipes;
            dev->pipes = pipe;
            pthread_mutex_unlock(&dev->pipe_lock);
        }
    }
    *out = pipe ? &pipe->base : NULL;
    return result;
}

void hg_vk_pipeline_close(hg_vk_dev *dev)
{
    while (dev->pipes) {
        hg_vk_pipe *pipe = dev->pipes;

        dev->pipes = pipe->next;
        dev->fn.vkDestroyPipeline(dev->handle, pipe->handle, NULL);
        free(pipe);
    }
    for (uint32_t binds = 0; binds <= HG_BINDS_MAX; binds++) {
        for (uint32_t words = 0; words <= HG_PARAM_WORDS_MAX; words++)
            if (dev->layout[binds][words])
                dev->fn.vkDestroyPipelineLayout(dev->handle, dev->layout[binds][words], NULL);
        if (dev->set_layout[binds])
            dev->fn.vkDestroyDescriptorSetLayout(dev->handle, dev->set_layout[binds], NULL);
    }
}
