//! How the assembler reads a mnemonic's words.
//!
//! The manual gives one order. The assembler knows names of several words (`mul.lo`, `cp.async.bulk.tensor`),
//! whose words stand right after the opcode, and takes the other words in any order, as long as types keep
//! their order among themselves, state spaces theirs, and so do any two words that could stand for one
//! another (`.row.col`). All of this was measured.

use crate::Type;

use super::Space;

/// The assembler's names of more than one word. Where one is the beginning of another, both are names.
const NAMES: &[&str] = &[
    "applypriority.async.bulk",
    "applypriority.async.bulk.tensor",
    "bar.cta",
    "bar.cta.red",
    "bar.red",
    "bar.warp",
    "barrier.cluster.arrive",
    "barrier.cluster.wait",
    "barrier.cta",
    "barrier.cta.red",
    "barrier.red",
    "brx.idx",
    "clmad.hi",
    "clmad.lo",
    "clusterlaunchcontrol.query_cancel",
    "clusterlaunchcontrol.try_cancel.async",
    "cp.async",
    "cp.async.bulk",
    "cp.async.bulk.commit_group",
    "cp.async.bulk.prefetch",
    "cp.async.bulk.prefetch.tensor",
    "cp.async.bulk.tensor",
    "cp.async.bulk.wait_group",
    "cp.async.commit_group",
    "cp.async.mbarrier.arrive",
    "cp.async.wait_all",
    "cp.async.wait_group",
    "cp.reduce.async.bulk",
    "cp.reduce.async.bulk.tensor",
    "createpolicy.cvt",
    "createpolicy.fractional",
    "createpolicy.range",
    "cvta.to",
    "div.full",
    "dp2a.hi",
    "dp2a.lo",
    "fabric.submit",
    "fabric.try_get.async",
    "fabric.try_pullred.async",
    "fabric.try_put.async",
    "fabric.try_red.async",
    "fabric.wait",
    "fence.proxy",
    "mad.hi",
    "mad.lo",
    "mad.wide",
    "mad24.hi",
    "mad24.lo",
    "madc.hi",
    "madc.lo",
    "mbarrier.arrive",
    "mbarrier.arrive.expect_tx",
    "mbarrier.arrive_drop",
    "mbarrier.arrive_drop.expect_tx",
    "mbarrier.check_layout",
    "mbarrier.complete_tx",
    "mbarrier.expect_tx",
    "mbarrier.init",
    "mbarrier.inval",
    "mbarrier.pending_count",
    "mbarrier.test_wait",
    "mbarrier.test_wait.parity",
    "mbarrier.try_wait",
    "mbarrier.try_wait.parity",
    "membar.proxy",
    "mul.hi",
    "mul.lo",
    "mul.wide",
    "mul24.hi",
    "mul24.lo",
    "multimem.cp.async.bulk",
    "multimem.cp.reduce.async.bulk",
    "multimem.ld_reduce",
    "multimem.red",
    "multimem.red.async",
    "multimem.st",
    "multimem.st.async",
    "red.async",
    "setmaxnreg.dec",
    "setmaxnreg.inc",
    "shf.l",
    "shf.r",
    "st.async",
    "st.bulk",
    "suld.b",
    "sured.b",
    "sured.p",
    "sust.b",
    "sust.p",
    "tensormap.cp_fenceproxy",
    "tensormap.replace",
    "tex.base",
    "tex.grad",
    "tex.level",
    "tcgen05.alloc",
    "tcgen05.commit",
    "tcgen05.cp",
    "tcgen05.dealloc",
    "tcgen05.fence::after_thread_sync",
    "tcgen05.fence::before_thread_sync",
    "tcgen05.ld",
    "tcgen05.ld.red",
    "tcgen05.ld.red.spcompress",
    "tcgen05.ld.spcompress",
    "tcgen05.mma",
    "tcgen05.mma.ws",
    "tcgen05.relinquish_alloc_permit",
    "tcgen05.shift",
    "tcgen05.st",
    "tcgen05.wait::ld",
    "tcgen05.wait::st",
    "txq.level",
    "wgmma.commit_group",
    "wgmma.fence",
    "wgmma.mma_async",
    "wgmma.mma_async.sp",
    "wgmma.wait_group",
    "wmma.load.a",
    "wmma.load.b",
    "wmma.load.c",
    "wmma.mma",
    "wmma.store.d",
];

/// How many of the words belong to the name: those of the longest name that they begin with.
pub(super) fn in_name(opcode: &str, words: &[&str]) -> usize {
    let length = |name: &str| {
        let Some(rest) = name.strip_prefix(opcode).and_then(|rest| rest.strip_prefix('.')) else {
            return 0;
        };
        let mut parts = rest.split('.');
        let count = parts.clone().count();
        let stand =
            words.len() >= count && words.iter().all(|word| parts.next().is_none_or(|part| part == *word));
        if stand { count } else { 0 }
    };
    NAMES.iter().map(|name| length(name)).max().unwrap_or(0)
}

/// Whether a word is only ever part of this opcode's name.
pub(super) fn names_word(opcode: &str, word: &str) -> bool {
    NAMES.iter().any(|name| {
        let mut parts = name.split('.');
        parts.next() == Some(opcode) && parts.any(|part| part == word)
    })
}

/// Words that may stand several times to no effect.
const REPEATABLE: &[&str] = &["NaN", "approx", "cc", "relu", "sat", "satfinite", "shiftamt", "sync", "uni"];

/// Types that the assembler passes over beside the others, with these opcodes and some forms of others.
const IGNORED_TYPES: &[&str] = &["pred", "texref", "samplerref", "surfref"];
const TYPE_IGNORED: &[&str] = &[
    "abs", "add", "atom", "cos", "cvt", "ex2", "fma", "ldmatrix", "lg2", "max", "min", "neg", "rcp", "rsqrt",
    "set", "setp", "sin", "sqrt", "sub", "tanh",
];

/// Words of one instruction that the assembler passes over with any other, one of a kind: its opcode, and the words.
const FOREIGN: &[(&str, &[&str])] = &[
    (
        "tensormap",
        &[
            "box_dim",
            "element_stride",
            "elemtype",
            "fill_mode",
            "global_address",
            "global_dim",
            "global_stride",
            "interleave_layout",
            "rank",
            "swizzle_atomicity",
            "swizzle_mode",
        ],
    ),
    ("testp", &["finite", "infinite", "normal", "notanumber", "number", "subnormal"]),
];

/// Formats of packed data, which `ldmatrix` and `tcgen05.cp` have; others pass over them, however many.
const FORMATS: &[&str] = &["b8x16", "b6x16_p32", "b4x16_p64"];

/// Whether the word at this place says nothing: it repeats an earlier one that may be repeated, or the assembler
/// passes over it with this opcode.
pub(super) fn is_idle(opcode: &str, words: &[&str], at: usize) -> bool {
    let word = words[at];
    let repeats = REPEATABLE.contains(&word) && words[..at].contains(&word);
    let alone = |kind: &[&str]| words.iter().filter(|word| kind.contains(word)).count() == 1;
    let foreign = |(owner, kind): &(&str, &[&str])| {
        let owned = *owner == opcode && words.first() != Some(&"cp_fenceproxy");
        !owned && kind.contains(&word) && alone(kind)
    };
    let typed = || match opcode {
        "cp" => words.contains(&"reduce"),
        "mul" => !matches!(words.first(), Some(&"lo" | &"hi" | &"wide")),
        "multimem" => !words.contains(&"cp") || words.contains(&"reduce"),
        "red" => words.first() != Some(&"async"),
        "wmma" => words.first() == Some(&"mma"),
        "wgmma" => words.first() == Some(&"mma_async"),
        _ => TYPE_IGNORED.contains(&opcode),
    };
    let moves_tiles = match opcode {
        "ldmatrix" | "stmatrix" | "movmatrix" => true,
        "tcgen05" => matches!(words.first(), Some(&"cp" | &"ld" | &"st")),
        "wgmma" => words.first() == Some(&"mma_async"),
        _ => false,
    };
    let with_formats = opcode == "ldmatrix" || (opcode == "tcgen05" && words.first() == Some(&"cp"));
    repeats
        || (IGNORED_TYPES.contains(&word) && typed())
        || FOREIGN.iter().any(foreign)
        || (opcode == "fence"
            && words.first() == Some(&"proxy")
            && Space::from_name(word).is_some()
            && words.contains(&"release")
            && !words.contains(&"async"))
        || (FORMATS.contains(&word) && !with_formats)
        || (matches!(word, "row" | "col") && moves_tiles)
        || (word == "uni" && matches!(opcode, "tex" | "tld4"))
        || (matches!(word, "all" | "any")
            && opcode == "bar"
            && words.first() == Some(&"sync")
            && alone(&["all", "any"]))
}

/// The kinds of word whose order among themselves counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Type,
    Space,
    /// `.row` and `.col`; and the formats `.b8x16` and `.b6x16_p32`, which never meet them.
    Layout,
    Free,
}

pub(super) fn order(word: &str) -> Order {
    if Type::from_name(word).is_some() || word == "b1" {
        Order::Type
    } else if Space::from_name(word).is_some() {
        Order::Space
    } else if matches!(word, "row" | "col" | "b8x16" | "b6x16_p32" | "b4x16_p64") {
        Order::Layout
    } else {
        Order::Free
    }
}
