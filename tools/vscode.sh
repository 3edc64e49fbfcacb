#!/bin/sh
# Builds the VS Code extension and tests it: types, the grammar, the manifest, and a conversation with the server.
#
#   tools/vscode.sh
#
# SOFTWARP is the command that is tested; without it, it is built, and PROFILE is Cargo's profile (release). npm fetches
# what editors/vscode/package-lock.json names; node is 20 or newer.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${SOFTWARP-}" ]; then
  profile=${PROFILE:-release}
  (cd "$root" && cargo build --quiet --locked --profile "$profile" --package softwarp-cli)
  folder=$profile
  [ "$profile" != dev ] || folder=debug
  SOFTWARP=$root/target/$folder/softwarp
fi
export SOFTWARP
cd "$root/editors/vscode"
npm ci --no-audit --no-fund
npm run build
npm test
