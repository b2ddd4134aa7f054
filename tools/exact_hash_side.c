/* SPDX-License-Identifier: MIT */
/* See exact_hash_side.h. */
#include "exact_hash_side.h"

#include <stdio.h>
#include <string.h>

static int is_as_shipped(const hg_exact_hash *hash, const hg_shipped *shipped)
{
    return strcmp(hash->all, shipped->all) == 0 && strcmp(hash->logits, shipped->logits) == 0 &&
           strcmp(hash->maps, shipped->maps) == 0;
}

hg_hash_verdict hg_hash_judge(const hg_hash_side *side, const hg_hash_oracle *oracle)
{
    if (side->result != HG_OK)
        return HG_HASH_NOT_RUN;
    if (oracle->shipped->listed)
        return is_as_shipped(&side->hash, oracle->shipped) ? HG_HASH_AS_SHIPPED : HG_HASH_DIFFERENT;
    return strcmp(side->hash.all, oracle->first->hash.all) == 0 ? HG_HASH_UNLISTED : HG_HASH_APART;
}

const char *hg_hash_verdict_text(const hg_hash_side *side, const hg_hash_oracle *oracle,
                                 char text[64])
{
    static const char *const names[] = {"as shipped", "not listed",
                                        "different from the shipped hash",
                                        "not listed, different from ", "did not run"};
    const hg_hash_verdict verdict = hg_hash_judge(side, oracle);

    snprintf(text, 64, "%s%s", names[verdict],
             verdict == HG_HASH_APART ? oracle->first->selector : "");
    return text;
}

hg_result hg_hash_side_print(const hg_app *app, hg_output *output, const hg_hash_side *side,
                             const hg_hash_oracle *oracle, uint32_t tokens)
{
    const hg_exact_hash *hash = &side->hash;
    char text[64];
    hg_result res;

    if (side->result != HG_OK)
        return hg_output_format(output, "device %s\nverdict did not run\n", side->label);
    HG_TRY(hg_output_format(output, HG_EXACT_REVISION " logits %s\n", hash->logits));
    for (uint32_t i = 0; i < hash->layer_count && hg_args_count(app->args, HG_OPTION_VERBOSE); i++)
        HG_TRY(
            hg_output_format(output, HG_EXACT_REVISION " layer-%u %s\n", i + 1, hash->layers[i]));
    HG_TRY(hg_output_format(output, HG_EXACT_REVISION " maps %s\n", hash->maps));
    HG_TRY(hg_output_format(output, HG_EXACT_REVISION " all %s\n", hash->all));
    HG_TRY(hg_output_format(output, "weights %s\ntokens %u\ndevice %s, %s\nverdict %s\n",
                            side->provenance.weights_sha256, tokens, side->provenance.device,
                            side->provenance.driver, hg_hash_verdict_text(side, oracle, text)));
out:
    return res;
}

void hg_hash_put_sums(hg_put *put, const char *key, const char *logits, const char *maps,
                      const char *all)
{
    hg_put_object(put, key);
    hg_put_text(put, "logits", logits);
    hg_put_text(put, "maps", maps);
    hg_put_text(put, "all", all);
    hg_put_end(put);
}

void hg_hash_side_put(const hg_hash_side *side, const hg_hash_oracle *oracle, hg_put *put)
{
    const hg_exact_hash *hash = &side->hash;
    char text[64];

    if (side->result == HG_OK)
        hg_hash_put_sums(put, "sha256", hash->logits, hash->maps, hash->all);
    else
        hg_put_null(put, "sha256");
    hg_put_array(put, "layers");
    for (uint32_t i = 0; i < hash->layer_count; i++)
        hg_put_text(put, NULL, hash->layers[i]);
    hg_put_end(put);
    hg_put_text(put, "verdict", hg_hash_verdict_text(side, oracle, text));
    if (oracle->shipped->listed)
        hg_hash_put_sums(put, "shipped", oracle->shipped->logits, oracle->shipped->maps,
                         oracle->shipped->all);
    else
        hg_put_null(put, "shipped");
    if (side->result == HG_OK)
        hg_provenance_put(&side->provenance, put);
    else
        hg_put_null(put, "provenance");
}
