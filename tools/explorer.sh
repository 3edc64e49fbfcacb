#!/bin/sh
# Builds the explorer, the page in web/, with its engine, and tests it in Chromium.
#
#   tools/explorer.sh [build]
#
# With `build`, nothing is tested. The page is then in web/dist. node is 20 or newer; npm fetches what
# web/package-lock.json names. CHROMIUM is the browser (/usr/bin/chromium).
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
"$root/tools/web.sh"
rm -rf "$root/target/web/licences"
"$root/tools/licences.sh" "$root/target/web/licences" softwarp-web
cd "$root/web"
npm ci --no-audit --no-fund
npm run build
[ "${1-}" != build ] || exit 0

browser=${CHROMIUM:-/usr/bin/chromium}
if ! [ -x "$browser" ]; then
  apt-get update -q >/dev/null
  apt-get install -q -y --no-install-recommends chromium >/dev/null
fi
CHROMIUM=$browser npm test
