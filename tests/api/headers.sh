#!/bin/sh
# SPDX-License-Identifier: MIT
# headers.sh SOURCE CC: every public header alone, as C99 and as C++11, warnings are errors.
set -eu
cd "$1"
cc=$2
include='-Iengine/include -Ihost/include'
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
count=0
for header in engine/include/headgate/*.h host/include/headgate/*.h; do
    # shellcheck disable=SC2086
    $cc -std=c99 $warnings $include -fsyntax-only -x c "$header"
    # shellcheck disable=SC2086
    $cc -std=c++11 $warnings $include -fsyntax-only -x c++ "$header"
    count=$((count + 1))
done
echo "$count headers as C99 and C++11"
[ "$count" -ge 8 ]
