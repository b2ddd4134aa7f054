/* SPDX-License-Identifier: MIT */
/* Vulkan layers: which implicit ones the loader puts between headgate and a driver, which explicit
 * ones are there, and the one of --validate. */
#include "doctor_driver.h"

#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char section[] = "Vulkan layers";
static const char validation[] = "VK_LAYER_KHRONOS_validation";

typedef struct layer_files {
    hg_list list;
    hg_manifest *manifests;
    hg_probe *probes;
    hg_question questions[HG_LIST_MAX];
} layer_files;

static int is_on(const hg_manifest *manifest)
{
    const char *enable = manifest->enable[0] ? getenv(manifest->enable) : "";
    const char *disable = manifest->disable[0] ? hg_doctor_variable(manifest->disable) : NULL;

    if (!enable || disable)
        return 0;
    return !manifest->enable_value[0] || strcmp(enable, manifest->enable_value) == 0;
}

/* The layers that VK_INSTANCE_LAYERS asks for and nobody has. names: of all manifests. */
static void tell_asked(hg_doctor *doctor, const hg_list *names)
{
    static const char variable[] = "VK_INSTANCE_LAYERS";
    const char *at = hg_doctor_variable(variable);

    while (at && *at) {
        const size_t length = strcspn(at, ":");
        char name[HG_NAME_SIZE];
        uint32_t i = 0;

        snprintf(name, sizeof(name), "%.*s", (int)(length < 250 ? length : 250), at);
        while (i < names->count && strcmp(names->paths[i], name) != 0)
            i++;
        if (length > 0 && i == names->count)
            hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, variable, "unset VK_INSTANCE_LAYERS",
                          "no such layer: %s", name);
        at += length;
        at += *at == ':';
    }
}

static hg_result load(layer_files *layers, const char *kind)
{
    hg_list folders = {.count = 0};
    hg_result res;

    HG_TRY(hg_search_vulkan(&folders, kind));
    for (uint32_t i = 0; i < folders.count; i++)
        HG_TRY(hg_list_add_folder(&layers->list, folders.paths[i], ".json"));
    for (uint32_t i = 0; i < layers->list.count; i++) {
        hg_manifest *manifest = &layers->manifests[i];

        hg_manifest_read(layers->list.paths[i], "layer", manifest);
        if (!manifest->wrong[0] && manifest->library[0])
            layers->questions[i].library = manifest->library;
    }
    res = hg_probe_all(layers->probes, hg_ask_layer, layers->questions, layers->list.count);
out:
    hg_list_free(&folders);
    return res;
}

/* All begin alike. */
static const char *short_name(const hg_manifest *manifest)
{
    static const char start[] = "VK_LAYER_";
    const size_t length = sizeof(start) - 1;

    return strncmp(manifest->name, start, length) == 0 && manifest->name[length]
               ? manifest->name + length
               : manifest->name;
}

/* A layer that is on is opened in every program that uses Vulkan. */
static void tell_implicit(hg_doctor *doctor, const layer_files *layers, uint32_t i)
{
    const hg_manifest *manifest = &layers->manifests[i];
    const hg_driver driver = {section, layers->list.paths[i], NULL, manifest->library,
                              &layers->probes[i]};
    const char *name = manifest->name[0] ? short_name(manifest) : hg_base_name(driver.file);
    const char *fail = hg_probe_text(driver.probe, "FAIL");
    char command[HG_COMMAND_SIZE], text[640], off[HG_NAME_SIZE + 32] = "";

    if (manifest->disable[0])
        snprintf(off, sizeof(off), "; %s=1 turns it off", manifest->disable);
    if (manifest->wrong[0])
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, name,
                      hg_driver_mend(doctor, &driver, 0, 1, command), "%s %s", driver.file,
                      manifest->wrong);
    else if (!is_on(manifest))
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, name, NULL, "off");
    else if (!manifest->library[0])
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, name, NULL, "on, made of other layers%s", off);
    else if (!driver.probe->ended) {
        if (doctor->layers_bad++ == 0)
            snprintf(doctor->layer_off, sizeof(doctor->layer_off), "%s", manifest->disable);
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, name,
                      hg_driver_mend(doctor, &driver, 0, 0, command), "on, and %s",
                      hg_probe_failure(driver.probe, text));
    } else if (fail)
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, name,
                      hg_driver_mend(doctor, &driver, 0, 1, command),
                      "on, and does not load, so it does nothing: %s", fail);
    else
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, name, NULL, "on in every program%s", off);
}

static void tell_validation(hg_doctor *doctor, const layer_files *layers)
{
    char command[HG_COMMAND_SIZE], text[640];
    uint32_t at = 0;

    while (at < layers->list.count && strcmp(layers->manifests[at].name, validation) != 0)
        at++;
    if (at == layers->list.count) {
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, "validation",
                      hg_doctor_install(doctor, "vulkan-validationlayers", command),
                      "no %s, which --validate needs; nothing else does", validation);
        return;
    }
    if (layers->probes[at].ended && !hg_probe_text(&layers->probes[at], "FAIL")) {
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, "validation", NULL,
                      "%s is there for --validate, of Vulkan %s", validation,
                      layers->manifests[at].api);
        return;
    }
    hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, "validation",
                  hg_doctor_reinstall(doctor, "vulkan-validationlayers", command),
                  "%s does not load, --validate will not work: %s", validation,
                  layers->probes[at].ended ? hg_probe_text(&layers->probes[at], "FAIL")
                                           : hg_probe_failure(&layers->probes[at], text));
}

static void tell_explicit(hg_doctor *doctor, const layer_files *layers)
{
    char names[1024] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < layers->list.count && used < sizeof(names) - HG_NAME_SIZE - 8; i++) {
        const hg_manifest *manifest = &layers->manifests[i];

        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s%s", used ? ", " : "",
                                 manifest->wrong[0] ? hg_base_name(layers->list.paths[i])
                                                    : manifest->name,
                                 manifest->wrong[0] ? " (broken file)" : "");
    }
    if (used)
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, "on request", NULL, "%s", names);
    tell_validation(doctor, layers);
}

/* Folders of variables come before those of the system. */
static hg_result add_named(layer_files *layers)
{
    static const char *const variables[] = {"VK_LAYER_PATH", "VK_ADD_LAYER_PATH"};
    hg_result res = HG_OK;

    for (int i = 0; i < 2 && res == HG_OK; i++) {
        const char *value = hg_doctor_variable(variables[i]);

        res = value ? hg_list_add_parts(&layers->list, value, ".json") : HG_OK;
    }
    return res;
}

static hg_result look(hg_doctor *doctor, const char *kind, layer_files *layers, hg_list *names)
{
    hg_result res = HG_ERR_HOST_MEMORY;

    layers->manifests = calloc(HG_LIST_MAX, sizeof(*layers->manifests));
    layers->probes = calloc(HG_LIST_MAX, sizeof(*layers->probes));
    if (layers->manifests && layers->probes)
        res = strcmp(kind, "explicit_layer.d") == 0 ? add_named(layers) : HG_OK;
    if (res == HG_OK)
        res = load(layers, kind);
    for (uint32_t i = 0; res == HG_OK && i < layers->list.count; i++) {
        if (layers->manifests[i].name[0])
            res = hg_list_add(names, layers->manifests[i].name);
    }
    if (res == HG_OK && strcmp(kind, "explicit_layer.d") == 0)
        tell_explicit(doctor, layers);
    for (uint32_t i = 0;
         res == HG_OK && strcmp(kind, "implicit_layer.d") == 0 && i < layers->list.count; i++)
        tell_implicit(doctor, layers, i);
    for (uint32_t i = 0; layers->probes && i < HG_LIST_MAX; i++)
        hg_probe_free(&layers->probes[i]);
    free(layers->probes);
    free(layers->manifests);
    hg_list_free(&layers->list);
    memset(layers, 0, sizeof(*layers));
    return res;
}

void hg_doctor_layers(hg_doctor *doctor)
{
    layer_files *layers = calloc(1, sizeof(*layers));
    hg_list names = {.count = 0};
    hg_result res = HG_ERR_HOST_MEMORY;

    hg_message_status("looking at layers");
    if (layers)
        res = look(doctor, "implicit_layer.d", layers, &names);
    if (layers && res == HG_OK)
        res = look(doctor, "explicit_layer.d", layers, &names);
    if (res == HG_OK)
        tell_asked(doctor, &names);
    hg_list_free(&names);
    if (doctor->result == HG_OK)
        doctor->result = res;
    free(layers);
}
