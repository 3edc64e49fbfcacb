#!/usr/bin/env bash
# Runs a Rust program of cudarc 0.19.10 (examples/cudarc, versions in its Cargo.lock) without a GPU.
# Needs crates.io. From the root of the repository: tests/field/cudarc.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --quiet --release -p softwarp-cli -p softwarp-cuda -p softwarp-nvjitlink
CARGO_TARGET_DIR=target/cudarc cargo build --quiet --release --locked --manifest-path examples/cudarc/Cargo.toml
out=$(target/release/softwarp exec --check --summary target/cudarc/summary.txt -- \
  target/cudarc/release/softwarp-example-cudarc)
echo "$out"
cat target/cudarc/summary.txt
grep -qx "1000 elements are right" <<<"$out"
grep -q "1 launch of 1 kernel" target/cudarc/summary.txt
echo "cudarc: 1 of 1 programs passes"
