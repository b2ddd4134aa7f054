#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the commands of README.md as they stand there, so that it cannot drift from the program.
#   sh tests/readme.sh BUILD
# Taken: lines of ```sh blocks, with lines that end in a backslash joined. Left out, and counted: those that fetch, install or
# take minutes (other tests run them), those that name a model which does not come with the project, and those that need a device
# (--device vk:0, or a record of it) which is not here.
# They run in a scratch folder that looks like the checkout; `build/` there is BUILD.
set -eu
cd "$(dirname "$0")/.."
top=$PWD
build=$(cd "${1:?build folder}" && pwd)
scratch=$build/tests/readme
[ -f README.md ] || { echo "skipped: no README.md"; exit 77; }
rm -rf "$scratch"
mkdir -p "$scratch"
for f in * .clang-format; do
    [ "$f" = build ] || [ ! -e "$f" ] || ln -s "$top/$f" "$scratch/$f"
done
ln -sfn "$build" "$scratch/build"
cd "$scratch"
# shellcheck disable=SC2016
sed -n '/^```sh$/,/^```$/p' README.md | sed -e '/^```/d' -e :a -e '/\\$/{N;s/\\\n//;ba;}' >commands
has_vulkan=$("$build/tools/headgate" devices --json 2>/dev/null | grep -c '"selector": "vk:0"' || true)
ran=0
left=0
failed=0
while IFS= read -r line; do
    case $line in
    '' | '#'*) continue ;;
    'git clone'* | 'cd '* | sudo* | apt* | *install-packages* | *demo.sh* | *run.sh* | *gpu-check* | *zoo.sh* | *peer.sh* | hf\ * | cmake* | ninja* | ctest* | *'/path/'* | *QwQZh* | *' live'*)
        left=$((left + 1))
        continue ;;
    *'--device vk:0'* | *here.hgr*)
        [ "$has_vulkan" != 0 ] || {
            left=$((left + 1))
            continue
        } ;;
    esac
    status=0
    PATH="$build/tools:$PATH" timeout 120 sh -c "$line" </dev/null >output 2>&1 || status=$?
    ran=$((ran + 1))
    # A command whose point is a non-zero status says so in a comment: "# exit status 1".
    want=$(printf '%s\n' "$line" | sed -n 's/.*# exit status \([0-9]*\).*/\1/p')
    [ "$status" = "${want:-0}" ] || {
        failed=$((failed + 1))
        printf 'exit status %s: %s\n' "$status" "$line"
        tail -n 10 output
    }
done <commands
echo "readme: $ran commands ran, $failed failed, $left left out"
[ $ran -gt 0 ] || { echo "README.md has no command to run"; exit 1; }
[ $failed = 0 ]
