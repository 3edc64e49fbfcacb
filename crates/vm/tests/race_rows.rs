//! Races of warps that access rows of words side by side, which share a cell of shadow memory.

use crate::sanitized::{SHARED, found};
use softwarp_vm::sanitize::FindingKind;

/// What two warps do with shared memory, first the one and then the other, and between them.
fn warps(first: &str, between: &str, second: &str) -> usize {
    let body = format!(
        "mov.u32 %s, s; and.b32 %r1, %t, 31; mad.lo.u32 %s, %r1, 4, %s; shr.u32 %r2, %t, 5;
        setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r2, 1; xor.b32 %r3, %s, 64; sub.u32 %r4, 0, %s;
        {first} {between} {second}"
    );
    found(SHARED, &body).iter().filter(|one| matches!(one.kind, FindingKind::Race { .. })).count()
}

#[test]
fn rows_of_words_that_warps_access_side_by_side_race_as_single_words_do() {
    let accesses = [
        ("@%p1 st.shared.u32 [%s], %t;", "@%p2 st.shared.u32 [%s], %t;"),
        ("@%p1 st.shared.u32 [%s], %t;", "@%p2 ld.shared.u32 %r9, [%s];"),
        ("@%p1 ld.shared.u32 %r9, [%s];", "@%p2 st.shared.u32 [%s], %t;"),
        // The halves of the second warp change places, or it is one word further.
        ("@%p1 st.shared.u32 [%s], %t;", "@%p2 ld.shared.u32 %r9, [%r3];"),
        ("@%p1 st.shared.u32 [%s], %t;", "@%p2 ld.shared.u32 %r9, [%s+4];"),
        ("@%p1 ld.shared.u32 %r9, [%s+4];", "@%p2 st.shared.u32 [%s], %t;"),
        // One word of a row, and bytes of it.
        ("@%p1 st.shared.u32 [%s], %t;", "@%p2 ld.shared.u32 %r9, [s+68];"),
        ("@%p1 ld.shared.u32 %r9, [s+68];", "@%p2 st.shared.u32 [%s], %t;"),
        ("@%p1 st.shared.u32 [%s], %t;", "@%p2 ld.shared.u8 %h1, [%s+3];"),
        ("@%p1 ld.shared.u8 %h1, [%s+3];", "@%p2 st.shared.u32 [%s], %t;"),
        // A vector of words each.
        ("@%p1 st.shared.u32 [%s], %t;", "@%p2 ld.shared.v2.u32 {%r9, %r10}, [s+64];"),
    ];
    // The memory is written before all this.
    let begin = "@%p1 st.shared.u32 [%s], 0; @%p1 st.shared.u32 [%s+128], 0; bar.sync 0;";
    for (first, second) in accesses {
        let first = format!("{begin} {first}");
        assert_eq!(warps(&first, "bar.sync 0;", second), 0, "{first} {second}");
        assert_eq!(warps(&first, "", second), 1, "{first} {second}");
        // In either order.
        assert_eq!(warps(begin, second, &first[begin.len()..]), 1, "{second} {first}");
    }
}

#[test]
fn lanes_race_with_other_lanes_in_rows_of_words() {
    let begin = "@%p1 st.shared.u32 [%s], 0; @%p1 st.shared.u32 [%s+128], 0; bar.sync 0;";
    let write = "@%p1 st.shared.u32 [%s], %t;";
    for (read, races) in [
        ("@%p1 ld.shared.u32 %r9, [%s];", 0),
        ("@%p1 ld.shared.u32 %r9, [%r3];", 1),
        ("@%p1 ld.shared.u32 %r9, [%s+4];", 1),
        ("@%p1 ld.shared.u32 %r9, [s+12];", 1),
        ("and.b32 %r3, %s, 63; mov.u32 %r5, s; add.u32 %r3, %r3, %r5; @%p1 ld.shared.u32 %r9, [%r3];", 1),
    ] {
        assert_eq!(warps(&format!("{begin} {write}"), "", read), races, "{read}");
        assert_eq!(warps(&format!("{begin} {write}"), "bar.warp.sync 0xffffffff;", read), 0, "{read}");
        assert_eq!(warps(&format!("{begin} {read}"), "", write), races, "{read}");
    }
}

#[test]
fn the_same_value_is_no_race_in_rows_of_words_either() {
    let [same, other] = ["5", "%t"].map(|value| format!("@%p2 st.shared.u32 [%s], {value};"));
    assert_eq!(warps("@%p1 st.shared.u32 [%s], 5;", "", &same), 0);
    assert_eq!(warps("@%p1 st.shared.u32 [%s], 5;", "", &other), 1);
    // In parts of words, too: bytes of values that were stored whole.
    let byte =
        |value: &str| format!("mov.u32 %r6, {value}; cvt.u16.u32 %h1, %r6; @%p2 st.shared.u8 [%s+1], %h1;");
    assert_eq!(warps("@%p1 st.shared.u32 [%s], 0x00000500;", "", &byte("5")), 0);
    assert_eq!(warps("@%p1 st.shared.u32 [%s], 0x00000500;", "", &byte("6")), 1);
}

#[test]
fn a_write_behind_an_own_read_races_with_the_reader_of_the_other_warp() {
    let body = "mov.u32 %s, s; and.b32 %r1, %t, 31; mad.lo.u32 %s, %r1, 4, %s; shr.u32 %r2, %t, 5;
        setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r2, 1;
        @%p1 st.shared.u32 [%s], 0; bar.sync 0;
        @%p1 ld.shared.u32 %r9, [%s]; @%p2 ld.shared.u32 %r9, [%s]; @%p2 st.shared.u32 [%s], %t;";
    let races: Vec<_> = found(SHARED, body)
        .into_iter()
        .filter(|one| matches!(one.kind, FindingKind::Race { .. }))
        .map(|one| (one.at.place.thread[0], one.other.map(|other| other.place.thread[0])))
        .collect();
    assert_eq!(races, [(32, Some(0))]);
}
