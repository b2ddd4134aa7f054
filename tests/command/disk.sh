#!/bin/sh
# SPDX-License-Identifier: MIT
# Outputs are whole or absent: full disks, folders that cannot be written, links, modes, pipes (exit code 7).
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"
model=$samples/baseline

refuses 7 'cannot write' map "$model" --ids 1 --device "$selector" -o /proc/none/x.png
refuses 7 'cannot write' map "$model" --ids 1 --device "$selector" -o "$model/config.json/x.png"
refuses 7 'cannot write' map "$model" --ids 1 --device "$selector" -o none/x.png
mkdir folder.png
refuses 7 'it is a folder' map "$model" --ids 1 --device "$selector" -o folder.png
refuses 7 'name .* is empty' map "$model" --ids 1 --device "$selector" --format png -o ''
refuses 7 'No space left' map "$model" --ids 1 --device "$selector" --format png -o /dev/full
refuses 7 'No space left' logits "$model" --ids 1 --device "$selector" --dump /dev/full
refuses 7 'cannot make the folder' demo --device "$selector" -o "$model/config.json/x"
if [ "$(id -u)" != 0 ]; then
    mkdir locked && chmod 555 locked
    refuses 7 'Permission denied' map "$model" --ids 1 --device "$selector" -o locked/x.png
fi

# A small file system: the picture does not fit, and nothing of it stays.
for arguments in 'devices' 'devices --json' '--help' 'map --help' '--version' "inspect $model" "inspect $model --json" \
    "tokenize $model x" "detokenize $model --ids 1" "logits $model --ids 1 --device $selector" \
    "logits $model --ids 1 --device $selector --dump -" "metrics $model --ids 1 --device $selector" \
    "metrics $model --ids 1 --device $selector --json" "map $model --ids 1 --device $selector --json" \
    "map $model --ids 1 --device $selector -o - --format png" "exact-hash $model --device $selector" \
    "exact-hash $model --ids 1 --device $selector --json" "bench $model -p 1 -n 1 -r 1 --device $selector"; do
    checks=$((checks + 1))
    # shellcheck disable=SC2086
    "$headgate" $arguments >/dev/full 2>"$work/err"
    found=$?
    [ $found = 7 ] || fail "headgate $arguments >/dev/full: exit code $found, expected 7"
    says '^headgate: error: cannot write standard output: No space left'
done
checks=$((checks + 1))
(
    ulimit -f 8
    trap '' XFSZ
    "$headgate" map "$model" --prompt "$prompt" --device "$selector" -o limited.png
) >"$work/out" 2>"$work/err"
[ $? = 7 ] || fail 'a file that may not grow is exit code 7'
ok 'nothing of a picture that did not fit' test ! -e limited.png

# A file that was there stays as it was when a run fails, and keeps its mode and its links when one succeeds.
printf old >kept.png
refuses 3 'no device' map "$model" --ids 1 --device vk:77 -o kept.png
ok 'the old file is whole' sh -c '[ "$(cat kept.png)" = old ]'
chmod 640 kept.png
ln -s kept.png link.png
code 0 map "$model" --ids 1 --device "$selector" -o link.png
ok 'a link stays a link' test -L link.png
ok 'the file behind it is new' sh -c '! grep -q "^old$" kept.png'
ok 'its mode is kept' sh -c '[ "$(stat -c %a kept.png)" = 640 ]'
(
    umask 027
    "$headgate" map "$model" --ids 1 --device "$selector" -q -o masked.png
)
ok 'a new file has the mode of the umask' sh -c '[ "$(stat -c %a masked.png)" = 640 ]'
long=$(printf '%0251d' 0)
code 0 map "$model" --ids 1 --device "$selector" -q -o "$long.png"
ok 'the longest name' test -s "$long.png"
code 0 map "$model" --ids 1 --device "$selector" --format png -o /dev/null
ok '/dev/null is no file of ours' test -c /dev/null

# Pipes: a reader that goes away ends us without a word.
checks=$((checks + 2))
{
    "$headgate" inspect "$model" --json 2>"$work/err"
    echo $? >status
} | head -c 1 >/dev/null
[ ! -s "$work/err" ] || fail 'a closed pipe is no error'
case $(cat status) in 0 | 141) ;; *) fail "a closed pipe ended with $(cat status)" ;; esac
checks=$((checks + 1))
"$headgate" devices >&- 2>"$work/err" # goes to /dev/null instead
found=$?
[ $found = 0 ] || fail "closed standard output: exit code $found, expected 0"
nothing_left
finish
