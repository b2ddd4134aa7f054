#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian or Ubuntu packages that headgate is built with, as far as they are missing. Asks nothing.
#   sh tools/install-packages.sh [build|test] [--check]
#     build    what the library, the command and the demo need, a software Vulkan and a software OpenCL driver included
#     test     the same, and what the tests need
#     --check  installs nothing: says what is missing, exit status 2 when something is
# Exit status: 0 all is there, 2 something is missing and cannot be installed (the line to run is printed).
set -euf

# One item a word. a|b: either will do, a is what gets installed. A leading ? marks what a test can do without (it is
# then skipped, and says so): some names do not exist on every release.
build='gcc|clang libc6-dev cmake ninja-build|make pkg-config|pkgconf glslc libvulkan-dev libvulkan-volk-dev
opencl-c-headers|opencl-headers libcjson-dev libpng-dev zlib1g-dev libpcre2-dev libutf8proc-dev libcairo2-dev libpango1.0-dev libssl-dev
fonts-dejavu-core libvulkan1 mesa-vulkan-drivers ocl-icd-libopencl1|nvidia-libopencl1 pocl-opencl-icd'
test='gcc g++ ninja-build git libcmocka-dev spirv-tools binutils file clang llvm clang-format clang-tidy libclang-rt-dev|libclang-rt-14-dev
vulkan-validationlayers fonts-wqy-microhei fonts-lohit-deva fonts-noto-color-emoji ?chromium-common ?oclgrind ?poppler-utils ?shellcheck'

set_name=build
check=0
for argument in "$@"; do
    case $argument in
    build | test) set_name=$argument ;;
    --check) check=1 ;;
    -h | --help) sed -n '3,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "install-packages.sh: unknown argument '$argument' (build, test, --check)" >&2; exit 2 ;;
    esac
done
[ "$set_name" = build ] && items=$build || items="$build $test"

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "install-packages.sh: this system has no dpkg; only Debian 12, Debian 13 and Ubuntu 24.04 are known here." >&2
    echo "Install the equivalents of these, then use --no-install on the script that called this one:" >&2
    echo "$items" | tr -d '?' >&2
    exit 2
fi

# Names that are installed, one question for all.
# shellcheck disable=SC2046,SC2086
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $(echo $items | tr -d '?' | tr '|' ' ') 2>/dev/null |
    sed -n 's/^installed //p') || true

has() { # has PACKAGE
    case "
$installed
" in *"
$1
"*) return 0 ;; esac
    return 1
}

missing=''
for item in $items; do
    found=0
    for name in $(echo "${item#\?}" | tr '|' ' '); do
        if has "$name"; then found=1; fi
    done
    [ $found = 1 ] || missing="$missing $item"
done
[ -n "$missing" ] || exit 0

known() { # known PACKAGE: apt can install it
    apt-cache policy "$1" 2>/dev/null | grep -q '^  Candidate: [^(]'
}
resolve() { # sets wanted (what apt is asked for), unknown (needed, but no package of that name), dropped (optional and unknown)
    wanted='' unknown='' dropped=''
    for item in $missing; do
        pick=''
        for name in $(echo "${item#\?}" | tr '|' ' '); do
            if [ -z "$pick" ] && known "$name"; then pick=$name; fi
        done
        if [ -n "$pick" ]; then
            case " $wanted " in *" $pick "*) ;; *) wanted="$wanted $pick" ;; esac
        else
            case $item in \?*) dropped="$dropped ${item#\?}" ;; *) unknown="$unknown $item" ;; esac
        fi
    done
}

resolve
if [ $check = 1 ]; then
    [ -z "$dropped" ] || echo "not offered here, and the tests can do without:$dropped" >&2
    [ -n "$wanted$unknown" ] || exit 0
    echo "missing:$wanted$unknown" >&2
    exit 2
fi

as_root=''
if [ "$(id -u)" != 0 ]; then
    as_root='sudo -n'
    if ! sudo -n true 2>/dev/null; then
        [ -n "$wanted$unknown" ] || exit 0
        echo "Some packages are missing, and installing them needs root. Run this once, then this script again:" >&2
        echo "  sudo sh '$(cd "$(dirname "$0")" && pwd)/install-packages.sh' $set_name" >&2
        exit 2
    fi
fi

apt() {
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@"
}
updated=0
update() {
    [ $updated = 1 ] && return 0
    updated=1
    apt -qq update || echo "install-packages.sh: apt-get update failed; going on with the lists that are here" >&2
    resolve
}
# An empty machine has no lists yet; a name that is not in fresh lists will not be in newer ones either.
lists=$(find /var/lib/apt/lists -name '*_Packages*' 2>/dev/null | head -n 1)
if [ -n "$unknown" ] || { [ -n "$dropped" ] && [ -z "$lists" ]; }; then update; fi
[ -z "$dropped" ] || echo "Not offered by this release, the tests that need them will be skipped:$dropped"
if [ -n "$unknown" ]; then
    echo "install-packages.sh: apt knows no package for:$unknown" >&2
    echo "Debian 12, Debian 13 and Ubuntu 24.04 have all of them." >&2
    exit 2
fi
[ -n "$wanted" ] || exit 0
echo "Installing:$wanted"
talk=$(mktemp)
trap 'rm -f "$talk"' EXIT
# A second try with new lists: lists that are out of date name files that are gone.
# shellcheck disable=SC2086
apt -qq -y --no-install-recommends install $wanted >"$talk" 2>&1 ||
    { update && apt -qq -y --no-install-recommends install $wanted >"$talk" 2>&1; } || {
    tail -n 20 "$talk" >&2
    echo "install-packages.sh: apt-get could not install:$wanted" >&2
    exit 2
}
