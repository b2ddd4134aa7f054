#!/bin/sh
# SPDX-License-Identifier: MIT
# MODEL: folders, the Hugging Face cache, and files that are missing or broken (exit code 4).
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"
mkdir empty

refuses 4 'no such folder' inspect /nonexistent/model
refuses 4 'empty' inspect empty
refuses 4 'baseline' inspect "$samples"
code 4 inspect owner/name
says 'hf download owner/name'
for broken in config-not-json config-zero-layers st-truncated-header bin-random-bytes lfs-pointer; do
    [ -d "$reference/bad/$broken" ] || continue
    code 4 inspect "$reference/bad/$broken"
    says '^headgate: error: '
done
for broken in "$reference"/bad/*; do
    grep -q '"expect": "error"' "$broken/case.json" || continue
    grep -q '"tokenizer\.' "$broken/case.json" && continue
    [ "$(basename "$broken")" = index-outside ] && continue
    code 4 inspect "$broken"
done
ok 'nothing of a checkpoint was run' sh -c '! find "$1" . -name PWNED | grep -q .' sh "$reference/bad"

code 0 inspect "$samples/gate_headwise"
prints '^gate +headwise'
prints '^heads +4 over 2 KV heads, head_dim 128'
code 0 inspect "$samples/gate_elementwise" --scan --json
is kind inspect
is schema 1
is gate elementwise
is gate_dim 128
is parameters 1706112
is scan.nan 0
is files.# 1
is tensors.0.used true

# The cache of the Hugging Face hub, in the order in which its variables count.
hub() { # hub FOLDER: a cache that holds owner/name
    mkdir -p "$1/models--owner--name/refs" "$1/models--owner--name/snapshots/0123456789abcdef/headwise"
    printf 0123456789abcdef >"$1/models--owner--name/refs/main"
    cp "$samples"/gate_headwise/* "$1/models--owner--name/snapshots/0123456789abcdef/headwise/"
}
hub "$work/a"
checks=$((checks + 4))
HF_HUB_CACHE=$work/a "$headgate" inspect owner/name:headwise >"$work/out" 2>"$work/err" || fail 'HF_HUB_CACHE'
HF_HUB_CACHE=$work/a HF_HOME=/none "$headgate" inspect owner/name@main:headwise >"$work/out" 2>"$work/err" ||
    fail 'HF_HUB_CACHE counts before HF_HOME'
HF_HUB_CACHE=$work/a "$headgate" inspect owner/name >"$work/out" 2>"$work/err"
[ $? = 4 ] || fail 'a snapshot of sub-folders needs :folder'
says 'headwise'
mkdir home && mv a home/hub
HF_HOME=$work/home "$headgate" inspect owner/name:headwise >"$work/out" 2>"$work/err" || fail 'HF_HOME/hub'
mkdir -p "$XDG_CACHE_HOME/huggingface" && mv home/hub "$XDG_CACHE_HOME/huggingface/hub"
code 0 inspect owner/name:headwise
code 0 map owner/name:headwise --ids 1,2 --device "$selector" -q
ok 'the figure has the name of the folder' test -s headwise_selected_layer_attention_maps.png

# The sha256 of the weights: computed, remembered, noticed when the file changes, taken from the name of a blob.
cp -r "$samples/baseline" copy
touch -d '2001-02-03' copy/model.safetensors
code 0 map copy --ids 1 --json --device "$selector"
is provenance.weights_sha256 "$(sha256sum copy/model.safetensors | cut -d' ' -f1)"
ok 'the sum is remembered' sh -c 'grep -rql "$(sha256sum copy/model.safetensors | cut -d" " -f1)" "$1"' sh \
    "$XDG_CACHE_HOME/headgate/weights"
cp "$samples/gate_headwise/model.safetensors" "$samples/gate_headwise/config.json" copy/
touch -d '2001-02-03' copy/model.safetensors
code 0 map copy --ids 1 --json --device "$selector"
is provenance.weights_sha256 "$(sha256sum copy/model.safetensors | cut -d' ' -f1)"
blob=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
mkdir blobs && mv copy/model.safetensors "blobs/$blob" && ln -s "../blobs/$blob" copy/model.safetensors
code 0 map copy --ids 1 --json --device "$selector"
is provenance.weights_sha256 $blob
cp -r "$reference/models/file-st-sharded" sharded
code 0 map sharded --ids 1 --json --device "$selector"
is provenance.weights_sha256 "$(cd sharded && sha256sum model-*.safetensors | sha256sum | cut -d' ' -f1)"

# The cache folder is private and tagged, and nothing depends on it.
ok 'the cache has a tag' grep -q '^Signature: 8a477f597d28d172789f06886806bc55' "$XDG_CACHE_HOME/headgate/CACHEDIR.TAG"
ok 'the cache is private' sh -c '[ "$(stat -c %a "$1")" = 700 ]' sh "$XDG_CACHE_HOME/headgate"
checks=$((checks + 2))
XDG_CACHE_HOME=/proc/none "$headgate" map "$samples/baseline" --ids 1 --device "$selector" -o nocache.png \
    >"$work/out" 2>"$work/err" || fail 'a cache that cannot be made is no error'
HOME='' XDG_CACHE_HOME=relative "$headgate" map "$samples/baseline" --ids 1 --device "$selector" -o nocache.png \
    >"$work/out" 2>"$work/err" || fail 'no cache at all is no error'
ok 'a relative XDG_CACHE_HOME is not used' test ! -e relative
nothing_left
finish
