//! Masks of lanes, as in `vm`, and the level in use.

use crate::Level;

#[path = "../../../crates/vm/src/ops/ballot.rs"]
pub mod ballot;

/// The level that was detected.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub fn level() -> Level {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq");
    match (avx2, avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        _ => Level::Baseline,
    }
}

/// What every CPU has.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub fn level() -> Level {
    Level::Baseline
}
