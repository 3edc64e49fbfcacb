#!/usr/bin/env bash
# Builds the module of the explorer: target/web/softwarp.wasm.
#
# The target wasm32-unknown-unknown comes from rustup; where rustup cannot reach its host, from the sources of the standard
# library in Debian's packages (rustc-web, cargo-web, rust-web-src).
set -euo pipefail
cd "$(dirname "$0")/.."

target=wasm32-unknown-unknown
# The parser and the debugger need more than the usual megabyte of stack.
export RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+simd128 -C link-arg=-zstack-size=4194304"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/wasm"

has_target() {
  [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]
}

build() {
  cargo build --target "$target" --profile web --package softwarp-web --lib "$@"
}

if ! has_target && command -v rustup > /dev/null; then
  timeout 20 rustup target add "$target" || true
fi
if has_target; then
  build
else
  # Debian's compiler builds the standard library from its sources.
  if [ ! -d /usr/lib/rustlib/src/rust/library ] || [ ! -x /usr/bin/cargo ]; then
    apt-get update -qq
    apt-get install -y -qq rustc-web cargo-web rust-web-src
  fi
  # A linker that knows WebAssembly: lld's, or that of rustup's toolchain.
  linker=$(command -v wasm-ld || find "$(rustc --print sysroot)" -name rust-lld -type f | head -n 1)
  export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="$linker"
  export RUSTC_BOOTSTRAP=1
  PATH="/usr/bin:$PATH" build -Zbuild-std=std,panic_abort
fi

mkdir -p target/web
cp "$CARGO_TARGET_DIR/$target/web/softwarp_web.wasm" target/web/softwarp.wasm
raw=$(wc -c < target/web/softwarp.wasm)
small=$(gzip -9 -c target/web/softwarp.wasm | wc -c)
echo "target/web/softwarp.wasm: $raw bytes, $small with gzip -9"
