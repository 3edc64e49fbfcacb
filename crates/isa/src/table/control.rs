//! Control flow: PTX ISA section 9.7.12, and the stack manipulation of 9.7.17 and miscellany of 9.7.19.

use super::gates::*;
use crate::row::{Section, row};

#[rustfmt::skip]
pub(super) const SECTION: Section = Section {
    sets: &[],
    rows: &[
        row(ANY,      "bra{.uni}                label"),
        row(SM_30_60, "brx.idx{.uni}            a:u32, label"),
        row(ANY,      "call{.uni}               call"),
        row(ANY,      "ret{.uni}"),
        row(ANY,      "exit"),
        row(SM_52_73, "stacksave.u32|u64        d"),
        row(SM_52_73, "stackrestore.u32|u64     %a"),
        row(SM_52_73, "alloca.u32|u64           d, a{, #align}"),
        row(SM_11,    "brkpt"),
        row(SM_70_62, "nanosleep.u32            a:u32"),
        row(ANY_14,   "pmevent                  #a:0..15"),
        row(SM_20_30, "pmevent.mask             #a"),
        row(ANY,      "trap"),
        row(SM_90A_80, "setmaxnreg.inc|dec.sync.aligned.u32 #count:24..256"),
    ],
};
