//! The memory that threads of a launch share, by itself: the same files as in `vm`, with their tests. It takes seconds to
//! build, so `.ci/sanitizers` builds it with AddressSanitizer and with ThreadSanitizer; Miri can run it, too.

#![allow(dead_code, missing_docs, reason = "only the tests use it")]

extern crate self as softwarp_num;
extern crate self as softwarp_units;

#[path = "../../../crates/units/src/lanes.rs"]
pub mod lanes;

pub mod alu;
pub mod memory;

/// As in `num`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Baseline,
    Avx2,
    Avx512,
}

impl Level {
    /// The level that was detected.
    pub fn current() -> Level {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
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
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        Level::Baseline
    }
}

/// A race, which ThreadSanitizer must find: otherwise the other tests say nothing.
#[test]
#[ignore = "is wrong on purpose"]
fn race() {
    struct Shared(std::cell::UnsafeCell<u64>);
    // SAFETY: it is not: that is the point. Nothing else is done with the number.
    unsafe impl Sync for Shared {}
    let shared = Shared(std::cell::UnsafeCell::new(0));
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let shared = &shared;
            scope.spawn(move || {
                for _ in 0..1000 {
                    // SAFETY: as above.
                    unsafe { std::ptr::write_volatile(shared.0.get(), thread) };
                }
            });
        }
    });
}
