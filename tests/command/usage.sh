#!/bin/sh
# SPDX-License-Identifier: MIT
# Help, the option table, wrong command lines: exit code 2 and a sentence that says what was meant.
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"
model=$samples/baseline
commands='devices demo map logits tokenize detokenize inspect metrics bench exact-hash compare selftest doctor'

code 0 --help
prints '^Usage: headgate COMMAND'
for command in $commands; do
    prints "^  $command +[a-z]"
done
for command in $commands; do
    code 0 "$command" --help
    prints "^Usage: headgate $command"
    prints '^  -h, --help +this help'
    cp "$work/out" "$work/help"
    code 0 help "$command"
    ok "help $command is $command --help" cmp -s "$work/out" "$work/help"
    code 0 "$command" -h
    ok "$command -h is $command --help" cmp -s "$work/out" "$work/help"
    # Examples and addresses are not broken.
    ok "$command --help fits 80 columns" awk '/^Examples:/ { exit } length($0) > 80 { exit 1 }' "$work/help"
    # Every option that the help names is an option: --OPTION= never is "has no option".
    for option in $(sed -n 's/^  [- ][a-z ][, ] --\([a-z-]*\).*/\1/p' "$work/help"); do
        checks=$((checks + 1))
        "$headgate" "$command" "--$option=" --help >/dev/null 2>"$work/err"
        ! grep -q 'has no option' "$work/err" || fail "$command --help names --$option"
    done
done
code 0 --version
prints '^headgate [0-9]+\.[0-9]+\.[0-9]+$'
prints '^library: .*exact-[0-9]'
code 0 map --version

refuses 2 "which command"
refuses 2 "no command 'mapp'; did you mean 'map'" mapp
refuses 2 "no command 'frobnicate'; 'headgate --help'" frobnicate
refuses 2 'did you mean --prompt\?' map "$model" --promt x
refuses 2 'did you mean --layers\?' map "$model" --layer 1 --prompt x
refuses 2 'map has no option --only \(tokenize has\)' map "$model" --only ids
refuses 2 'has no option --zzzzzzzz' map "$model" --zzzzzzzz
refuses 2 'has no option --zzzzzzzz' --zzzzzzzz
refuses 2 'has no option -Z' map -Z
refuses 2 'needs a value: --prompt TEXT' map "$model" --prompt
refuses 2 'needs a value: -o FILE' map "$model" -o
refuses 2 '--json takes no value' inspect "$model" --json=1
refuses 2 'map needs MODEL' map
refuses 2 "does not know what to do with 'c'" tokenize "$model" b c
refuses 2 'map needs a prompt' map "$model"
refuses 2 'only one prompt' map "$model" --prompt x --ids 1
refuses 2 'only one of --prompts' map "$model" --prompts x --ids 1
refuses 2 'only one prompt' tokenize "$model" x --prompt y
refuses 2 'did you mean linear' map "$model" --ids 1 --scale linea
refuses 2 'expected one of linear' map "$model" --ids 1 --scale cubic
refuses 2 'which format' map "$model" --ids 1 -o x.gif
refuses 2 'contradict' map "$model" --ids 1 -o x.png --format svg
refuses 2 'contradict' map "$model" --ids 1 --json -o x.png
refuses 2 'contradict' map "$model" --ids 1 --exact --precision fp32
refuses 2 'contradict' map "$model" --ids 1 --exact --device ref@fp32
refuses 2 'did you mean exact' map "$model" --ids 1 --precision exac
refuses 2 'layers 1 to 4' map "$model" --ids 1 --layers 5
refuses 2 'layers 1 to 4' map "$model" --ids 1 --layers 0
refuses 2 'layers 1 to 4' map "$model" --ids 1 --layers 3-1
refuses 2 'layers 1 to 4' map "$model" --ids 1 --layers 1,
refuses 2 'layers 1 to 4' map "$model" --ids 1 --layers ''
refuses 2 'layers 1 to 4' map "$model" --ids 1 --layers 99999999999999999999
refuses 2 'heads 1 to 4' map "$model" --ids 1 --heads 5
refuses 2 'there is no --dump' logits "$model" --ids 1 --what logits
refuses 2 'contradict' logits "$model" --ids 1 --dump x --json
refuses 2 'did you mean attentions' logits "$model" --ids 1 --dump x --what attention
refuses 2 'has no gate' logits "$model" --ids 1 --dump x --what gate_scores
refuses 2 'from 1 to 1000' logits "$model" --ids 1 --top 0
refuses 2 'from 1 to 1000' logits "$model" --ids 1 --top 1.5
refuses 2 'numbers of tokens' bench "$model" -p 32,
refuses 2 'nothing to do' bench "$model" -p 0 -n 0
refuses 2 'contradict' bench "$model" --json --format csv
refuses 2 'needs MODEL, or --ceiling' bench
refuses 2 'needs MODEL, or --ceiling' bench --kernels
refuses 2 '--depth is about a model' bench --ceiling -d 4
refuses 2 '--repack is about a model' bench --ceiling --repack never
refuses 2 'numbers of tokens from 0' bench "$model" -d 0,x
refuses 2 'numbers of tokens from 0 to 1048576' bench "$model" -d 1048577
refuses 2 '-p 0 leaves nothing of it' bench "$model" -p 0 -n 4 --maps
refuses 2 'from 1 to 1000' bench "$model" -r 0
refuses 2 'auto.never.always' bench "$model" --repack sometimes
# shellcheck disable=SC2046
refuses 2 'at most 16' bench "$model" $(for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do echo --device ref; done)
refuses 2 'contradict' tokenize "$model" x --only ids --json

# The last flag wins where two do not contradict each other.
code 0 tokenize "$model" --prompt x --prompt 'a b' --only ids
cp "$work/out" "$work/last"
code 0 tokenize "$model" 'a b' --only=ids
ok 'the last --prompt wins' cmp -s "$work/out" "$work/last"
code 0 -q tokenize "$model" -- '--json'
prints ' --$'

# Devices: one that is not there, with the ones that are.
refuses 3 "no device 'vk:77'" map "$model" --ids 1 --device vk:77
says 'ref'
checks=$((checks + 1))
HG_DEVICE=vk:77 "$headgate" map "$model" --ids 1 >"$work/out" 2>"$work/err"
[ $? = 3 ] || fail 'HG_DEVICE is not read'
code 0 map "$model" --ids 1 --device "$selector" --limits spec-minimum -o x.png -q
refuses 2 "unknown name 'bogus'" map "$model" --ids 1 --device "$selector" --limits bogus=1
# Where there are no matrix units fast is fp32, and the figures say so.
code 0 metrics "$model" --ids 1,2 --device "$selector" --precision fast --json
says 'precision fast needs tier T2.*computing with fp32'
is provenance.precision fp32

# docs/json.md names every member that the commands write.
members() { # members COMMAND...
    checks=$((checks + 1))
    "$headgate" "$@" --json >"$work/out" 2>"$work/err"
    ok "$1 --json has members" grep -q '"kind"' "$work/out"
    for member in $(sed -n 's/^ *"\([a-z_0-9]*\)":.*/\1/p' "$work/out" | sort -u); do
        grep -q "\`$member\`" "$sources/docs/json.md" || fail "docs/json.md has no $member of $1"
    done
}
members devices
members doctor
members selftest --quick --device "$selector"
members exact-hash "$model" --ids 1,2 --device "$selector"
members exact-hash "$model" --ids 1,2 --device "$selector" --device ref
members metrics "$model" --ids 1,2,3 --device "$selector"
members map "$model" --ids 1,2,3 --device "$selector"
printf '[1]\n{"name": "a", "ids": [2, 3]}\n' >two.jsonl
members metrics "$model" --prompts two.jsonl --device "$selector"
members map "$model" --prompts two.jsonl --device "$selector"
members bench "$model" -p 1 -n 1 -r 1 --device "$selector"
members bench "$model" -p 1 -n 1 -r 1 --maps --kernels --ceiling --device "$selector"

# Messages: no colour without a terminal, quiet is quiet, control characters of an argument do not reach a terminal.
code 2 map "$model" --promt x
ok 'no escape sequence' sh -c '! grep -q "$(printf "\033")" "$1"' sh "$work/err"
code 4 map "$(printf '/none\033[31mx')" --ids 1
ok 'control characters are shown as ?' sh -c '! grep -q "$(printf "\033")" "$1"' sh "$work/err"
code 0 -q map "$model" --ids 1 --device "$selector" -o q.png
ok '-q says nothing' test ! -s "$work/err"
code 0 map "$model" --ids 1 --device "$selector" -o q.png
says '^headgate: wrote q.png$'
code 0 -v map "$model" --ids 1 --device "$selector" -o q.png
says '^headgate: device ref'

# On a terminal: colour, unless NO_COLOR; a terminal that can do nothing gets plain lines.
if has_terminals; then
    terminal() { # terminal VARIABLE=VALUE...: an error as a terminal sees it
        checks=$((checks + 1))
        env "$@" script -qec "$headgate map $model --promt x" /dev/null >"$work/out" 2>"$work/err" </dev/null
    }
    escape=$(printf '\033')
    terminal TERM=xterm
    grep -q "$escape\[1;31merror: " "$work/out" || fail 'no colour on a terminal'
    terminal TERM=xterm NO_COLOR=1
    ! grep -q "$escape" "$work/out" || fail 'colour in spite of NO_COLOR'
    checks=$((checks + 1))
    TERM=xterm NO_COLOR=1 script -qec "stty cols 50; $headgate frobnicate" /dev/null >"$work/out" 2>"$work/err" </dev/null
    awk '{ sub(/\r$/, "") } length($0) > 50 { bad = 1 } /lists them$/ { whole = 1 } END { exit bad || !whole }' "$work/out" || fail 'a long error does not break between words'
    terminal TERM=dumb
    ! grep -q "$escape" "$work/out" || fail 'colour on a dumb terminal'
else
    echo "skipped: four checks of colour and width need the program 'script' and pseudo-terminals"
fi
nothing_left
finish
