#!/bin/sh
# SPDX-License-Identifier: MIT
# The Vulkan backend defines hg_ symbols only and links to no vk* function (docs/DECISIONS.md D22).
# usage: symbols.sh NM "OBJECT;OBJECT;..."
nm=$1
IFS=';'
set -- $2
unset IFS
[ $# -gt 0 ] || { echo "no object files given"; exit 1; }
defined=$("$nm" -g --defined-only -P "$@" | awk 'NF > 2 && $1 !~ /^hg_/ && $1 !~ /^__(odr|_)_?asan/ { print $1 }')
wanted=$("$nm" -u -P "$@" | awk '$1 ~ /^(vk[A-Z]|volk)/ { print $1 }')
count=$("$nm" -g --defined-only -P "$@" | awk '$1 ~ /^hg_vk_/' | wc -l)
echo "$# objects, $count hg_vk_ symbols"
[ "$count" -gt 20 ] || { echo "too few: were these the right objects?"; exit 1; }
[ -z "$defined" ] || { echo "defined, but not hg_: $defined"; exit 1; }
[ -z "$wanted" ] || { echo "linked to: $wanted"; exit 1; }
