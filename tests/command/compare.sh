#!/bin/sh
# SPDX-License-Identifier: MIT
# headgate compare: verdicts, exit codes, records from elsewhere, children that are killed.
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"
model=$samples/gate_headwise

# last PATTERN: the last line on standard output is the verdict.
last() {
    checks=$((checks + 1))
    tail -n 1 "$work/out" | grep -Eq -- "$1" || fail "the last line is not: $1"
}
# children_of PID: its processes
children_of() { tr ' ' '\n' <"/proc/$1/task/$1/children" 2>/dev/null; }
# alive PID: neither gone nor waiting to be buried by a process that is none of ours
alive() { [ -e "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }

# A device with a driver: against the reference, against itself, and by a record.
if [ "$selector" != ref ]; then
    "$headgate" devices --json >"$work/out" 2>"$work/err"
    if ! grep -q "\"selector\": \"$selector\"" "$work/out"; then
        echo "no device $selector on this machine"
        exit 77
    fi
    code 0 compare "$model" --prompt "$prompt" --device "$selector"
    last "^same within rounding: $selector differs from ref by [0-9.]+ x what float32 rounding does here \(16 x is allowed\), and no kernel alone is off by more than 0[0-9.]* of its error bound \([a-z_]+(, layer [1-4])?\)$"
    code 0 compare "$model" --prompt "$prompt" --exact --device "$selector" --device ref --replay 2
    last "^same bits: $selector and ref agree in all [0-9]+ stages$"
    ok 'runs of each' [ "$(grep -c '^ *2 runs: same bits$' "$work/out")" = 2 ]
    code 0 compare "$model" --prompt "$prompt" --device ref --device all@exact --json -o all.html
    is devices.1.device "$selector@exact"
    is devices.2.device ref@exact
    is verdict 'same within rounding'
    code 0 compare "$model" --prompt "$prompt" --device "$selector/T0@exact" --save device.hgr
    code 0 compare "$model" --load device.hgr --device ref@exact --device "$selector@fp32"
    prints '^ref@exact +- +same bits$'
    code 0 compare "$model" --ids 7 --device "$selector" --device ref --validate
    nothing_left
    finish
fi

# One device alone is compared with the reference in double; --exact is within rounding of it.
code 0 compare "$model" --prompt "$prompt" --device ref
last '^same bits: ref and ref agree in all 87 stages$'
prints '^ref +- +baseline; same bits as the reference in double$'
prints 'TOKENS/S: a prompt this short tells no speed; `headgate bench` does'
code 0 compare "$model" --prompt "$prompt" --device ref@exact
last '^same within rounding: ref@exact differs from ref by 1\.[0-9] x what float32 rounding does here \(16 x is allowed\), and no kernel alone is off by more than 0\.[0-9]+ of its error bound \([a-z_]+, layer [1-4]\)$'
ok 'the sentence is there once' [ "$(grep -c 'what float32 rounding does here' "$work/out")" = 1 ]
code 0 compare "$model" --prompt "$prompt" --exact --device ref --device ref
last '^same bits: ref and ref agree'
prints '^ref +- +baseline; same within rounding of the reference in double$'
code 0 compare "$model" --prompt "$prompt" --device ref --device ref@exact --device ref/T0@exact --device ref/T0
last '^same within rounding: ref@exact and ref/T0@exact differ from ref by .*; ref/T0 has the bits of ref$'
prints '^every stage has the bits of ref@exact: see there$'
code 0 compare "$model" --ids 1,2,3 --device ref@exact --device ref/T0@exact --threads 1
last '^same bits: ref@exact and ref/T0@exact agree in all 87 stages$'
prints '^ref/T0@exact +- +same bits$'
code 0 compare "$model" --ids 1,2,3 --device ref --device ref@exact -v
prints '^attn_probs +4 '
prints '^STAGE +LAYER +ROUNDINGS +ISOLATED +MAX DIFF +DIFFER +NMSE +1-COS +AT$'
prints '^  ROUNDINGS +how far the stage is away'
prints 'lists agree 100 %'
ok 'the table fits 100 columns' awk '!/^same/ && length($0) > 104 { exit 1 }' "$work/out"
code 0 compare "$model" --ids 7 --device ref --device ref/T0@exact --replay 3
ok 'runs of each, the baseline too' [ "$(grep -c '^ *3 runs: same bits$' "$work/out")" = 2 ]
HG_DEVICE=ref code 0 compare "$model" --ids 1,2
last '^same bits: ref and ref agree'

# A terminal of 80 columns: no column, and no word of the legend, that is not there.
if has_terminals; then
    checks=$((checks + 1))
    script -qec "stty cols 80; $headgate compare $model --ids 1,2 --device ref --device ref@exact" /dev/null </dev/null 2>"$work/err" |
        tr -d '\r' | sed "s/.*$(printf '\033')\[K//" >"$work/out" # without the line of progress
    prints '^STAGE +LAYER +ROUNDINGS +ISOLATED +MAX DIFF +AT$'
    if grep -Eq 'DIFFER|NMSE|1-COS' "$work/out"; then fail 'a column that is not there is in the legend'; fi
    ok 'the table fits 80 columns' awk '!/^same|^headgate/ && length($0) > 84 { exit 1 }' "$work/out"
fi

# A speed is told from 32 tokens on, and pieces by their tokens.
ids=1
i=1
while [ $i -lt 140 ]; do
    ids=$ids,$((i * 7 % 2048))
    i=$((i + 1))
done
code 0 compare "$model" --ids "$ids" --device ref --device ref@exact -v -o pieces.html
prints '^ref@exact +[0-9.]+ +same within rounding$'
prints 'prefill.*no stage is looked at'
prints '^tokens 1-128:$'
prints '^tokens 129-140:$'
ok 'pieces on the page' grep -q '<td>129-140</td>' pieces.html
ok 'pieces in the chart' grep -q '>tokens 1-128</text>' pieces.html
ok 'a speed on the page' grep -q 'tokens/s, prefill' pieces.html

# JSON, and a page.
code 0 compare "$model" --prompt "$prompt" --device ref --device ref@exact --json -o page.html
is schema 1
is kind compare
is verdict 'same within rounding'
is baseline ref
is 'devices.#' 2
is 'devices.0.stages.#' 87
is 'devices.1.stages.#' 87
is devices.0.verdict 'same bits'
is devices.0.role baseline
is devices.1.role compared
is devices.1.stages_measured 87
is devices.1.stages.0.end_to_end.roundings 0
is note null
is devices.1.precision exact
is devices.1.stages.0.stage embedding
is devices.1.stages.0.same_bits true
is devices.1.first_beyond null
is devices.1.logits.same_likeliest 1
ok 'a page' grep -q '<h1>.* Same within rounding</h1>' page.html
ok 'a page has an end' grep -q '</html>' page.html
for words in 'baseline; same bits as the reference in double' 'exact revision exact-1' '<h3>Repeatability</h3>' 'largest cell' \
    'within rounding</div>' '<dt>System</dt>' '<dt>Limits</dt>'; do
    ok "the page says $words" grep -q "$words" page.html
done
ok 'no speed on the page of a short prompt' sh -c '! grep -q "tokens/s" page.html'
POCL_DEVICES=some MESA_API_KEY=s3same code 0 compare "$model" --ids 1,2 --device ref --limits spec-minimum -o around.html
ok 'variables on the page' grep -q '<code>POCL_DEVICES=some</code>' around.html
ok 'no secret on the page' sh -c '! grep -q s3same around.html && grep -q "MESA_API_KEY=(set; not shown)" around.html'
ok 'limits on the page' grep -q '<dd>spec-minimum</dd>' around.html

# A device that does not run is a row; the others are judged.
code 1 compare "$model" --ids 1,2 --device ref --device ref@fast --device ref@exact
last "^did not run: ref@fast: precision fast rounds more than float32 does.*; the others: ref@exact same within rounding$"
prints '^ref@exact +- +same within rounding$'
code 1 compare "$model" --ids 1,2 --device ref@fast --device ref --json
is verdict 'did not run'
is baseline reference
is devices.1.verdict 'same bits'
code 6 compare "$model" --ids 1,2 --device ref@fast --save none.hgr
says 'so that nothing is saved'
ok 'nothing was saved' test ! -e none.hgr
# One that is not there is refused before anything runs.
refuses 3 "no device 'vk:77' can be used here; there are .*ref" compare "$model" --ids 1,2 --device ref --device vk:77
refuses 3 "no device 'ref@exac' can be used here" compare "$model" --ids 1 --device ref@exac --device ref/T7
refuses 2 'ends in .html' compare "$model" --ids 4 --device ref -o out.png

# Records: saved, loaded, with another prompt, of other weights.
code 0 compare "$model" --prompt "$prompt" --device ref --save here.hgr
code 0 compare "$model" --load here.hgr --device ref
last '^same bits: record and ref agree in all 87 stages$'
prints '^record +- +baseline; same bits as the reference in double$'
prints '^ +fp32, .*saved 20'
code 0 compare "$model" --load here.hgr --prompt "$prompt" --device ref@exact --json
is baseline record
is 'devices.#' 2
is devices.0.wall_s null
is devices.0.stages_measured 17
is devices.1.stages_measured 17
is devices.1.verdict 'same within rounding'
code 0 compare "$model" --load here.hgr --device ref --device ref@exact -o record.html
ok 'a page of a record' grep -q 'saved 20' record.html
for keep in none all logits,attn_out; do
    code 0 compare "$model" --ids 4,5,6 --device ref --save $keep.hgr --values $keep
    code 0 compare "$model" --load $keep.hgr --device ref
    last '^same bits: record and ref agree'
    code 0 compare "$model" --load $keep.hgr --device ref@exact --json -o $keep.html
done
# A record of other precision says so, and one of hashes claims no more than it can.
code 0 compare "$model" --load none.hgr --device ref@exact
last '^same within rounding as far as can be told: values of 0 of 87 stages are in the record, the others are hashes'
prints '^note: the record was made with fp32 and ref@exact ran with exact'
code 0 compare "$model" --load logits,attn_out.hgr --device ref@exact -o some.html
last '^same within rounding as far as can be told: values of 5 of 87 stages are in the record, the others are hashes.*; ref@exact differs from record by'
ok 'the page says so' grep -q '<h1>.*as far as can be told</h1>' some.html
code 0 compare "$model" --load all.hgr --device ref@exact
last '^same within rounding: ref@exact differs from record by'
ok 'hashes are smaller than values' sh -c '[ "$(wc -c <none.hgr)" -lt "$(wc -c <logits,attn_out.hgr)" ]'
refuses 2 "there is no stage 'logitz'" compare "$model" --ids 4 --device ref --save some.hgr --values logits,logitz
code 0 compare "$model" --ids 4,5,6 --device ref@exact --save exact.hgr --values none
code 0 compare "$model" --load exact.hgr --device ref/T0@exact
last '^same bits: '
refuses 2 'here.hgr was made for another prompt \(21 tokens, this one has 2\): leave out --prompt' compare "$model" --load here.hgr --ids 1,2 --device ref
refuses 2 'contradict' compare "$model" --load here.hgr --save x.hgr --device ref
refuses 4 'here.hgr was made with other weights' compare "$samples/baseline" --load here.hgr --device ref
refuses 4 'cannot be read' compare "$model" --load gone.hgr --device ref

# Other versions: a newer format is told; an older program, keys and parts that are unknown are fine. The last part is
# DONE, 20 bytes.
bytes=$(wc -c <none.hgr)
edit() { # edit FROM TO FILE: of the same length, in the first part
    LC_ALL=C sed "s/$1/$2/" none.hgr >"$3"
    ok "$3 was changed" sh -c '! cmp -s none.hgr "$1" && [ "$(wc -c <"$1")" = "$2" ]' sh "$3" "$bytes"
}
edit '^\(META.*\)format 1$' '\1format 9' newer.hgr
refuses 4 'newer format' compare "$model" --load newer.hgr --device ref
version=$("$headgate" --version | sed -n 's/^headgate //p')
edit "^program $version" "program $(echo "$version" | tr '0-9' '0')" older.hgr
code 0 compare "$model" --load older.hgr --device ref
edit '^driver-version ' 'driver-Version ' key.hgr
code 0 compare "$model" --load key.hgr --device ref
{
    head -c $((bytes - 20)) none.hgr
    printf 'NOTE\0\0\0\0\003\0\0\0\0\0\0\0abc'
    tail -c 20 none.hgr
} >part.hgr
code 0 compare "$model" --load part.hgr --device ref
last '^same bits: record and ref agree'
edit '^map-pool 1' 'map-pool 9' pool.hgr
refuses 4 'larger than its prompt' compare "$model" --load pool.hgr --device ref

# A damaged value is the record's fault, not the device's.
cp all.hgr damaged.hgr
printf '\377' | dd of=damaged.hgr bs=1 seek=$(($(wc -c <damaged.hgr) / 2)) conv=notrunc 2>/dev/null
refuses 4 'damaged.hgr is damaged|damaged.hgr is no record.*is broken' compare "$model" --load damaged.hgr --device ref

# Cut short, anywhere: refused before any device is asked.
at=0
while [ $at -lt "$bytes" ]; do
    head -c $at none.hgr >cut.hgr
    refuses 4 'cut\.hgr is no record of stages|cut\.hgr is not a \.hgr file' compare "$model" --load cut.hgr --device ref
    at=$((at * 3 / 2 + 7))
done

# What is no record.
: >empty.hgr
mkdir folder.hgr
mkfifo pipe.hgr
for path in empty.hgr folder.hgr pipe.hgr /dev/zero /dev/null "$model/config.json"; do
    checks=$((checks + 1))
    timeout 20 "$headgate" compare "$model" --load "$path" --device ref >"$work/out" 2>"$work/err"
    found=$?
    [ $found = 4 ] || fail "--load $path: exit code $found, expected 4"
    says "^headgate: error: $path is not a \.hgr file"
done

# Disks.
code 7 compare "$model" --ids 1 --device ref --save /proc/none/x.hgr
says 'cannot write'
code 7 compare "$model" --ids 1 --device ref --save /dev/full
says 'No space left'
code 7 compare "$model" --ids 1 --device ref -o /dev/full
says 'No space left'
refuses 2 'read by this command' compare "$model" --ids 1 --device ref --save "$model/model.safetensors"
checks=$((checks + 1))
"$headgate" compare "$model" --ids 1 --device ref >/dev/full 2>"$work/err"
[ $? = 7 ] || fail 'a full standard output is exit code 7'
if [ "$(id -u)" != 0 ]; then
    mkdir locked && chmod 555 locked
    refuses 7 'Permission denied' compare "$model" --ids 1 --device ref --save locked/x.hgr
fi
TMPDIR=$work/none refuses 7 'no temporary file can be made.*TMPDIR' compare "$model" --ids 1 --device ref
checks=$((checks + 1))
(
    ulimit -f 64
    trap '' XFSZ
    "$headgate" compare "$model" --prompt "$prompt" --device ref --save limited.hgr
) >"$work/out" 2>"$work/err"
[ $? = 7 ] || fail 'a temporary file that may not grow is exit code 7'
says 'cannot grow beyond'
ok 'nothing of it' test ! -e limited.hgr

# Options.
refuses 2 'from 1 to' compare "$model" --ids 1 --replay 0
refuses 2 'from 1 to' compare "$model" --ids 1 --timeout 0
refuses 2 'needs a prompt' compare "$model" --device ref
refuses 2 'contradict' compare "$model" --ids 1 --device ref@fp32 --exact
refuses 2 'did you mean --replay' compare "$model" --ids 1 --repla 2
refuses 2 'has no option --top' compare "$model" --ids 1 --top 2
refuses 4 'none' compare none --ids 1 --device ref
checks=$((checks + 1))
set --
i=0
while [ $i -lt 70 ]; do
    set -- "$@" --device ref
    i=$((i + 1))
done
refuses 2 'at most 64 devices' compare "$model" --ids 1 "$@"

# Children. A prompt that takes the reference a while.
i=0
ids=1
while [ $i -lt 100 ]; do
    ids=$ids,$((i * 7 % 2048))
    i=$((i + 1))
done

# wait_for N PID: until the N-th child of PID is there; its id in $child
wait_for() {
    child='' count=0
    while [ $count -lt "$1" ] && alive "$2"; do
        next=$(children_of "$2" | head -n 1)
        if [ -n "$next" ] && [ "$next" != "$child" ]; then
            child=$next
            count=$((count + 1))
        else
            sleep 0.01
        fi
    done
    [ $count = "$1" ]
}

# An interrupt: no child is left, no file.
checks=$((checks + 3))
"$headgate" compare "$model" --ids "$ids" --device ref --save stopped.hgr -o stopped.html >"$work/out" 2>"$work/err" &
pid=$!
wait_for 1 $pid || fail 'no child was there'
kill -INT $pid
wait $pid
found=$?
[ $found = 130 ] || fail "an interrupt: exit code $found, expected 130"
if alive "$child"; then fail 'a child was left'; fi
ok 'no record' test ! -e stopped.hgr
ok 'no page' test ! -e stopped.html

# The program is killed: its child dies with it.
checks=$((checks + 1))
"$headgate" compare "$model" --ids "$ids" --device ref >"$work/out" 2>"$work/err" &
pid=$!
wait_for 1 $pid || fail 'no child was there'
kill -KILL $pid
wait $pid 2>/dev/null
sleep 0.3
if alive "$child"; then fail 'a child outlived the program'; fi

# third SIGNAL ARGUMENTS...: a signal to the third child, the first after the reference and its exact text.
third() {
    signal=$1
    shift
    "$headgate" "$@" >"$work/out" 2>"$work/err" &
    pid=$!
    wait_for 3 $pid && kill -"$signal" "$child" 2>/dev/null
    wait $pid
    found=$?
}
checks=$((checks + 1))
third KILL compare "$model" --ids "$ids" --device ref --device ref@exact --device ref/T0@exact
[ $found = 1 ] || fail "a killed child: exit code $found, expected 1"
last '^did not run: ref: the driver crashed: its process was ended by signal 9'
prints '^ref/T0@exact +[0-9.]+ +same'
checks=$((checks + 1))
third STOP compare "$model" --ids "$ids" --device ref@exact --device ref --timeout 5
[ $found = 1 ] || fail "a stopped child: exit code $found, expected 1"
last '^did not run: ref@exact: the driver hung: no sign of life for 5 s'
checks=$((checks + 1))
if alive "$child"; then fail 'the stopped child is still there'; fi

# Nothing is left in the folder of temporary files.
mkdir temporary
TMPDIR=$work/temporary code 0 compare "$model" --ids 1 --device ref
ok 'no temporary file' rmdir temporary
nothing_left
finish
