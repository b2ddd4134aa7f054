#!/bin/sh
# SPDX-License-Identifier: MIT
# What belongs to somebody stays: the run's own inputs, what is behind a link, the shell's own file; a killed run leaves nothing, and a
# cache that holds a pipe makes nobody wait.
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"
cp -r "$samples/baseline" model && chmod -R u+w model
model=model

# An output that is an input is refused, and the input is as it was.
for target in model.safetensors config.json tokenizer.json; do
    sum=$(cksum <model/$target)
    case $target in *.json) format=json ;; *) format=png ;; esac
    refuses 2 'read by this command' map "$model" --ids 1 --device "$selector" --format $format -o model/$target
    refuses 2 'read by this command' logits "$model" --ids 1 --device "$selector" --dump model/$target
    ok "$target is as it was" [ "$(cksum <model/$target)" = "$sum" ]
done
echo hello >prompt.txt
ln -s prompt.txt alias.txt
refuses 2 'read by this command' map "$model" --prompt-file prompt.txt --device "$selector" --format svg -o alias.txt
ok 'the prompt is as it was' [ "$(cat prompt.txt)" = hello ]

# Links stay links, also those that lead to nothing yet; circles are told.
ln -s later.png link.png
code 0 map "$model" --ids 1 --device "$selector" -o link.png
ok 'the link is a link' [ -L link.png ]
ok 'the file behind it is there' [ -s later.png ]
ln -s circle.png circle.png
refuses 7 'symbolic links' map "$model" --ids 1 --device "$selector" -o circle.png
ok 'the circle is a link' [ -L circle.png ]

# /dev/stdout is the shell's file: written on, not replaced.
(
    echo before
    "$headgate" map "$model" --ids 1 --device "$selector" --format json -o /dev/stdout 2>"$work/err"
    echo after
) >shell.txt
ok 'what the shell wrote before' grep -qx before shell.txt
ok 'what the shell wrote after' grep -qx after shell.txt
ok 'the map between' grep -q '"schema"' shell.txt

# Killed in the middle: no file, no part of one.
mkdir killed
"$headgate" map "$samples/baseline" --prompt-file "$sources/ARCHITECTURE.md" --device ref --exact --threads 1 -o killed/x.png 2>"$work/err" &
pid=$!
sleep 0.3
kill -KILL $pid 2>/dev/null
wait $pid 2>/dev/null
nothing_left killed

# Weights that somebody cuts short while they are read: an error in words, or a whole picture when the cut came too late.
cp -r model cut && rm -rf "$XDG_CACHE_HOME"
("$headgate" map cut --prompt "$prompt" --device ref --threads 1 -o cut.png >"$work/out" 2>"$work/err"; echo $? >status) &
sleep 0.05
: >cut/model.safetensors
wait
status=$(cat status)
checks=$((checks + 1))
case $status in 0 | 4) ;; *) fail "weights cut short: exit code $status" ;; esac
[ "$status" = 0 ] || says '^headgate: error: '
nothing_left .

# A pipe under the name of a cache entry.
code 0 map "$model" --ids 1 --device "$selector" -o first.png
sleep 2.1 # sums of files that changed within two seconds are not kept
code 0 map "$model" --ids 1 --device "$selector" -o first.png
entries=0
for entry in "$XDG_CACHE_HOME"/headgate/weights/*; do
    [ -f "$entry" ] || continue
    rm "$entry" && mkfifo "$entry"
    entries=$((entries + 1))
done
ok 'a sum was kept' [ $entries -gt 0 ]
checks=$((checks + 1))
timeout 20 "$headgate" map "$model" --ids 1 --device "$selector" -o second.png 2>"$work/err" || fail 'a pipe in the cache'
finish
