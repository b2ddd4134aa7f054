#!/bin/sh
# SPDX-License-Identifier: MIT
# --prompts: many prompts give what each of them gives alone; files that stay in their folder and are there whole; wrong lists are told
# by line.
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"
model=$samples/gate_headwise

same() { # same PATH A.json PATH B.json: the same value, whatever it is
    checks=$((checks + 1))
    a=$("$json" "$2" "$1") && b=$("$json" "$4" "$3") && [ -n "$a" ] && [ "$a" = "$b" ] || fail "$2 $1 is not $4 $3"
}
files() { # files FOLDER: its names on one line
    # shellcheck disable=SC2012 # names of our own making
    (cd "$1" && LC_ALL=C ls -A | tr '\n' ' ')
}

# Lengths 1 to 130, texts and ids; each alone, then all together, in exact mode.
long=$(awk 'BEGIN { for (i = 0; i < 130; i++) printf "%s%d", i ? "," : "", i * 37 % 2048 }')
cat >list.jsonl <<EOF
{"name": "one", "ids": [7]}
{"prompt": "It was the best of times.", "id": 12}

{"ids": [$long], "name": "long"}
"In the beginning was the word"
{"text": "naïve café 🙂", "special": false, "name": "last"}
EOF
alone() { # alone NUMBER ARGUMENTS...
    number=$1
    shift
    code 0 map "$model" "$@" --heads all --exact --device "$selector" --json
    cp "$work/out" "map$number.json"
    code 0 metrics "$model" "$@" --exact --device "$selector" --json
    cp "$work/out" "metrics$number.json"
}
alone 0 --ids 7
alone 1 --prompt 'It was the best of times.'
alone 2 --ids "$long"
alone 3 --prompt 'In the beginning was the word'
alone 4 --prompt 'naïve café 🙂' --no-special
code 0 map "$model" --prompts list.jsonl --heads all --exact --device "$selector" --json
cp "$work/out" maps.json
is kind map
is prompts.# 5
is prompts.1.name 12
is prompts.2.line 4
is prompts.3.name null
is prompts.3.number 4
is layers.3 4
code 0 metrics "$model" --prompts - --exact --device "$selector" --json <list.jsonl
cp "$work/out" metrics.json
is kind metrics
is prompts.# 5
is mean.prompts 5
for i in 0 1 2 3 4; do
    for member in text ids tokens labels uniform_share maps; do
        same "prompts.$i.$member" maps.json $member map$i.json
    done
    for member in ids uniform_share uniform_share_later mean_first_token_share mean_first_token_share_later layers; do
        same "prompts.$i.$member" metrics.json $member metrics$i.json
    done
done
same provenance.weights_sha256 maps.json provenance.weights_sha256 map0.json
checks=$((checks + 1))
sum=0
for i in 0 1 2 3 4; do
    sum="$sum + $("$json" metrics.json "prompts.$i.layers.1.first_token_share")"
done
near mean.layers.1.first_token_share "$(awk "BEGIN { print ($sum) / 5 }")"
is prompts.0.mean_first_token_share_later null
is mean.layers.0.gate_mean "$("$json" metrics.json mean.layers.0.gate_mean)"

# A table: a line per prompt, the mean.
code 0 metrics "$model" --prompts list.jsonl --device "$selector" --layers 2,3
prints '^gate_headwise, 5 prompts, 1[0-9][0-9] tokens'
prints '^one +1 +1\.0000 +- +1\.0000 '
prints '^4 +[0-9]+ +0\.'
prints '^mean +[0-9]+ +0\.'
prints '^Mean over the prompts'
ok 'the table fits 80 columns' awk 'length($0) > 80 { exit 1 }' "$work/out"

# Files: by name or number, in the folder that is made for them; the same JSON as alone.
code 0 map "$model" --prompts list.jsonl --device "$selector"
says 'wrote 5 files into gate_headwise_attention_maps'
ok 'names and numbers' [ "$(files gate_headwise_attention_maps)" = '12.png 4.png last.png long.png one.png ' ]
code 0 map "$model" --prompts list.jsonl --device "$selector" -o deep/er/ --format json --heads all --exact
ok 'a folder of json' [ "$(files deep/er)" = '12.json 4.json last.json long.json one.json ' ]
for member in text ids labels maps layers provenance.weights_sha256; do
    same $member deep/er/long.json $member map2.json
done
same name deep/er/12.json prompts.1.name maps.json
code 0 map "$model" --prompts list.jsonl --device "$selector" -o 'pattern/{number}-{name}-x.svg' --layers 1 --scale log
ok 'a pattern' [ "$(files pattern)" = '1-one-x.svg 2-12-x.svg 3-long-x.svg 4-4-x.svg 5-last-x.svg ' ]
ok 'the prompt is in its picture' grep -q 'In the beginning' pattern/4-4-x.svg
ok 'and in no other' sh -c '! grep -q "In the beginning" pattern/2-12-x.svg'
code 0 map "$model" --prompts "$samples/prompts.jsonl" --device "$selector" -q --layers 1 --format json -o many
ok 'sixty-four' [ "$(find many -name '*.json' | wc -l)" = 64 ]

# Names from strangers stay in the folder.
mkdir inside
cat >hostile.jsonl <<'EOF'
{"ids": [1], "name": "../../escaped"}
{"ids": [1], "name": "/etc/passwd"}
{"ids": [1], "name": ".."}
{"ids": [1], "name": ".hidden"}
{"ids": [1], "name": "a\u001b[31m\u0007\n\tb\u202e"}
{"ids": [1], "name": "-o"}
{"ids": [1], "name": "{number}"}
{"ids": [1], "name": "ünï ☃"}
EOF
awk 'BEGIN { printf "{\"ids\": [1], \"name\": \""; for (i = 0; i < 5000; i++) printf "é"; print "\"}" }' >>hostile.jsonl
code 0 map "$model" --prompts hostile.jsonl --device "$selector" --format json -o inside/x
ok 'nine files' [ "$(find inside/x -type f -name '[!.]*.json' | wc -l)" = 9 ]
ok 'and no others' [ "$(find inside | wc -l)" = 11 ]
ok 'nothing escaped' sh -c '! find . -name "*escaped*" | grep -v "inside/x/" | grep -q .'
ok 'no control character in a name' sh -c '! find inside | LC_ALL=C grep -q "[[:cntrl:]]"'
ok 'a text is a name' [ -s 'inside/x/ünï ☃.json' ]
ok 'no name is taken for a mark' [ -s 'inside/x/{number}.json' ]

# Wrong lists: told by line, before anything is made.
wrong() { # wrong CODE PATTERN LINE...
    expected=$1 pattern=$2
    shift 2
    printf '%s\n' '"good"' "$@" >wrong.jsonl
    refuses "$expected" "$pattern" map "$model" --prompts wrong.jsonl --device "$selector" -o nothing
    refuses "$expected" "$pattern" metrics "$model" --prompts wrong.jsonl --device "$selector"
}
wrong 4 'wrong.jsonl: line 2: .*found "promt"' '{"promt": "x"}'
wrong 4 'wrong.jsonl: line 3: no valid JSON at column 1: ' '' 'plain text'
wrong 4 'line 2: .*expected an array, found the string "1"' '{"ids": "1"}'
wrong 4 'line 4: expected at least one token id' '' '' '[]'
wrong 2 'line 2: expected token ids from 0 to 2047, the vocabulary of gate_headwise; found 2048 at place 1' '[1, 2048]'
wrong 2 'line 2: the prompt is empty' '{"prompt": "", "special": false}'
wrong 4 'line 2: .*JSON Lines' '['
: >empty.jsonl
refuses 4 'empty.jsonl: expected prompts' metrics "$model" --prompts empty.jsonl
refuses 4 'cannot read none.jsonl' metrics "$model" --prompts none.jsonl
refuses 2 'only one of --prompts' map "$model" --prompts list.jsonl --ids 1
refuses 2 'only one of --prompts' metrics "$model" --prompts list.jsonl --prompt x
refuses 2 'a file of its own' map "$model" --prompts list.jsonl -o one.png
refuses 2 'standard output takes JSON alone' map "$model" --prompts list.jsonl -o -
refuses 2 'contradict' map "$model" --prompts list.jsonl -o '{name}.png' --json
refuses 2 'which format' map "$model" --prompts list.jsonl -o '{name}'
refuses 2 'not of its folder' map "$model" --prompts list.jsonl -o '{name}/x.png'
printf '%s\n' '{"ids": [1], "name": "a/b"}' '' '{"ids": [1], "name": "a_b"}' >twice.jsonl
refuses 2 'lines 1 and 3 would both be written to nothing/a_b.png' map "$model" --prompts twice.jsonl -o nothing
code 0 metrics "$model" --prompts twice.jsonl --device "$selector" # nothing is written there
code 0 map "$model" --prompts twice.jsonl --device "$selector" -o 'both/{number}.png'
ok 'nothing was made' [ ! -e nothing ]
refuses 2 'has no option --prompts \(map has\)' logits "$model" --prompts list.jsonl
mkdir own && cp list.jsonl own/one.json
refuses 2 'own/one.json is read by this command' map "$model" --prompts own/one.json --device "$selector" --format json -o own
ok 'the list is as it was' cmp -s list.jsonl own/one.json
cp -r "$reference/models/gate-headwise-g2" bare 2>/dev/null && chmod -R u+w bare
refuses 4 'no tokenizer.json' metrics bare --prompts list.jsonl --device "$selector"
printf '[1]\n[2, 3]\n' >ids.jsonl
code 0 map bare --prompts ids.jsonl --device "$selector" -o bare-maps
ok 'ids need no tokenizer' [ "$(files bare-maps)" = '1.png 2.png ' ]

# A folder that cannot be written is told before the work.
: >file
refuses 7 'cannot make the folder file/x' map "$model" --prompts list.jsonl --device "$selector" -o file/x
if [ "$(id -u)" != 0 ]; then
    mkdir shut && chmod 555 shut
    refuses 7 'cannot write' map "$model" --prompts list.jsonl --device "$selector" -o shut
fi

# More tokens than a pass takes; once is enough, and the reference does it.
[ "$selector" = ref ] || finish
awk 'BEGIN { for (p = 0; p < 40; p++) { printf "["; for (i = 0; i < 61 + p; i++) printf "%s%d", i ? "," : "", (i * 7 + p) % 2048; print "]" } }' >passes.jsonl
code 0 metrics "$model" --prompts passes.jsonl --device "$selector" --json --layers 1
is prompts.# 40
is passes 2
nothing_left
finish
