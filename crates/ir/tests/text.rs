//! The parser of the intermediate representation: errors with their places, and texts that are not functions.

use softwarp_ir::Function;
use softwarp_testkit::SplitMix64;

const TEXT: &str = "\
rows: 9 of 32 bits, 6 of 64 bits, 3 predicates
memory per thread: 16 bytes local, 32 bytes of parameters
r0 = 0x4
r2 = Ctaid(1)
r1 = Tid(0)
d0 = [param 0x8]
shared: r0 = 0x400
zeroed: r3, d1
unread: 2
from launch: 2 = r1 of r70
instructions: 1 = 0, 5 = 2
0: r3 = add.u32 r1, r0
1: r4 = extract.b32 8..16 r3
2: r5 = special register=Tid(0)
3: p1 = setp.lt.u32 r4, r0
4: @!p1 bra 9
5: {r4, r5} = ld [global d0-8], bytes=4, order=acquire.gpu
6: d2 = atom [shared r3+16], d1, d2, op=Cas, ty=.b64, order=relaxed.cta
7: _, p2 = warp r0, p1, op=VoteAny, negated
8: r6 = lop3.b32 r4, r5, r3, 0x96
9: switch r6, targets=[0, 9, 11]
10: call Vprintf, outputs=[(32, 48, 4)]
11: st.async [shared::cluster r3], [shared r4], {r5, r6}, bytes=4
12: mbarrier.arrive [shared r3], _, r4, expect, order=release.cta
13: r7 = tex 0x10, _, {r3, r4}, gradient({r5, r6}, {r3, r4}), geometry=D2, values=Words
14: wait_group queue=Copies, pending=1, all
15: {r3, _:16} = ld [global d0], bytes=2
16: _:32 = ld [global d0], bytes=4
17: ret
";

#[test]
fn a_function_is_printed_as_it_was_parsed() {
    let function = Function::parse(TEXT).unwrap_or_else(|error| panic!("{error}"));
    let printed = format!("{function:#}");
    let again = Function::parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    assert_eq!(format!("{again:#}"), printed);
    let line = |text: &str| text.lines().map(|line| line.trim_start().to_owned()).collect::<Vec<_>>();
    assert_eq!(line(&printed), line(TEXT));
}

#[test]
fn errors_name_their_places() {
    let head = "rows: 2 of 32 bits, 1 of 64 bits, 1 predicates\n";
    let mut wrong = Vec::new();
    for (text, error) in [
        ("r0 = 0x5", "line 1, column 1: `rows:` was expected first"),
        ("rows: 5000000 of 32 bits", "line 1, column 7: a function has at most 1048576 rows of a kind"),
    ] {
        let found = Function::parse(text).expect_err(text).to_string();
        if found != error {
            wrong.push(found);
        }
    }
    for (line, error) in [
        ("r0 = 0x100000000", "line 2, column 6: a number was expected that is not too large here"),
        ("1: ret", "line 2, column 1: the number of the operation is 0"),
        ("0: r0 = add.u33 r1, r1", "line 2, column 9: there is no operation `add.u33`"),
        ("0: r0 = add.u32 r1, r7", "line 2, column 4: r7 is none of 2 rows"),
        ("0: r0 = add.u32 r1 r1", "line 2, column 20: `,` was expected"),
        ("0: bra 7", "line 2, column 4: there is no operation 7"),
        ("0: r0 = ld [globe d0], bytes=4", "line 2, column 13: `globe` is no memory"),
        ("0: r0 = ld [global d0]", "line 2, column 23: `bytes=` is missing"),
        (
            "0: r0 = ld [global d0], bytes=3",
            "line 2, column 9: an access has a power of two of elements of 1, 2, 4, 8 or 16 bytes",
        ),
        (
            "0: r0 = ld [global d0], byte=4",
            "line 2, column 25: the operation has no immediate operand `byte`",
        ),
        ("0: r0 = ld [global d0], bytes=4, bytes=4", "line 2, column 34: `bytes` stands twice"),
        ("0: r0 = ld", "line 2, column 11: an operand is missing"),
        ("0: @r0 ret", "line 2, column 5: a predicate was expected"),
        ("0: ret r0", "line 2, column 8: the operation has no immediate operand `r0`"),
        ("0: r0 = special register=Tidy", "line 2, column 26: `Tidy` is no Special"),
    ] {
        let text = format!("{head}{line}\n");
        let found = Function::parse(&text).map_or_else(|error| error.to_string(), |_| line.to_owned());
        if found != error {
            wrong.push(format!("{line} -> {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is not a function is an error, whatever it is.
#[test]
fn texts_that_were_changed_anywhere_are_parsed_or_refused() {
    let mut random = SplitMix64::new(3);
    let mut below = |count: usize| (random.next_u64() % count as u64) as usize;
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        "=",
        "_",
        "r",
        "d9",
        "p0",
        "-",
        "0x",
        "99999999999999999999",
        ":",
        "é",
    ];
    let mut parsed = 0;
    for _ in 0..3_000 {
        let mut text = TEXT.to_owned();
        for _ in 0..1 + below(3) {
            let mut at = below(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let mut end = (at + below(4)).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.replace_range(at..end.max(at), pieces[below(pieces.len())]);
        }
        if let Ok(function) = Function::parse(&text) {
            let printed = format!("{function:#}");
            let again = Function::parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
            assert_eq!(format!("{again:#}"), printed);
            parsed += 1;
        }
    }
    assert!(parsed > 0);
}
