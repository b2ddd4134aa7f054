#!/bin/sh
# SPDX-License-Identifier: MIT
# headgate doctor: drivers that crash, hang or are none, made-up folders, a remedy on every line that is wrong.
#   sh doctor.sh HEADGATE JSON TENSORS SOURCES SELECTOR MODULES
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"
modules=$6
unset VK_ICD_FILENAMES VK_DRIVER_FILES VK_ADD_DRIVER_FILES OPENCL_VENDOR_PATH OCL_ICD_FILENAMES XDG_CONFIG_HOME XDG_DATA_HOME
mkdir -p none/vulkan/icd.d none/vendors home
export HOME="$work/home" XDG_CONFIG_DIRS="$work/none" XDG_DATA_DIRS="$work/none" OCL_ICD_VENDORS="$work/none/vendors"
escape=$(printf '\033')

# doctor [VARIABLE=VALUE...]: its exit code says whether something is wrong, whatever this machine has.
doctor() {
    checks=$((checks + 1))
    env "$@" "$headgate" doctor >"$work/out" 2>"$work/err"
    found=$?
    wrong=$(sed -n "s/^\\([0-9]*\\) wrong\\( (listed above with 'fix:')\\)\\{0,1\\}, [0-9]* notes\\{0,1\\}\$/\\1/p" "$work/out")
    { [ "${wrong:-none}" = 0 ] && [ $found = 0 ]; } || { [ "${wrong:-0}" -gt 0 ] && [ $found = 1 ]; } ||
        fail "doctor $*: exit code $found, ${wrong:-no number} wrong"
}
every_line() { # of $work/out
    ok 'every line that is wrong ends with a command' sh -c '! grep "^  wrong" "$1" | grep -v "; fix: ."' sh "$work/out"
    ok 'no control characters' sh -c '[ -z "$(LC_ALL=C tr -d "\n\040-\176\200-\377" <"$1")" ]' sh "$work/out"
}
row() { # row PATTERN: a line of the report
    prints "^  $1"
}

# Without a driver there is one thing wrong, and all sections are there.
doctor
every_line
for section in versions Vulkan 'Vulkan layers' OpenCL devices access fonts models cache environment; do
    prints "^$section\$"
done
row 'wrong  default +no Vulkan or OpenCL device.*; fix: .*(apt-get install|install what Debian calls) .*mesa-vulkan-drivers'
row 'note   OCL_ICD_VENDORS +is set.*; fix: unset OCL_ICD_VENDORS$'
row 'note   OCL_ICD_VENDORS +/.*: see above$'
row "ok     folder +$XDG_CACHE_HOME/headgate, made at its first use"
ok 'it makes no cache' test ! -e "$XDG_CACHE_HOME/headgate"
# -q leaves out what is well.
code 1 doctor -q
row 'wrong  default '
row 'note   OCL_ICD_VENDORS '
ok 'nothing that is well' sh -c '! grep -q "^  ok " "$1"' sh "$work/out"
ok 'the count is the last line' sh -c 'tail -n 1 "$1" | grep -q "^[0-9]* wrong (listed above with .fix:.), [0-9]* notes*$"' sh "$work/out"
code 1 doctor --json
is schema 1
is kind doctor
is wrong "$wrong"
i=0 rows=$(value 'rows.#') without=0
while [ $i -lt "${rows:-0}" ]; do
    if [ "$(value rows.$i.state)" = wrong ] && ! value rows.$i.remedy | grep -q '[a-z]'; then without=$((without + 1)); fi
    i=$((i + 1))
done
checks=$((checks + 1))
[ "$i" -gt 20 ] && [ $without = 0 ] || fail "$i rows, $without that are wrong without a remedy"

# Drivers that are none.
mkdir -p bad/vulkan/icd.d bad/vulkan/implicit_layer.d bad/vulkan/explicit_layer.d
cd bad/vulkan/icd.d || exit 1
driver() { # driver FILE LIBRARY
    printf '{ "file_format_version": "1.0.0", "ICD": { "library_path": "%s", "api_version": "1.1.0" } }\n' "$2" >"$1"
}
driver missing.json libheadgate-none.so
driver relative.json ./nowhere/lib.so
driver plain.json "$modules/libdoctor_plain.so"
driver crash.json "$modules/libdoctor_crash.so"
driver exit.json "$modules/libdoctor_exit.so"
driver bits.json "$work/bits.so"
driver "$(printf 'name\033[31m.json')" 'x\u001b[31my/z.so'
driver "it's.json" 'it\u0027s.so'
echo '{ "ICD": 1 }' >empty.json
echo '{ "ICD": { "library_path": 7 } }' >number.json
awk 'BEGIN { printf "{ \"ICD\": {}, \"x\": \""; for (i = 0; i < 300000; i++) printf "a"; print "\" }" }' >large.json
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "[" }' >deep.json
mkfifo fifo.json
mkdir folder.json
ln -s nowhere dangling.json
cd "$work" || exit 1
# The head of a library for other processors, of 32 bits.
printf '\177ELF\001\001\001\000\000\000\000\000\000\000\000\000\003\000\003\000\001\000\000\000' >bits.so
# A folder that is far too full.
mkdir -p many/vulkan/icd.d
i=0
while [ $i -lt 80 ]; do
    cp bad/vulkan/icd.d/missing.json "many/vulkan/icd.d/$i.json"
    i=$((i + 1))
done
export XDG_DATA_DIRS="$work/bad"
doctor
every_line
row "wrong  missing.json +does not load: libheadgate-none.so: cannot open.*; fix: mv $work/bad/vulkan/icd.d/missing.json $work/bad/vulkan/icd.d/missing.json.off$"
row "wrong  relative.json +does not load: $work/bad/vulkan/icd.d/\./nowhere/lib.so: cannot open"
row 'wrong  plain.json .*is no driver: .*libdoctor_plain.so has no vk_icdGetInstanceProcAddr; fix: mv '
row 'wrong  crash.json .*libdoctor_crash.so crashes: ended by signal 6.*last words: last \?\[31mwords; fix: mv '
row 'wrong  exit.json .*libdoctor_exit.so ends the program that loads it: exit code 3'
row 'note   bits.json +not for this program: .*bits.so is for 32-bit programs$'
row 'wrong  name\?\[31m.json '
row "wrong  it's.json .*; fix: mv '$work/bad/vulkan/icd.d/it'.''s.json' '.*it'.''s.json.off'$"
row 'wrong  empty.json .*no manifest of the loader'
row 'wrong  number.json .*no "library_path"'
row 'wrong  large.json .*larger than 256 KiB'
row 'wrong  deep.json .*is not JSON'
row 'wrong  fifo.json .*is no regular file'
row 'wrong  folder.json .*is no regular file'
row 'wrong  dangling.json .*cannot be opened'
row 'note   left out .*Vulkan drivers'
code 1 doctor --json
ok 'JSON without control characters' sh -c '! grep -q "$2" "$1"' sh "$work/out" "$escape"
# The commands mend.
rm -rf bad/vulkan/icd.d/folder.json bad/vulkan/icd.d/name*
doctor
sed -n 's/^  wrong .*; fix: \(sudo \)\{0,1\}\(mv .*\)$/\2/p' out >mend
ok 'the commands run' sh -e mend
doctor
ok 'the commands mend' sh -c '! grep "^  wrong.*\.json" "$1"' sh "$work/out"
doctor XDG_DATA_DIRS="$work/many"
row 'note   driver files +16 more than the 64'
every_line

# One that hangs does not hold the report up for more than its time; the variable that names it is what mends it.
driver hang.json "$modules/libdoctor_hang.so"
start=$(date +%s)
doctor VK_DRIVER_FILES="$work/hang.json" DOCTOR_PID_FILE="$work/pid"
ok 'a time limit' test $(($(date +%s) - start)) -lt 60
row 'wrong  hang.json .*gives no answer for 20 s.*; fix: unset VK_DRIVER_FILES$'
row 'note   VK_DRIVER_FILES +is set'
# Killed is not yet gone on a machine that is busy, and a dead process that nobody has waited for still has its number.
gone() {
    pid=$(cat "$work/pid")
    for _ in $(seq 100); do
        kill -0 "$pid" 2>/dev/null || return 0
        ! grep -qs '^State:.Z' "/proc/$pid/status" || return 0
        sleep 0.1
    done
    return 1
}
ok 'the driver is gone' gone
# Ctrl-C while one hangs: no half report, no process left.
rm -f pid
checks=$((checks + 1))
VK_DRIVER_FILES="$work/hang.json" DOCTOR_PID_FILE="$work/pid" \
    timeout --preserve-status -k 30 -s INT 2 "$headgate" doctor >out 2>err
found=$?
[ $found = 130 ] || fail "SIGINT: exit code $found, expected 130"
ok 'no half report' test ! -s out
ok 'the driver was tried' test -s pid
ok 'the driver is gone' gone

# OpenCL vendor files.
mkdir vendors
echo "$modules/libdoctor_crash.so" >vendors/crash.icd
echo libheadgate-none.so >vendors/missing.icd
echo "$modules/libdoctor_plain.so" >vendors/plain.icd
: >vendors/empty.icd
export XDG_DATA_DIRS="$work/none"
doctor OCL_ICD_VENDORS="$work/vendors"
every_line
row 'wrong  crash.icd .*crashes: ended by signal 6.*; fix: unset OCL_ICD_VENDORS$'
row 'wrong  missing.icd +does not load: libheadgate-none.so'
row 'wrong  plain.icd .*has no clIcdGetPlatformIDsKHR'
row 'wrong  empty.icd .*names no library'
row 'note   left out .*OpenCL'

# Layers: one that is on and crashes, one that is off, one whose library is gone.
layer() { # layer FILE NAME LIBRARY MORE
    printf '{ "file_format_version": "1.0.0", "layer": { "name": "VK_LAYER_%s", "type": "GLOBAL", "library_path": "%s"%s } }\n' \
        "$2" "$3" "$4" >"bad/vulkan/implicit_layer.d/$1"
}
rm -f bad/vulkan/icd.d/*
layer crash.json TEST_crash "$modules/libdoctor_crash.so" ', "disable_environment": { "TEST_CRASH_OFF": "1" }'
layer off.json TEST_off "$modules/libdoctor_crash.so" ', "enable_environment": { "TEST_OFF_ON": "1" }, "disable_environment": { "A": "" }'
layer gone.json TEST_gone libheadgate-none.so ', "disable_environment": { "TEST_GONE_OFF": "1" }'
echo '[' >bad/vulkan/implicit_layer.d/broken.json
export XDG_DATA_DIRS="$work/bad"
doctor
every_line
row 'wrong  TEST_crash +on, and crashes: .*; fix: mv '
row 'ok     TEST_off +off$'
row 'note   TEST_gone +on, and does not load.*; fix: mv '
row 'note   broken.json .*is not JSON; fix: mv '
row 'note   left out .*implicit layers'
doctor TEST_CRASH_OFF=1
row 'ok     TEST_crash +off$'
# Layers that are asked for by name.
doctor VK_INSTANCE_LAYERS=VK_LAYER_NOPE:VK_LAYER_TEST_off
row 'wrong  VK_INSTANCE_LAYERS +no such layer: VK_LAYER_NOPE; fix: unset VK_INSTANCE_LAYERS$'
row 'note   VK_INSTANCE_LAYERS +VK_LAYER_NOPE:VK_LAYER_TEST_off: see above$'
ok 'a layer that is there is not missed' sh -c '! grep -q "no such layer: VK_LAYER_TEST_off" "$1"' sh "$work/out"
mkdir layers
cp bad/vulkan/implicit_layer.d/off.json layers/more.json
sed -i s/TEST_off/TEST_more/ layers/more.json
doctor VK_INSTANCE_LAYERS=VK_LAYER_TEST_more VK_LAYER_PATH="$work/layers"
ok 'a layer of VK_LAYER_PATH is not missed' sh -c '! grep -q "no such layer" "$1"' sh "$work/out"
export XDG_DATA_DIRS="$work/none"

# Models, caches, variables.
commit=0123456789abcdef0123456789abcdef01234567
mkdir -p hub/models--a--good/snapshots/$commit hub/models--a--good/refs hub/models--a--half/snapshots hub/datasets--a--b
cp "$samples"/baseline/* hub/models--a--good/snapshots/$commit/
printf %s $commit >hub/models--a--good/refs/main
doctor HF_HUB_CACHE="$work/hub"
row 'ok     in the cache +1 can be run: a/good; 1 of another kind or not complete$'
doctor HF_TOKEN=hf_sesame VK_TEST="a${escape}[31mb"
ok 'no secrets' sh -c '! grep -q sesame "$1"' sh "$work/out"
row 'ok     HF_TOKEN +\(set; not shown\)$'
row 'ok     VK_TEST +a\?\[31mb$'
every_line
doctor HF_HUB_CACHE="$work/hub" XDG_CACHE_HOME=/dev/null/cache
row 'wrong  folder +/dev/null/cache/headgate is not there.*; fix: export XDG_CACHE_HOME=/var/tmp/cache-'
# No folder can be made there, whatever the permissions say.
doctor XDG_CACHE_HOME=/proc
row 'wrong  folder +/proc/headgate is not there, and no folder can be made in /proc.*; fix: export XDG_CACHE_HOME=/var/tmp/cache-'
doctor VK_DRIVER_FILES=/nope.json POCL_EXTRA_BUILD_FLAGS=-x POCL_CACHE_DIR=/x
row 'note   VK_DRIVER_FILES +/nope.json: see above$'
row 'note   POCL_EXTRA_BUILD_FLAGS +-x: changes what a driver computes, or how; fix: unset POCL_EXTRA_BUILD_FLAGS$'
row 'ok     POCL_CACHE_DIR +/x$'
doctor PATH=
row 'note   PATH +empty: .*; fix: export PATH='
mkdir -p cache2
: >cache2/headgate
doctor XDG_CACHE_HOME="$work/cache2"
row "wrong  folder +$work/cache2/headgate is no folder; fix: mv $work/cache2/headgate $work/cache2/headgate.off$"
checks=$((checks + 1))
env -i PATH="$PATH" OCL_ICD_VENDORS="$work/none/vendors" VK_DRIVER_FILES="$work/none.json" VK_ICD_FILENAMES="$work/none.json" "$headgate" doctor >out 2>err
found=$?
[ $found -le 1 ] || fail "exit code $found in an empty environment"
row 'note   folder +none, neither HOME nor XDG_CACHE_HOME is set.*; fix: export XDG_CACHE_HOME='
every_line
refuses 2 "does not know what to do with 'x'" doctor x

# On a terminal: colours, lines that fit, the command on a line of its own.
if has_terminals; then
    seen() { # seen VARIABLE=VALUE...
        checks=$((checks + 1))
        env "$@" script -qec "stty cols 80; $headgate doctor" /dev/null >out 2>err </dev/null
    }
    seen TERM=xterm
    grep -q "$escape\[1;31mwrong" out || fail 'no colour on a terminal'
    grep -q '^ *fix: ' out || fail 'no command on a line of its own'
    seen TERM=xterm NO_COLOR=1
    ! grep -q "$escape\[[0-9;]*m" out || fail 'colour in spite of NO_COLOR'
    ok 'lines fit a terminal' awk '{ sub(/\r$/, ""); sub(/.*\r\033\[K/, ""); gsub(/\033\[[0-9;]*m/, "") } length($0) > 80 && !/fix:/ && NF > 1 { print; exit 1 }' out
else
    echo "skipped: three checks of a terminal need the program 'script' and pseudo-terminals"
fi
finish
