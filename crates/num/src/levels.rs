//! Multiversioning: a function compiled for several sets of CPU features, and the choice between them at run time.
//!
//! [`Level`] names the sets, [`Level::current`] is the one in use, and [`multiversion!`] compiles a function for each of
//! them. The features of a level are spelled once, in `level_features!`; what is compiled and what is detected both
//! come from there. [`vectorised`] does the same for one piece of work without a function pointer.
//!
//! **Soundness.** A function that was compiled for CPU features may be called only on a CPU that has them. Three things
//! guarantee that, and none of them can be changed from safe code:
//!
//! * [`Level::current`] never exceeds [`Level::best`], which asks the CPU, whatever the environment says.
//! * [`Levels`] holds one function per level and gives out only those of the current level or below.
//! * A token ([`Baseline`], [`Avx2`], [`Avx512`]) is the proof, as a value, that the CPU has a level. The functions that
//!   `multiversion!` makes pass one on.
//!
//! `unsafe` is here for these calls and for making the tokens.

use std::sync::OnceLock;

/// A set of CPU features that functions are compiled for, least first. Each contains those below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every CPU of the architecture has (SSE2 on x86-64, NEON on AArch64).
    Baseline,
    /// AVX2, BMI1, BMI2, FMA and F16C (x86-64-v3).
    Avx2,
    /// AVX-512 F, BW, CD, DQ and VL (x86-64-v4).
    Avx512,
}

/// The environment variable that forces a lower level: `baseline`, `avx2` or `avx512`.
pub const LEVEL_VARIABLE: &str = "SOFTWARP_SIMD";

impl Level {
    /// Every level, least first.
    pub const ALL: [Level; 3] = [Level::Baseline, Level::Avx2, Level::Avx512];

    /// The name that the environment variable takes.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// The highest level that this CPU has.
    pub fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(detect)
    }

    /// The level in use: the best, or the lower one that the environment asked for when first read.
    #[inline]
    pub fn current() -> Level {
        static CURRENT: OnceLock<Level> = OnceLock::new();
        *CURRENT.get_or_init(|| {
            let asked = std::env::var(LEVEL_VARIABLE).unwrap_or_default();
            let asked = Level::ALL.into_iter().find(|level| level.name() == asked);
            asked.map_or(Level::best(), |level| level.min(Level::best()))
        })
    }
}

/// The features of the levels: `level_features!(Avx2 detected)` is whether the CPU has them, and
/// `level_features!(Avx2 compile fn …)` a function that is compiled for them.
#[doc(hidden)]
#[macro_export]
macro_rules! level_features {
    (Avx2 $use:ident $($item:tt)*) => {
        $crate::level_features! { @$use ["avx2" "bmi1" "bmi2" "fma" "f16c"] $($item)* }
    };
    (Avx512 detected) => {
        $crate::level_features!(Avx2 detected) && $crate::level_features!(@avx512 detected)
    };
    (Avx512 compile $($item:tt)*) => {
        $crate::level_features! { @avx512 and_avx2 $($item)* }
    };
    (@avx512 $use:ident $($item:tt)*) => {
        $crate::level_features! { @$use ["avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl"] $($item)* }
    };
    (@and_avx2 [$($feature:tt)*] $($item:tt)*) => {
        $crate::level_features! { Avx2 compile #[target_feature($(enable = $feature),*)] $($item)* }
    };
    (@detected [$($feature:tt)*]) => { $(::std::arch::is_x86_feature_detected!($feature))&&* };
    (@compile [$($feature:tt)*] $($item:tt)*) => {
        #[target_feature($(enable = $feature),*)]
        $($item)*
    };
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    if level_features!(Avx512 detected) {
        Level::Avx512
    } else if level_features!(Avx2 detected) {
        Level::Avx2
    } else {
        Level::Baseline
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Baseline
}

/// The type of a token: code that is compiled for each level is generic over it.
pub trait Cpu: Copy {
    /// The level that it stands for.
    const LEVEL: Level;
}

macro_rules! tokens {
    ($($(#[$about:meta])* $name:ident;)*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(());

        impl $name {
            /// The token.
            ///
            /// # Safety
            /// The CPU has the features of the level.
            #[inline(always)]
            pub const unsafe fn new() -> $name {
                $name(())
            }

            /// The token, if the level in use is this one or a higher one.
            #[inline]
            pub fn current() -> Option<$name> {
                (Level::current() >= Level::$name).then_some($name(()))
            }
        }

        impl Cpu for $name {
            const LEVEL: Level = Level::$name;
        }
    )*};
}

tokens! {
    /// Says that the CPU has [`Level::Baseline`].
    Baseline;
    /// Says that the CPU has [`Level::Avx2`].
    Avx2;
    /// Says that the CPU has [`Level::Avx512`].
    Avx512;
}

/// One function for each level, as a type that `multiversion!` declares.
#[derive(Clone, Copy, Debug)]
pub struct Levels<F>([F; Level::ALL.len()]);

impl<F: Copy> Levels<F> {
    /// The functions of the levels, least first.
    ///
    /// # Safety
    /// Each needs at most the features of its level.
    pub const unsafe fn new(functions: [F; Level::ALL.len()]) -> Levels<F> {
        Levels(functions)
    }

    /// The function of the level in use.
    pub fn best(self) -> F {
        self.0[Level::current() as usize]
    }

    /// The functions of all levels up to the one in use, least first.
    pub fn available(self) -> Vec<F> {
        self.0[..=Level::current() as usize].to_vec()
    }
}

/// Compiles a function for each level.
///
/// The first form declares a type of such functions. Its values run safely: they come from safe functions, or from
/// [`Levels`].
///
/// The second form makes a function that returns the [`Levels`] of that type. What is compiled is the named body, which
/// takes a token ([`Cpu`]) before the other arguments. Generic parameters are given twice, as declared and as passed on.
/// Mark the body, and everything hot that it calls, `#[inline(always)]`: only what is inlined is compiled with a
/// level's features.
///
/// A function that is rarely run can be compiled for the baseline and AVX2 alone, which takes two thirds of the time:
/// write `rare fn`. At AVX-512, too, it is the AVX2 function that runs.
///
/// ```
/// use softwarp_num::{Cpu, multiversion};
///
/// multiversion! {
///     /// Adds a number to each element.
///     pub struct Add(x: &mut [u32], n: u32);
/// }
///
/// #[inline(always)]
/// fn add<C: Cpu, const TWICE: bool>(_: C, x: &mut [u32], n: u32) {
///     x.iter_mut().for_each(|x| *x += if TWICE { 2 * n } else { n });
/// }
///
/// multiversion! {
///     /// The loops of `add`.
///     fn adders[const TWICE: bool][TWICE](x: &mut [u32], n: u32): Add = add;
/// }
///
/// let mut x = [1, 2, 3];
/// adders::<true>().best().run(&mut x, 10);
/// assert_eq!(x, [21, 22, 23]);
/// ```
///
/// A function that needs features is no such value:
///
/// ```compile_fail,E0308
/// # softwarp_num::multiversion! { /// A.
/// # pub struct Add(x: &mut [u32], n: u32); }
/// unsafe fn needs_avx512(_: &mut [u32], _: u32) {}
/// let add = Add::of(needs_avx512);
/// ```
#[macro_export]
macro_rules! multiversion {
    (
        $(#[$about:meta])*
        $visible:vis struct $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;
    ) => {
        $(#[$about])*
        ///
        /// **Invariant**: this CPU has the features that the function was compiled for.
        #[derive(Clone, Copy, Debug)]
        $visible struct $name(unsafe fn($($type),*) $(-> $result)?);

        #[allow(dead_code, reason = "not every type needs all of them")]
        impl $name {
            /// A safe function, which needs no features.
            $visible const fn of(function: fn($($type),*) $(-> $result)?) -> $name {
                $name(function)
            }

            /// A function that may need features.
            ///
            /// # Safety
            /// Nothing may call it on a CPU without them.
            $visible const unsafe fn compiled(function: unsafe fn($($type),*) $(-> $result)?) -> $name {
                $name(function)
            }

            /// Runs it.
            #[inline(always)]
            $visible fn run(self, $($argument: $type),*) $(-> $result)? {
                // SAFETY: the CPU has the features, by the type's invariant.
                unsafe { (self.0)($($argument),*) }
            }
        }
    };
    (
        $(#[$about:meta])*
        $visible:vis fn $name:ident[$($parameters:tt)*] $passed:tt $arguments:tt
            $(-> $result:ty)? : $function:ty = $body:ident;
    ) => {
        $(#[$about])*
        $visible const fn $name<$($parameters)*>() -> $crate::Levels<$function> {
            $crate::multiversion! { @compile Baseline [$($parameters)*] $passed $arguments [$($result)?] $body }
            $crate::multiversion! { @compile Avx2 [$($parameters)*] $passed $arguments [$($result)?] $body }
            $crate::multiversion! { @compile Avx512 [$($parameters)*] $passed $arguments [$($result)?] $body }
            $crate::multiversion! { @levels $function [baseline avx2 avx512] $passed }
        }
    };
    (
        $(#[$about:meta])*
        $visible:vis rare fn $name:ident[$($parameters:tt)*] $passed:tt $arguments:tt
            $(-> $result:ty)? : $function:ty = $body:ident;
    ) => {
        $(#[$about])*
        $visible const fn $name<$($parameters)*>() -> $crate::Levels<$function> {
            $crate::multiversion! { @compile Baseline [$($parameters)*] $passed $arguments [$($result)?] $body }
            $crate::multiversion! { @compile Avx2 [$($parameters)*] $passed $arguments [$($result)?] $body }
            $crate::multiversion! { @levels $function [baseline avx2 avx2] $passed }
        }
    };
    (@compile Baseline [$($parameters:tt)*] [$($passed:tt)*] ($($argument:ident: $type:ty),* $(,)?) [$($result:ty)?]
        $body:ident) => {
        fn baseline<$($parameters)*>($($argument: $type),*) $(-> $result)? {
            // SAFETY: every CPU has the baseline.
            $body::<_, $($passed)*>(unsafe { $crate::Baseline::new() }, $($argument),*)
        }
    };
    (@compile Avx2 [$($parameters:tt)*] [$($passed:tt)*] ($($argument:ident: $type:ty),* $(,)?) [$($result:ty)?]
        $body:ident) => {
        #[cfg(target_arch = "x86_64")]
        $crate::level_features! { Avx2 compile
            fn avx2<$($parameters)*>($($argument: $type),*) $(-> $result)? {
                // SAFETY: this function has the features of the level, and runs only where the CPU has them.
                $body::<_, $($passed)*>(unsafe { $crate::Avx2::new() }, $($argument),*)
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        use baseline as avx2;
    };
    (@compile Avx512 [$($parameters:tt)*] [$($passed:tt)*] ($($argument:ident: $type:ty),* $(,)?) [$($result:ty)?]
        $body:ident) => {
        #[cfg(target_arch = "x86_64")]
        $crate::level_features! { Avx512 compile
            fn avx512<$($parameters)*>($($argument: $type),*) $(-> $result)? {
                // SAFETY: as above.
                $body::<_, $($passed)*>(unsafe { $crate::Avx512::new() }, $($argument),*)
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        use baseline as avx512;
    };
    (@levels $function:ty [$a:ident $b:ident $c:ident] [$($passed:tt)*]) => {
        // SAFETY: these functions are compiled for the features of the levels or of the level below, in this order,
        // and `Levels` gives out only those of levels that the CPU has.
        unsafe {
            $crate::Levels::new([
                <$function>::compiled($a::<$($passed)*>),
                <$function>::compiled($b::<$($passed)*>),
                <$function>::compiled($c::<$($passed)*>),
            ])
        }
    };
}

/// Work to be compiled for each level by [`vectorised`].
///
/// Mark `run`, and everything hot that it calls, `#[inline(always)]`: only what is inlined is compiled with
/// a level's features. (A closure would do if closures could be marked so.)
pub trait Vectorise {
    /// What it results in.
    type Output;
    /// Does it.
    fn run(self) -> Self::Output;
}

/// Runs `work` compiled for the current level's features, in the floating-point environment of the caller.
#[inline]
pub fn vectorised<W: Vectorise>(work: W) -> W::Output {
    match Avx512::current() {
        Some(cpu) => cpu.run(work),
        None => vectorised_rare(work),
    }
}

/// As [`vectorised`], but compiled for the baseline and AVX2 alone: for what is rarely run, or never at AVX-512.
#[inline]
pub fn vectorised_rare<W: Vectorise>(work: W) -> W::Output {
    match Avx2::current() {
        Some(cpu) => cpu.run(work),
        None => work.run(),
    }
}

macro_rules! run_work {
    ($($level:ident)*) => {$(
        impl $level {
            /// Runs `work` compiled for this level's features.
            #[inline]
            pub fn run<W: Vectorise>(self, work: W) -> W::Output {
                #[cfg(target_arch = "x86_64")]
                level_features! { $level compile
                    fn compiled<W: Vectorise>(work: W) -> W::Output {
                        work.run()
                    }
                }
                // SAFETY: the token says that the CPU has the features.
                #[cfg(target_arch = "x86_64")]
                return unsafe { compiled(work) };
                #[cfg(not(target_arch = "x86_64"))]
                work.run()
            }
        }
    )*};
}

run_work! { Avx2 Avx512 }
