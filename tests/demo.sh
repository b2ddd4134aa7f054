#!/bin/sh
# SPDX-License-Identifier: MIT
# The first thing a visitor does: a fresh clone, then tools/demo.sh, on the packages that are here. Looks at what comes out.
#   sh tests/demo.sh BUILD
# Exit status 77 (skipped): this is no git checkout.
set -eu
cd "$(dirname "$0")/.."
scratch=${1:?build folder}/tests/demo
git rev-parse --git-dir >/dev/null 2>&1 || { echo "skipped: not a git checkout"; exit 77; }
rm -rf "$scratch"
mkdir -p "$scratch"
# What is committed, and what is not yet: a visitor of tomorrow gets both.
git clone -q --no-hardlinks --depth 1 "file://$PWD" "$scratch/clone"
git diff --binary HEAD >"$scratch/patch"
[ ! -s "$scratch/patch" ] || git -C "$scratch/clone" apply --whitespace=nowarn ../patch
cd "$scratch/clone"
before=$(date +%s)
sh tools/demo.sh --no-install -o "$scratch/pictures"
echo "demo: $(($(date +%s) - before)) s from a fresh clone to pictures"
count=$(find "$scratch/pictures" -name '*.png' -size +10k | wc -l)
[ "$count" -ge 3 ] || { echo "expected a picture for each of the three sample models, found $count"; exit 1; }
find "$scratch/pictures" -name '*.png' -exec file {} + | grep -v 'PNG image data' && { echo "not a PNG file"; exit 1; }
[ -z "$(git status --porcelain)" ] || { git status --short; echo "the demo left files in the checkout"; exit 1; }
rm -rf "$scratch/clone"
