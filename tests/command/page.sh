#!/bin/sh
# SPDX-License-Identifier: MIT
# The page of a comparison in a browser: nothing on the console, nothing fetched, everything drawn with scripts switched off.
# shellcheck disable=SC2034,SC2154 # lib.sh sets them for the scripts that read it
. "${0%/*}/lib.sh"
browser=
for name in chromium chromium-browser google-chrome; do
    if [ -z "$browser" ] && command -v $name >/dev/null; then browser=$name; fi
done
[ -n "$browser" ] || { echo 'skipped: the page in a browser (chromium is not installed)'; exit 77; }
model=$samples/gate_elementwise

browse() { # browse OPTION... FILE: standard output and the console in err
    timeout -k 5 90 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" \
        --no-first-run --disable-background-networking --hide-scrollbars --enable-logging=stderr --v=0 "$@" >"$work/out" 2>"$work/err"
}
# The console shows what a page of ours must not do, so an empty console means something.
cat >bad.html <<'EOF'
<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none'"><img src="http://localhost:9/x.png"><p>end
EOF
checks=$((checks + 1))
if ! browse --dump-dom "file://$work/bad.html" || ! grep -q '<p>end' "$work/out"; then
    echo "skipped: the page in a browser ($browser does not start here)"
    exit 77
fi
grep -q 'CONSOLE.*localhost' "$work/err" || fail 'a request that is refused is not on the console'

code 1 compare "$model" --prompt "$prompt" --device ref --device ref@exact --device ref@fast -o page.html
checks=$((checks + 2))
browse --dump-dom "file://$work/page.html" || fail 'the browser failed'
! grep -q CONSOLE "$work/err" || fail 'something is on the console'
cp "$work/out" dom.html
ok 'the page is whole' grep -q '</footer>' dom.html
ok 'no address but the svg name space' sh -c '! grep -Eoi "(src|href|srcset|url\()[^>]{0,3}(https?:)?//[^ >]*" dom.html'
ok 'all maps are there' [ "$(grep -o '<img ' dom.html | wc -l)" = 16 ]
for size in 1280,3000 390,3000; do
    checks=$((checks + 1))
    browse --screenshot="$work/page.png" --window-size=$size "file://$work/page.html" || fail "no picture of $size"
    ok "a picture of $size that shows something" [ "$(wc -c <page.png)" -gt 40000 ]
done
# A phone scrolls down, not sideways: the page is as wide as the window.
cat >frame.html <<EOF
<!doctype html><body style="margin:0"><iframe src="page.html" width="390" height="800"></iframe><script>
onload = () => { const d = document.querySelector('iframe').contentDocument.documentElement;
document.title = 'wide ' + d.scrollWidth + ' of ' + d.clientWidth; };
</script>
EOF
checks=$((checks + 1))
browse --allow-file-access-from-files --virtual-time-budget=2000 --dump-dom "file://$work/frame.html"
sed -n 's/.*<title>wide \([0-9]*\) of \([0-9]*\).*/\1 \2/p' "$work/out" >width
read -r wide window <width || fail 'no width'
[ "${wide:-1}" -le "${window:-0}" ] || fail "the page is $wide wide in a window of $window"
finish
