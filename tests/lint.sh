#!/bin/sh
# SPDX-License-Identifier: MIT
# What can be said about the sources without running them.
#   sh tests/lint.sh [BUILD] [--seconds N]
#     BUILD        a configured build folder, for its compile_commands.json (default: build)
#     --seconds N  clang-tidy starts no new file after N seconds (default: 240); files it did not reach are counted and named.
#                  A file whose preprocessed text passed before is not checked again, so repeated runs get through all of them.
# Checks: licence line, leftovers, clang-format, shellcheck, clang-tidy. Exit status 1: something was found.
set -eu
cd "$(dirname "$0")/.."
build=build
seconds=240
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=$2; shift 2 ;;
    *) build=$1; shift ;;
    esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
complain() { failed=1; echo "lint: $*"; }

# Files of the project: what git knows and what it would take in.
git ls-files -co --exclude-standard | while read -r f; do [ ! -f "$f" ] || echo "$f"; done >"$work/all"
grep -E '\.(c|h)$' "$work/all" >"$work/c" || true
grep -E '(\.sh|^\.ci/run)$' "$work/all" >"$work/sh" || true
grep -vE '^(tests/reference|tools/samples)/|/(seeds|corpus)/|\.(md|png|json|spv|txt|gz|safetensors|in)$|^(LICENSE|\.git[a-z]*|\.clang-.*)$' "$work/all" >"$work/text" || true

while read -r f; do
    head -n 2 "$f" | grep -q 'SPDX-License-Identifier: MIT' || complain "$f: no line 'SPDX-License-Identifier: MIT' at its head"
done <"$work/text"
# shellcheck disable=SC2046
if grep -nE '\b(TODO|FIXME|XXX|HACK)\b' $(grep -v '^tests/lint.sh$' "$work/text"); then complain "leftovers: finish them, or open an issue"; fi

# Another release of clang-format lays some code out in another way; 14 is the one the sources are kept with.
format=
for name in clang-format-14 clang-format; do
    if [ -z "$format" ] && command -v $name >/dev/null && $name --version | grep -q 'version 14\.'; then format=$name; fi
done
if [ -n "$format" ]; then
    xargs -r $format --dry-run -Werror <"$work/c" 2>"$work/format" || {
        grep -E ': error:' "$work/format" | cut -d: -f1 | sort | uniq -c | sort -rn
        complain "layout: run clang-format -i on the files above (count of places)"
    }
else
    echo "lint: skipped 1 check: layout (clang-format 14 is not installed)"
fi

if command -v shellcheck >/dev/null; then
    xargs -r shellcheck -S warning <"$work/sh" || complain "shell scripts, see above"
else
    echo "lint: skipped 1 check: shell scripts (shellcheck is not installed)"
fi

# Likewise: every release of clang-tidy has other checks in the same groups.
tidy=''
for name in clang-tidy-14 clang-tidy; do
    if [ -z "$tidy" ] && command -v $name >/dev/null && $name --version | grep -q 'version 14\.'; then tidy=$name; fi
done
if [ -z "$tidy" ] || [ ! -f "$build/compile_commands.json" ]; then
    echo "lint: skipped 1 check: clang-tidy (14 is not installed, or $build is not configured)"
    exit $failed
fi
export tidy

cat >"$work/tidy" <<'EOF'
#!/bin/sh
# tidy BUILD DEADLINE WORK FILE
[ "$(date +%s)" -lt "$2" ] || { echo "$4" >>"$3/late"; exit 0; }
args=$(sed -n '\|"command":.*/'"$4"'"|{s/.*"command": "//;s/",$//;s/\\"/"/g;p;q;}' "$1/compile_commands.json")
# The key: all that the compiler sees, comments included, and the rules.
key=$(cd "$1" && { eval "${args% -o *} -E -CC ${args##* -c}" 2>/dev/null; cat "$OLDPWD/.clang-tidy"; $tidy --version; } | sha256sum | cut -d' ' -f1)
if [ -f "$1/tidy/$key" ]; then echo "$4" >>"$3/same"; exit 0; fi
# The commands may be those of gcc, with warnings that clang does not know.
if $tidy --quiet --extra-arg=-Wno-unknown-warning-option -p "$1" "$4" >"$3/out.$key" 2>/dev/null; then
    : >"$1/tidy/$key"
    echo "$4" >>"$3/passed"
else
    cat "$3/out.$key"
    echo "$4" >>"$3/bad"
fi
EOF
mkdir -p "$build/tidy"
: >"$work/late"; : >"$work/same"; : >"$work/passed"; : >"$work/bad"
# Files changed last come first: they are the ones most likely to have something to say.
grep '\.c$' "$work/c" | while read -r f; do
    if grep -q "\"file\": \".*/$f\"" "$build/compile_commands.json"; then printf '%s %s\n' "$(stat -c %Y "$f")" "$f"; fi
done | sort -rn | cut -d' ' -f2 >"$work/order"
xargs -r -P "$(getconf _NPROCESSORS_ONLN)" -n 1 sh "$work/tidy" "$build" "$(($(date +%s) + seconds))" "$work" <"$work/order"
count() { wc -l <"$work/$1" | tr -d ' '; }
echo "lint: clang-tidy checked $(count passed) files, $(count same) are as they were when they passed, $(count late) not reached in $seconds s, $(count bad) with findings"
[ ! -s "$work/late" ] || { echo "lint: not reached:"; tr '\n' ' ' <"$work/late"; echo; }
[ ! -s "$work/bad" ] || complain "clang-tidy, see above: $(tr '\n' ' ' <"$work/bad")"
exit $failed
