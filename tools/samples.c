/* SPDX-License-Identifier: MIT */
/* Where the samples are. */
#include "samples.h"

#include "message.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char hg_demo_prompt[] = "Sparse gating mechanism mitigates attention sink.";

static int is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int hg_samples_look(char out[HG_PATH_SIZE])
{
    static const char installed[] = "/../share/headgate/samples";
    ssize_t length = readlink("/proc/self/exe", out, HG_PATH_SIZE - sizeof(installed));

    if (length > 0) {
        char *slash;

        out[length] = '\0';
        slash = strrchr(out, '/');
        if (slash) {
            memcpy(slash, installed, sizeof(installed));
            if (is_folder(out))
                return 1;
        }
    }
    snprintf(out, HG_PATH_SIZE, "%s", HG_SAMPLES_SOURCE);
    return is_folder(out);
}

hg_result hg_samples_find(const hg_args *args, char out[HG_PATH_SIZE])
{
    const char *given = hg_args_value(args, HG_OPTION_SAMPLES);

    if (given) {
        if (!is_folder(given))
            return hg_message_fail(HG_ERR_FILE, "--samples %s: there is no such folder", given);
        snprintf(out, HG_PATH_SIZE, "%s", given);
        return HG_OK;
    }
    if (hg_samples_look(out))
        return HG_OK;
    return hg_message_fail(
        HG_ERR_FILE,
        "the sample models are neither beside the program nor in %s; name their folder "
        "with --samples DIR",
        HG_SAMPLES_SOURCE);
}
