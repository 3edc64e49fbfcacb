#!/bin/bash
# vosen/ptx_tests on softwarp: single instructions against results that the host computes. Needs nightly Rust, m4 and
# make (for MPFR), crates.io, and GitHub or SOURCES (see common.sh).
#
#   cargo build --release -p softwarp-cuda
#   tests/field/ptx_tests.sh [option of ptx_tests...]     such as -f '^cvt_' or --shard-index 0 --shard-count 8
#
# Each test has 2^32 inputs. A small change makes the number a setting: LOG2 (default 20) takes 2^LOG2 of them, spread
# over the range; LOG2=32 takes all, as the original does. Failures and the counts are printed.

. "$(dirname "$0")/common.sh"
checkout ptx_tests vosen/ptx_tests 76d4dcef6a2e40fb3ab173c2ceda5f0098218f8b
use_library
cd "$source"
python3 - src/test.rs <<'END'
import sys

path = sys.argv[1]
text = open(path).read()
if "PTX_TESTS_LOG2" not in text:
    for old, new in (
        ("let total_elements = 2.pow(32);", "let total_elements = elements();"),
        (
            "let total_elements = Test::MAX_VALUE as usize + 1;",
            "let all = Test::MAX_VALUE as usize + 1;\n"
            "    let total_elements = elements().min(all);\n"
            "    let stride = all / total_elements;",
        ),
        ("t.generate((elment_start + i) as u32)", "t.generate(spread(elment_start + i, stride))"),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    text += """
fn elements() -> usize {
    1 << std::env::var("PTX_TESTS_LOG2").ok().and_then(|it| it.parse().ok()).unwrap_or(32)
}

fn spread(i: usize, stride: usize) -> u32 {
    (i * stride + i.wrapping_mul(0x9E37_79B1) % stride) as u32
}
"""
    open(path, "w").write(text)
END
LD_LIBRARY_PATH= cargo +nightly build --quiet --release
log=$work/ptx_tests.log
PTX_TESTS_LOG2=${LOG2:-20} target/release/ptx_tests "$work/lib/libcuda.so.1" "$@" > "$log" 2> "$log.err" || true
grep -A 3 FAIL "$log" || true
echo "$(grep -c ': OK$' "$log") passed, $(grep -c ': FAIL' "$log") failed"
