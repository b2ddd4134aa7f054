/* SPDX-License-Identifier: MIT */
/* Provenance as facts of a figure, JSON and a footer. The sha256 is made in digest.c. */
#include "provenance.h"

#include <stdio.h>
#include <string.h>

hg_result hg_provenance_fill(const hg_app *app, const hg_source *source, const hg_machine *machine,
                             const hg_prompt *prompt, hg_weights_digest *digest, hg_provenance *out)
{
    memset(out, 0, sizeof(*out));
    out->model = source->spelling;
    snprintf(out->device, sizeof(out->device), "%s [%s]", machine->device.name,
             machine->device.selector);
    hg_driver_label(&machine->device, out->driver);
    out->precision = hg_precision_name(machine->precision);
    out->limits = hg_args_value(app->args, HG_OPTION_LIMITS);
    out->command = app->command_line;
    out->text = prompt ? prompt->text : NULL;
    out->weights_sha256 = out->sha256;
    return hg_weights_digest_wait(digest, out->sha256);
}

uint32_t hg_provenance_facts(const hg_provenance *provenance, hg_figure_fact facts[HG_FACT_COUNT])
{
    uint32_t count = 0;

    facts[count++] = (hg_figure_fact){"Software", HG_PROGRAM_VERSION};
    facts[count++] = (hg_figure_fact){"Model", provenance->model};
    facts[count++] = (hg_figure_fact){"Weights SHA-256", provenance->weights_sha256};
    facts[count++] = (hg_figure_fact){"Device", provenance->device};
    facts[count++] = (hg_figure_fact){"Driver", provenance->driver};
    facts[count++] = (hg_figure_fact){"Precision", provenance->precision};
    if (provenance->limits)
        facts[count++] = (hg_figure_fact){"Limits", provenance->limits};
    facts[count++] = (hg_figure_fact){"Command", provenance->command};
    if (provenance->text)
        facts[count++] = (hg_figure_fact){"Prompt", provenance->text};
    return count;
}

void hg_provenance_put(const hg_provenance *provenance, hg_put *put)
{
    hg_put_object(put, "provenance");
    hg_put_text(put, "version", HG_VERSION_STRING);
    hg_put_text(put, "exact_revision", HG_EXACT_REVISION);
    hg_put_text(put, "model", provenance->model);
    hg_put_text(put, "weights_sha256", provenance->weights_sha256);
    hg_put_text(put, "device", provenance->device);
    hg_put_text(put, "driver", provenance->driver);
    hg_put_text(put, "precision", provenance->precision);
    hg_put_text(put, "limits", provenance->limits);
    hg_put_text(put, "command", provenance->command);
    hg_put_end(put);
}

void hg_provenance_footer(const hg_provenance *provenance, char *text, size_t bytes)
{
    snprintf(text, bytes, "headgate %s, %s on %s (%s); weights sha256 %.16s", HG_VERSION_STRING,
             provenance->precision, provenance->device, provenance->driver,
             provenance->weights_sha256);
}
