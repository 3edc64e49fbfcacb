//! Every row of the instruction table parses, in release builds too: one that does not would be passed over in silence.

use softwarp_isa::instruction::{Kind, Opcode, opcodes, resolve, spell, unparsed_rows};

#[test]
fn every_row_of_the_table_parses() {
    let (rows, errors) = unparsed_rows();
    assert!(rows > 1_000, "the table has only {rows} rows");
    assert!(errors.is_empty(), "{errors:#?}");
}

/// An opcode is a value only if the table has it: `cvt` has a table of its own.
#[test]
fn every_opcode_has_rows() {
    for opcode in Opcode::ALL {
        let tabled = *opcode != Opcode::Cvt;
        assert_eq!(spell(opcode.name(), |_| 0).is_some(), tabled, "{opcode}");
    }
}

/// Forms by chance from every opcode's rows: each operand of each says what may stand for it.
#[test]
fn no_operand_is_unchecked() {
    let mut state = 7u32;
    let mut forms = 0;
    for opcode in opcodes() {
        for _ in 0..200 {
            let chance = |count: usize| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as usize % count
            };
            let Some(mnemonic) = spell(opcode, chance) else { continue };
            let words: Vec<&str> = mnemonic.split('.').skip(1).collect();
            let Ok(shape) = resolve(opcode, &words) else { continue };
            forms += 1;
            for signature in &shape.signatures {
                let any = signature.operands.iter().find(|operand| matches!(operand.kind, Kind::Any));
                assert!(any.is_none(), "{mnemonic}: {}", signature.syntax);
            }
        }
    }
    assert!(forms > 5_000, "only {forms} forms");
}
