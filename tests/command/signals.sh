#!/bin/sh
# SPDX-License-Identifier: MIT
# SIGINT and SIGTERM during a run: 130 and 143, and nothing is left behind.
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"
model=$samples/gate_headwise
command -v timeout >/dev/null || { echo 'no timeout command'; exit 77; }

# A prompt that takes the reference far longer than the signal.
i=0
while [ $i -lt 12000 ]; do
    printf '%d,' $((i * 7 % 2048))
    i=$((i + 1))
done >long.ids

return=$(printf '\r')
stopped() { # stopped SIGNAL CODE ARGUMENTS...
    signal=$1 expected=$2
    shift 2
    checks=$((checks + 1))
    timeout --preserve-status -k 30 -s "$signal" 1 "$headgate" "$@" <long.ids >"$work/out" 2>"$work/err"
    found=$?
    [ $found = "$expected" ] || fail "SIG$signal during headgate $1: exit code $found, expected $expected"
    checks=$((checks + 1))
    [ ! -s "$work/out" ] || fail "SIG$signal during headgate $1: half a result on standard output"
    checks=$((checks + 1))
    ! grep -q "$return" "$work/err" || fail "progress in a file"
    nothing_left
}
stopped INT 130 map "$model" --ids - --device "$selector" -o stopped.png
stopped TERM 143 map "$model" --ids - --device "$selector" -o stopped.png
stopped HUP 129 map "$model" --ids - --device "$selector" -o stopped.png
stopped INT 130 map "$model" --ids - --device "$selector" --json
stopped INT 130 logits "$model" --ids - --device "$selector" --dump stopped.safetensors --what all
stopped INT 130 exact-hash "$model" --ids - --device "$selector"
stopped TERM 143 metrics "$model" --ids - --device "$selector"
stopped INT 130 bench "$model" -p 12000 -n 0 --device "$selector"
ok 'no picture' test ! -e stopped.png
ok 'no tensors' test ! -e stopped.safetensors
ok 'an interrupt is no error' sh -c '! grep -q error: "$1"' sh "$work/err"

# Many prompts: those that were drawn are whole pictures, and a list on standard output is whole or not there.
i=0
while [ $i -lt 300 ]; do
    i=$((i + 1))
    echo '[1]'
done >many.jsonl
stopped INT 130 map "$model" --prompts many.jsonl --device "$selector" -o many
found=$(find many -name '*.png' | wc -l)
ok 'not all of them were drawn' [ "$found" -lt 300 ]
for picture in many/*.png; do
    [ ! -e "$picture" ] || ok "$picture is whole" sh -c 'tail -c 12 "$1" | grep -q IEND' sh "$picture"
done
awk 'BEGIN { for (p = 0; p < 400; p++) { printf "["; for (i = 0; i < 200; i++) printf "%s%d", i ? "," : "", (i * 7 + p) % 2048; print "]" } }' >more.jsonl
stopped INT 130 map "$model" --prompts more.jsonl --device "$selector" --json
stopped TERM 143 metrics "$model" --prompts more.jsonl --device "$selector"

# Progress on a terminal, from the first second on, and none with -q.
if has_terminals; then
    watched() { # watched OPTION...
        checks=$((checks + 1))
        TERM=xterm timeout -k 30 60 script -qec "timeout -s INT 4 $headgate map $* $model --prompt-file long.text \
            --device $selector -o stopped.png" /dev/null >"$work/out" 2>"$work/err" </dev/null
    }
    sed 's/[0-9]*,/word /g' long.ids >long.text
    watched --no-special
    grep -Eq '[0-9]%' "$work/out" || fail 'no progress on a terminal'
    watched -q
    ! grep -Eq '[0-9]%' "$work/out" || fail 'progress in spite of -q'
else
    echo "skipped: two checks of progress need the program 'script' and pseudo-terminals"
fi

# While standard input gives nothing.
mkfifo pipe
sleep 30 >pipe &
writer=$!
checks=$((checks + 1))
timeout --preserve-status -k 30 -s INT 1 "$headgate" tokenize "$model" - <pipe >"$work/out" 2>"$work/err"
found=$?
[ $found = 130 ] || fail "SIGINT while reading: exit code $found, expected 130"
kill $writer

# nohup asks us to live.
checks=$((checks + 1))
(
    trap '' HUP
    "$headgate" bench "$model" -p 256 -n 0 -r 10 --device "$selector" >"$work/out" 2>"$work/err" &
    sleep 1
    kill -HUP $!
    wait $!
    echo $? >status
)
[ "$(cat status)" = 0 ] && [ -s "$work/out" ] || fail 'SIGHUP that is ignored does not stop a run'

# A second signal ends the program at once, without a file left behind.
checks=$((checks + 1))
"$headgate" map "$model" --ids - --device "$selector" -o stopped.png <long.ids >"$work/out" 2>"$work/err" &
sleep 1
kill -TERM $! 2>/dev/null
kill -TERM $! 2>/dev/null
wait $!
found=$?
[ $found = 143 ] || fail "two SIGTERM: exit code $found, expected 143"
ok 'no picture after two signals' test ! -e stopped.png
nothing_left
finish
