#!/usr/bin/env bash
# Builds a release archive for x86-64 Linux: the command, the libraries that `softwarp exec` hands to programs, manual
# pages, completions, documents and licences. Needs a Rust toolchain and GNU tar. From anywhere: tools/archive.sh [FOLDER]
#
# The archive and its SHA-256 are written into FOLDER, or target/archive. To install, unpack it under a prefix:
#   tar -xzf softwarp-VERSION-x86_64-linux.tar.gz -C ~/.local --strip-components=1
set -euo pipefail
start=$PWD
cd "$(dirname "$0")/.."
root=$PWD

if [ "$(uname -sm)" != "Linux x86_64" ]; then
  echo "archive.sh: builds for x86-64 Linux, and this is $(uname -sm)" >&2
  exit 1
fi
case "${1-}" in
'') output=$root/target/archive ;;
/*) output=$1 ;;
*) output=$start/$1 ;;
esac

names=(softwarp-cli softwarp-cuda softwarp-cudart softwarp-nvjitlink softwarp-nvrtc softwarp-audit
  softwarp-preload)
cargo build --release --locked "${names[@]/#/--package=}"
built=${CARGO_TARGET_DIR:-target}/release

version=$("$built/softwarp" --version | awk '{ print $2 }')
name=softwarp-$version-x86_64-linux
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
folder=$staging/$name

# `softwarp` finds the libraries in ../lib/softwarp. Their other names are for LD_LIBRARY_PATH without it.
install -D -m 755 "$built/softwarp" "$folder/bin/softwarp"
libraries=$folder/lib/softwarp
mkdir -p "$libraries"
for library in cuda cudart nvjitlink nvrtc softwarp_audit softwarp_preload; do
  install -m 755 "$built/lib$library.so" "$libraries/lib$library.so"
done
ln -s libcuda.so "$libraries/libcuda.so.1"
ln -s libcudart.so "$libraries/libcudart.so.13"
ln -s libcudart.so "$libraries/libcudart.so.12"

"$folder/bin/softwarp" man "$folder/share/man/man1"
completions() {
  mkdir -p "$folder/share/$2"
  "$folder/bin/softwarp" completions "$1" >"$folder/share/$2/$3"
}
completions bash bash-completion/completions softwarp
completions zsh zsh/site-functions _softwarp
completions fish fish/vendor_completions.d softwarp.fish

# The licences of softwarp and of the crates that are in the binaries.
documents=$folder/share/doc/softwarp
mkdir -p "$documents/licences"
cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$documents"
cp -r docs "$documents/docs" # the README's links lead there
tools/licences.sh "$documents/licences" "${names[@]}"

mkdir -p "$output"
time=$(git log -1 --format=%ct 2>/dev/null || date +%s)
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$time" -C "$staging" -cf - "$name" |
  gzip -n -9 >"$output/$name.tar.gz"
(cd "$output" && sha256sum "$name.tar.gz" | tee "$name.tar.gz.sha256")
