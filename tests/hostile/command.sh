#!/bin/sh
# SPDX-License-Identifier: MIT
# command.sh HEADGATE BAD_DIR OUT_DIR: `headgate logits` on every broken checkpoint. The exit code is the one that case.json
# asks for, an error says something and leaves no file, and nothing that a hostile pickle asks for has happened.
set -u
headgate=$1 bad=$2 out=$3
rm -rf "$out" && mkdir -p "$out" && cd "$out" || exit 1
failed=0 passed=0

expect_of() { sed -n 's/.*"expect": *"\([a-z]*\)".*/\1/p' "$1/case.json"; }
fail() { echo "FAILED $1: $2"; failed=$((failed + 1)); }

for case in "$bad"/*/; do
    case=${case%/} name=$(basename "$case")
    model=$case
    [ -d "$case/model" ] && model=$case/model
    expect=$(expect_of "$case")
    if [ -e "$case/text.txt" ]; then
        timeout 20 "$headgate" tokenize "$model" - <"$case/text.txt" >"$out/said" 2>"$out/error"
    else
        timeout 20 "$headgate" logits "$model" --ids 1,2,3 --device ref --dump "$out/dump.safetensors" >"$out/said" 2>"$out/error"
    fi
    code=$?
    case $expect:$code in
    error:4 | load:0 | warn:0 | either:0 | either:4) ;;
    *) fail "$name" "expected $expect, found exit code $code: $(head -n 2 "$out/error")" && continue ;;
    esac
    if [ "$code" -eq 4 ]; then
        grep -q 'headgate: error: ' "$out/error" || { fail "$name" "an error without a sentence" && continue; }
        [ -e "$out/dump.safetensors" ] && { fail "$name" "a file was left after an error" && continue; }
    fi
    [ "$expect" = warn ] && { grep -q 'warning' "$out/error" || { fail "$name" "no warning" && continue; }; }
    left=$(find "$out" "$bad" -name 'PWNED*' -o -name '*.tmp*' | head -n 1)
    [ -n "$left" ] && { fail "$name" "left $left" && continue; }
    rm -f "$out/dump.safetensors"
    passed=$((passed + 1))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 150 ]
