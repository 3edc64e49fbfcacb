//! Where forms exist: the "PTX ISA Notes" and "Target ISA Notes" of chapter 9 that more than one row shares,
//! and those that come with a single word.

use crate::Version;
use crate::availability::{Availability, Targets};
use crate::mnemonic::{Modifier, Opcode};
use crate::row::{Gate, Removal};

/// One way to be available.
pub(super) const fn since(targets: Targets, major: u8, minor: u8) -> Availability {
    Availability { targets, since: Version::new(major, minor) }
}

/// Alternatives; any one suffices.
pub(super) type Gates = &'static [Availability];

/// Names for `[since(From(sm), major, minor)]`.
macro_rules! gates {
    ($($name:ident $targets:ident $sm:literal $major:literal $minor:literal;)*) => {
        $(pub(super) const $name: Gates = &[since(Targets::$targets($sm), $major, $minor)];)*
    };
}

pub(super) const ANY: Gates = &[since(Targets::All, 1, 0)];
pub(super) const ANY_11: Gates = &[since(Targets::All, 1, 1)];
pub(super) const ANY_13: Gates = &[since(Targets::All, 1, 3)];
pub(super) const ANY_14: Gates = &[since(Targets::All, 1, 4)];
pub(super) const ANY_30: Gates = &[since(Targets::All, 3, 0)];
pub(super) const ANY_20: Gates = &[since(Targets::All, 2, 0)];
pub(super) const ANY_12: Gates = &[since(Targets::All, 1, 2)];
pub(super) const ANY_15: Gates = &[since(Targets::All, 1, 5)];
pub(super) const ANY_42: Gates = &[since(Targets::All, 4, 2)];
pub(super) const ANY_21: Gates = &[since(Targets::All, 2, 1)];
pub(super) const ANY_23: Gates = &[since(Targets::All, 2, 3)];
pub(super) const ANY_41: Gates = &[since(Targets::All, 4, 1)];
pub(super) const ANY_78: Gates = &[since(Targets::All, 7, 8)];
pub(super) const ANY_83: Gates = &[since(Targets::All, 8, 3)];
pub(super) const SM_90A_80: Gates =
    &[since(Targets::Architectures(&[90]), 8, 0), since(Targets::Families(&[100, 110, 120]), 8, 6)];
pub(super) const SM_90A_82: Gates = &[since(Targets::Architectures(&[90]), 8, 2)];
pub(super) const CTA_GROUP: Gates = &[since(Targets::Families(&[100, 110]), 8, 6)];
pub(super) const FAMILIES_87: Gates = &[since(Targets::Families(&[100, 110, 120]), 8, 7)];
pub(super) const PACKED_BYTES: Gates = &[since(Targets::Families(&[107, 120]), 9, 2)];
pub(super) const LOCAL_91: Gates = &[since(Targets::All, 9, 1)];
pub(super) const SM_90A: Gates = &[since(Targets::Architectures(&[90]), 8, 0)];
pub(super) const TENSORMAP: Gates =
    &[since(Targets::Architectures(&[90]), 8, 3), since(Targets::Families(&[100, 110, 120]), 8, 6)];
pub(super) const MULTICAST_ALL: Gates = &[since(Targets::Families(&[100, 110, 120]), 8, 6)];
pub(super) const MULTIMEM_F8: Gates = &[since(Targets::Families(&[100, 110, 120]), 8, 6)];
pub(super) const LDMATRIX_B8: Gates = &[since(Targets::Families(&[100, 110, 120]), 8, 6)];
pub(super) const LDMATRIX_S4: Gates =
    &[since(Targets::Architectures(&[90]), 9, 4), since(Targets::Families(&[100, 110, 120]), 9, 4)];
pub(super) const FAMILY_120: Gates = &[since(Targets::Families(&[120]), 8, 7)];
pub(super) const FAMILY_107: Gates = &[since(Targets::Families(&[107]), 9, 4)];
pub(super) const SPARSE: Gates = &[since(Targets::Architectures(&[107]), 9, 4)];
pub(super) const FABRIC_F8: Gates = &[since(Targets::Families(&[100, 110, 120]), 9, 3)];
pub(super) const ALTERNATE_FLOATS: Gates = &[since(Targets::Architectures(&[100, 103]), 9, 4)];
pub(super) const BULK_RELAXED: Gates =
    &[since(Targets::Architectures(&[90]), 9, 3), since(Targets::Families(&[100, 110]), 9, 3)];
pub(super) const TCGEN05: Gates = &[since(Targets::Families(&[100, 110]), 8, 6)];
pub(super) const TCGEN05_87: Gates = &[since(Targets::Families(&[100, 110]), 8, 7)];
pub(super) const TCGEN05_88: Gates = &[since(Targets::Families(&[100, 110]), 8, 8)];
pub(super) const TCGEN05_94: Gates = &[since(Targets::Families(&[100, 110]), 9, 4)];
pub(super) const TCGEN05_A: Gates = &[since(Targets::Architectures(&[100, 101, 103, 107, 110]), 8, 6)];
pub(super) const TCGEN05_I8: Gates = &[since(Targets::Architectures(&[100, 101, 110]), 8, 6)];
pub(super) const TCGEN05_LD_RED: Gates = &[since(Targets::Families(&[103, 110]), 8, 8)];
pub(super) const TCGEN05_SCALE_D: Gates = &[since(Targets::Families(&[100]), 8, 6)];
pub(super) const REDUX_F32: Gates = &[since(Targets::Families(&[100]), 8, 6)];

/// Forms that ended.
pub(super) const VOTE_64: Removal = ended(6, 4, 70, "write `vote.sync`, with a mask of the lanes that vote");
pub(super) const SHFL_64: Removal =
    ended(6, 4, 70, "write `shfl.sync`, with a mask of the lanes that take part");
pub(super) const SATFINITE_65: Removal = ended(6, 5, 70, "leave `.satfinite` out");
pub(super) const MAD_32: Removal = ended(3, 2, 20, "name a rounding, as in `mad.rn.f32`");
pub(super) const MAD_14: Removal = ended(1, 4, 0, "name a rounding, as in `mad.rn.f64`");
pub(super) const DIV_14: Removal =
    ended(1, 4, 0, "name a rounding, as in `div.rn`, or for .f32 `div.approx` or `div.full`");
pub(super) const ROUND_14: Removal = ended(1, 4, 0, "name a rounding, such as `.rn`, or for .f32 `.approx`");
pub(super) const APPROX_14: Removal = ended(1, 4, 0, "write `.approx` before the type");

const fn ended(major: u8, minor: u8, least_sm: u16, instead: &'static str) -> Removal {
    Removal { version: Version::new(major, minor), least_sm, instead }
}

gates! {
    SM_11 From 11 1 0;
    SM_12 From 12 1 0;
    SM_12_12 From 12 1 2;
    SM_11_12 From 11 1 2;
    SM_13 From 13 1 0;
    SM_13_14 From 13 1 4;
    SM_20 From 20 1 0;
    SM_20_20 From 20 2 0;
    SM_20_21 From 20 2 1;
    SM_20_30 From 20 3 0;
    SM_20_31 From 20 3 1;
    SM_20_40 From 20 4 0;
    SM_20_43 From 20 4 3;
    SM_30_30 From 30 3 0;
    SM_30_60 From 30 6 0;
    SM_30_78 From 30 7 8;
    SM_20_22 From 20 2 2;
    SM_20_41 From 20 4 1;
    SM_30_32 From 30 3 2;
    SM_30_40 From 30 4 0;
    SM_30_43 From 30 4 3;
    SM_30_62 From 30 6 2;
    SM_60_75 From 60 7 5;
    SM_70_75 From 70 7 5;
    SM_32_31 From 32 3 1;
    SM_50_43 From 50 4 3;
    SM_53_42 From 53 4 2;
    SM_53_60 From 53 6 0;
    SM_53_65 From 53 6 5;
    SM_60_50 From 60 5 0;
    SM_60_62 From 60 6 2;
    SM_61_50 From 61 5 0;
    SM_70_60 From 70 6 0;
    SM_70_62 From 70 6 2;
    SM_70_63 From 70 6 3;
    SM_70_74 From 70 7 4;
    SM_70_76 From 70 7 6;
    SM_70_77 From 70 7 7;
    SM_70_82 From 70 8 2;
    SM_70_83 From 70 8 3;
    SM_72_63 From 72 6 3;
    SM_72_65 From 72 6 5;
    SM_75_63 From 75 6 3;
    SM_75_65 From 75 6 5;
    SM_75_70 From 75 7 0;
    SM_75_74 From 75 7 4;
    SM_75_78 From 75 7 8;
    SM_75_81 From 75 8 1;
    SM_80_70 From 80 7 0;
    SM_80_71 From 80 7 1;
    SM_80_74 From 80 7 4;
    SM_80_93 From 80 9 3;
    SM_86_72 From 86 7 2;
    SM_70_61 From 70 6 1;
    SM_70_64 From 70 6 4;
    SM_80_80 From 80 8 0;
    SM_80_81 From 80 8 1;
    SM_80_85 From 80 8 5;
    SM_89_84 From 89 8 4;
    SM_89_85 From 89 8 5;
    SM_89_87 From 89 8 7;
    SM_20_78 From 20 7 8;
    SM_30_41 From 30 4 1;
    SM_50_81 From 50 8 1;
    SM_52_73 From 52 7 3;
    SM_70_93 From 70 9 3;
    SM_90_92 From 90 9 2;
    SM_70_84 From 70 8 4;
    SM_90_78 From 90 7 8;
    SM_90_80 From 90 8 0;
    SM_90_81 From 90 8 1;
    SM_90_83 From 90 8 3;
    SM_90_84 From 90 8 4;
    SM_90_86 From 90 8 6;
    SM_90_94 From 90 9 4;
    SM_90_91 From 90 9 1;
    SM_90_93 From 90 9 3;
    SM_100_93 From 100 9 3;
    SM_100_86 From 100 8 6;
    SM_100_87 From 100 8 7;
    SM_100_88 From 100 8 8;
}

/// Gates that a word brings wherever it stands with one of these opcodes (all, if none is named). `s8+u8` is
/// two words together, and `ftz+f64.f32` a word together with two that follow one another.
#[rustfmt::skip]
const WORDS: &[(&str, &str, Gates)] = &[
    ("ld st ldu atom red ldmatrix cp multimem", "L2::cache_hint",         SM_80_74),
    ("ld",             "L2::64B L2::128B",                                SM_75_74),
    ("ld",             "L2::256B",                                        SM_80_74),
    ("cp",             "L2::64B L2::128B L2::256B",                       SM_80_74),
    ("ld st",          "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate", SM_70_74),
    ("ld st",          "L2::evict_normal L2::evict_first L2::evict_last", SM_100_88),
    ("ld st",          "weak",                                            SM_70_60),
    ("ld st atom red", "relaxed acquire release acq_rel",                 SM_70_60),
    ("atom red",       "cta gpu sys",                                     SM_60_50),
    ("ld st",          "mmio",                                            SM_70_82),
    ("st",             "param param::func",                               SM_20),
    ("ld st",          "volatile",                                        ANY_11),
    ("ld st",          "ca cg cs lu cv wb wt",                            SM_20),
    ("atom red",       "shared+u64 shared+b64",                           SM_20),
    ("atom red",       "shared u64 b64",                                  SM_12),
    ("add sub mul",    "rm+f32 rp+f32",                                   SM_20),
    ("add sub mul mad abs neg min max set setp slct div rcp sqrt rsqrt sin cos lg2 ex2", "ftz", ANY_14),
    ("div rcp sqrt rsqrt sin cos lg2 ex2", "approx full",                 ANY_14),
    ("cvt",            "ftz+f64.f32 ftz+f32.u8 ftz+f32.s8 ftz+u64.f32 ftz+s64.f32", ANY_15),
    ("cvt",            "ftz",                                             ANY_14),
    ("ld ldu st mov selp slct", "f64",                                    SM_13),
    ("suld sust sured", "clamp zero",                                     ANY_20),
    ("ld",             "proxy::readonly",                                 SM_90_94),
    ("cp",             "cta_group::1 cta_group::2 im2col::w::128",        CTA_GROUP),
    ("cp multimem",    "cp_mask",                                         SM_100_86),
    ("cp",             "weak",                                            SM_90_93),
    ("cp",             "multicast::cluster::16b",                         SM_90_94),
    ("cp",             "multicast::cluster::32b",                         FAMILY_107),
    ("cp",             "mbarrier::report::disabled mbarrier::report::validity::per_16bytes::80000000 mbarrier::report::validity::per_16bytes::8000 mbarrier::report::validity::per_16bytes::80 mbarrier::report::validity::per_16bytes::8 mbarrier::report::validity::per_element::ff", FAMILY_107),
    ("cp applypriority", "override::global_address",                      FAMILY_107),
    ("wmma",           "aligned",                                         SM_70_63),
    ("suld sust sured", "3d a1d a2d 4d 5d",                                     SM_20_30),
    ("suq txq",        "channel_data_type channel_order",                 ANY_21),
    ("suq",            "array_size",                                      ANY_41),
    ("suq",            "memory_layout",                                   ANY_42),
    ("txq",            "num_samples",                                     SM_30_41),
    ("tex",            "a1d a2d",                                         ANY_23),
    ("",               "cluster",                                         SM_90_78),
    ("",               "shared::cluster",                                 SM_90_78),
    ("ld st atom red isspacep cvta mbarrier ldmatrix stmatrix wmma", "shared::cta", ANY_78),
    ("ld st atom",     "sys+b128",                                        SM_70_84),
    ("tcgen05",        "exclusive multicast::cluster::16b",               TCGEN05_94),
    ("tcgen05",        "sync_restrict::shared::read::mma::a multicast::cluster::32b kind::ti16 collector::b::fill collector::b::use collector::b::lastuse collector::b::discard", FAMILY_107),
    ("tcgen05",        "kind::i8",                                        TCGEN05_I8),
    ("tcgen05",        "kind::mxf4nvf4",                                  TCGEN05_87),
    ("tcgen05",        "block16 block32",                                 TCGEN05_88),
    ("tcgen05",        "sp+kind::mxf4 sp+kind::mxf4nvf4",                 TCGEN05_A),
    ("tcgen05",        "scale_vec::1X scale_vec::2X scale_vec::4X",       TCGEN05_A),
    ("wgmma",          "s8+u8",                                           SM_90_84),
    ("",               "param::entry param::func",                        ANY_83),
];

/// Opcodes that reach memory by generic addresses if they name no state space.
const GENERIC: &[Opcode] = &[Opcode::Ld, Opcode::St, Opcode::Atom, Opcode::Red];

/// The gates that a form's words bring.
pub(crate) fn word_gates(opcode: Opcode, words: &[Modifier]) -> Vec<Gate> {
    let mut gates = Vec::new();
    if GENERIC.contains(&opcode) && words.iter().all(|word| word.space().is_none()) {
        gates.push(Gate { word: None, any_of: SM_20, removed: None });
    }
    for (opcodes, callers, any_of) in WORDS {
        if !opcodes.is_empty() && !opcodes.split(' ').any(|known| known == opcode.name()) {
            continue;
        }
        for caller in callers.split(' ') {
            let (word, other) = caller.split_once('+').unwrap_or((caller, caller));
            let stands = |names: &str| follow_one_another(words, names);
            let both = stands(word) && stands(other);
            gates.extend(both.then_some(Gate { word: Some(word), any_of, removed: None }));
        }
    }
    gates
}

/// Whether words with these names, between dots, stand one after another.
fn follow_one_another(words: &[Modifier], names: &str) -> bool {
    let count = names.split('.').count();
    words.windows(count).any(|words| words.iter().map(|word| word.name()).eq(names.split('.')))
}
