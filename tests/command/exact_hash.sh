#!/bin/sh
# SPDX-License-Identifier: MIT
# headgate exact-hash on one device: the shipped hashes, what changes them, and what they are hashes of.
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"
"$headgate" devices --json >"$work/out" 2>"$work/err"
if ! grep -q "\"selector\": \"$selector\"" "$work/out"; then
    echo "no device $selector on this machine"
    exit 77
fi
shipped=$samples/exact-hashes.txt
model=$samples/gate_headwise
sum_of() { awk -v key="$1" '$1 ~ /^exact-/ && $2 == key { print $3 }' "$work/out"; }
same() { # same WHAT A B: two sums, both there
    checks=$((checks + 1))
    [ -n "$2" ] && [ "$2" = "$3" ] || fail "$1: '$2' and '$3'"
}
differ() {
    checks=$((checks + 1))
    [ -n "$2" ] && [ -n "$3" ] && [ "$2" != "$3" ] || fail "$1: '$2' and '$3'"
}

# As shipped, whatever the device pretends to be, and however the prompt is given.
for name in baseline gate_elementwise gate_headwise; do
    code 0 exact-hash "$samples/$name" --device "$selector" --check
    prints '^verdict as shipped$'
    prints "^device .*\[$selector\]"
    same "the shipped line of $name" "$(sum_of all)" "$(awk -v name="$name" '$NF == name { print $6 }' "$shipped")"
    code 0 exact-hash "$samples/$name" --device "$selector" --check --limits spec-minimum
    prints '^verdict as shipped$'
done
all=$(sum_of all)
ids=$(awk '$NF == "gate_headwise" { print $3 }' "$shipped")
code 0 exact-hash "$model" --prompt "$prompt" --device "$selector@exact" --check
same 'the prompt as a text' "$(sum_of all)" "$all"
code 0 exact-hash "$model" --ids "$ids" --exact --device "$selector" --check -v
same 'the prompt as ids' "$(sum_of all)" "$all"
layers=$(grep -c '^exact-[0-9]* layer-' "$work/out")
ok 'a line for each layer with -v' [ "$layers" = 4 ]
code 0 exact-hash "$model" --device "$selector" --json
is schema 1
is kind exact-hash
is sha256.all "$all"
is verdict 'as shipped'
is shipped.all "$all"
is 'layers.#' 4
is provenance.precision exact

# What is hashed: the tensors of logits --dump, byte after byte.
code 0 logits "$model" --exact --ids "$ids" --device "$selector" --dump all.safetensors --what logits,attentions -q
header=$(od -An -tu8 -N8 all.safetensors | tr -d ' ')
tokens=$(echo "$ids" | awk -F, '{ print NF }')
begin=$((8 + header + 8 * tokens + 1)) logits=$((tokens * 2048 * 4))
code 0 exact-hash "$model" --device "$selector"
same 'logits and maps' "$(sum_of all)" "$(tail -c +$begin all.safetensors | sha256sum | cut -d' ' -f1)"
same 'logits' "$(sum_of logits)" "$(tail -c +$begin all.safetensors | head -c $logits | sha256sum | cut -d' ' -f1)"
same 'maps' "$(sum_of maps)" "$(tail -c +$((begin + logits)) all.safetensors | sha256sum | cut -d' ' -f1)"

# Another prompt, and a bit of the weights: another hash, of which nothing is known.
code 0 exact-hash "$model" --prompt 'It was' --device "$selector"
prints '^verdict not listed$'
differ 'another prompt' "$(sum_of all)" "$all"
code 1 exact-hash "$model" --prompt 'It was' --device "$selector" --check
says 'no hash of revision exact-[0-9]+ is shipped'
prints '^verdict not listed$'
cp -r "$model" flipped && chmod -R u+w flipped
at=$(($(od -An -tu8 -N8 flipped/model.safetensors | tr -d ' ') + 8 + 4096))
byte=$(od -An -tu1 -j $at -N1 flipped/model.safetensors | tr -d ' ')
# shellcheck disable=SC2059
printf "\\$(printf %o $((byte ^ 1)))" | dd of=flipped/model.safetensors bs=1 seek=$at conv=notrunc 2>/dev/null
code 0 exact-hash flipped --device "$selector"
prints '^verdict not listed$'
differ 'one bit of the weights' "$(sum_of all)" "$all"
printf '\300\177' | dd of=flipped/model.safetensors bs=1 seek=$at conv=notrunc 2>/dev/null
refuses 4 'NaN|finite' exact-hash flipped --device "$selector"

# The same weights with another base of rope: known by name, and wrong.
cp -r "$model" turned && chmod -R u+w turned
sed -i 's/"rope_theta": *[0-9.]*/"rope_theta": 20000.0/' turned/config.json
code 1 exact-hash turned --device "$selector"
prints '^verdict different from the shipped hash$'
says 'different from the shipped hash: expected all [0-9a-f]{64}, found [0-9a-f]{64}'

# A hash file that was tampered with, is broken, or is not there.
mkdir listed && cp "$shipped" listed/exact-hashes.txt
code 0 exact-hash "$model" --device "$selector" --samples listed --check
for sum in logits maps all; do
    value=$(sum_of $sum)
    case $value in 0*) other=1${value#?} ;; *) other=0${value#?} ;; esac
    sed "s/$value/$other/" "$shipped" >listed/exact-hashes.txt
    ok "the line has the sum of the $sum" sh -c '! cmp -s "$1" listed/exact-hashes.txt' sh "$shipped"
    code 1 exact-hash "$model" --device "$selector" --samples listed
    prints '^verdict different from the shipped hash$'
    code 0 exact-hash "$model" --device "$selector" # prints the sums again
done
code 1 exact-hash "$model" --device "$selector" --samples "$work/listed" --json
is verdict 'different from the shipped hash'
sed 's/^exact-1 /exact-0 /' "$shipped" >listed/exact-hashes.txt
code 0 exact-hash "$model" --device "$selector" --samples listed
prints '^verdict not listed$'
for line in 'exact-1' 'exact-1 x 1 x x x x' "exact-1 $value 1,x $value $value $value name" "exact-1 $value , $value $value $value name" \
    "exact-1  $value 1 $value $value $value name" "exact-1 $value 1 $value $value $value name " "exact-1 $value 1 ${value#?} $value $value name"; do
    printf '# broken\n%s\n' "$line" >listed/exact-hashes.txt
    refuses 4 'exact-hashes.txt, line 2: expected' exact-hash "$model" --device "$selector" --samples listed
done
head -c 900 "$shipped" >listed/exact-hashes.txt
refuses 4 'exact-hashes.txt, line [0-9]+: expected' exact-hash "$model" --device "$selector" --samples listed
rm listed/exact-hashes.txt
refuses 4 'cannot read listed/exact-hashes.txt' exact-hash "$model" --device "$selector" --samples listed
refuses 4 'there is no such folder' exact-hash "$model" --device "$selector" --samples none

# A model without a tokenizer needs ids.
cp -r "$model" mute && chmod -R u+w mute && rm mute/tokenizer.json
refuses 4 '--ids works' exact-hash mute --device "$selector"
code 0 exact-hash mute --ids "$ids" --device "$selector" --check

# Several devices: a block each, one array in JSON, the first is the baseline of what has not shipped.
code 0 exact-hash "$model" --device "$selector" --device ref --check
ok 'two blocks' [ "$(grep -c '^verdict as shipped$' "$work/out")" = 2 ]
prints "^device .*\[$selector\]"
prints '^device reference \[ref\]'
code 0 exact-hash "$model" --device ref --device "$selector" --prompt 'It was' --json
is 'devices.#' 2
is devices.0.selector ref
is devices.1.selector "$selector"
is devices.1.verdict 'not listed'
is devices.1.provenance.precision exact
same 'the same on both' "$(value devices.0.sha256.all)" "$(value devices.1.sha256.all)"
code 0 exact-hash "$model" --device all --check
prints '^device reference \[ref\]'
code 3 exact-hash "$model" --device vk:77 --device "$selector"
prints '^device vk:77$'
prints '^verdict did not run$'
prints '^verdict as shipped$'
code 1 exact-hash turned --device "$selector" --device ref
ok 'both are different' [ "$(grep -c '^verdict different from the shipped hash$' "$work/out")" = 2 ]
# Nothing but exact.
code 0 exact-hash --help
ok 'no other precision is offered' sh -c '! grep -q fp32 "$1"' sh "$work/out"
refuses 2 'exact-hash is about precision exact' exact-hash "$model" --device "$selector" --precision fp32
refuses 2 'exact-hash is about precision exact' exact-hash "$model" --device "$selector@fp32"
refuses 2 'contradict' exact-hash "$model" --device "$selector@exact" --precision fp32
refuses 2 'contradicts' exact-hash "$model" --device "$selector" --device ref@fp32
refuses 2 'exact-hash needs only one prompt' exact-hash "$model" --ids 1 --prompt x
refuses 2 'the vocabulary' exact-hash "$model" --ids 4000 --device "$selector"
nothing_left
finish
