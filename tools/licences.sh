#!/usr/bin/env bash
# Copies the licences of the crates that are in the binaries of packages of this repository.
#
#   tools/licences.sh FOLDER PACKAGE…
set -euo pipefail
folder=$1
shift
packages=()
for package in "$@"; do
  packages+=(-p "$package")
done
cd "$(dirname "$0")/.."

crates=$(cargo tree --locked "${packages[@]}" -e normal --prefix none --format '{p}' | sort -u)
printf '%s\n' "$crates" | while read -r crate number rest; do
  case "$rest" in
  "(/"*) continue ;; # a crate of this repository
  esac
  for source in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$crate-${number#v}"; do
    [ -d "$source" ] || continue
    mkdir -p "$folder/$crate"
    find "$source" -maxdepth 1 -type f \
      \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'unlicense*' \) \
      -exec cp {} "$folder/$crate/" \;
    if [ -z "$(ls "$folder/$crate")" ]; then
      # No file of its own: what its manifest says.
      grep '^license' "$source/Cargo.toml" >"$folder/$crate/LICENSE"
    fi
  done
done
