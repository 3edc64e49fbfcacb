//! What the rows of the instruction table say, asked through `resolve`.

use softwarp_isa::CvtForm;
use softwarp_isa::instruction::{Kind, Opcode, opcodes, resolve, spell};
use softwarp_testkit::SplitMix64;

#[test]
fn every_opcode_has_rows() {
    for opcode in Opcode::ALL {
        assert!(spell(opcode.name(), |_| 0).is_some(), "{opcode}");
    }
}

/// `CvtForm` expands the rows that `resolve` matches: both know the same mnemonics of `cvt`.
#[test]
fn forms_of_cvt_are_what_resolve_knows() {
    for form in CvtForm::all() {
        let text = form.to_string();
        let words: Vec<&str> = text.split('.').skip(1).collect();
        let shape = resolve("cvt", &words).unwrap_or_else(|fault| panic!("{text}: {fault}"));
        assert_eq!(shape.mnemonic(), text);
        assert_eq!(shape.signatures.len(), 1, "{text} is covered by one row");
        assert_eq!(CvtForm::from_words(&shape.words), Some(form), "{text}");
    }
    let mut random = SplitMix64::new(3);
    for _ in 0..2_000 {
        let mnemonic = spell("cvt", |count| random.below(count)).expect("cvt has rows");
        let words: Vec<&str> = mnemonic.split('.').skip(1).collect();
        for words in [&words[..], &words[1..], &words[..words.len() - 1]] {
            assert_eq!(resolve("cvt", words).is_ok(), CvtForm::parse(&words.join(".")).is_ok(), "{words:?}");
        }
    }
}

/// A word that the assembler passes over may not part `.pack` from the opcode; ptxas 13.4 says "Unknown modifier".
#[test]
fn pack_stands_right_after_cvt() {
    assert!(resolve("cvt", &["pack", "b8x16", "sat", "s16", "s32"]).is_ok());
    let fault = resolve("cvt", &["b8x16", "pack", "sat", "s16", "s32"]).unwrap_err();
    assert_eq!(fault.to_string(), "`.pack` belongs to the instruction's name and stands right after it");
    assert_eq!(fault.words, [1]);
}

/// Forms by chance from every opcode's rows: each operand of each says what may stand for it.
#[test]
fn no_operand_is_unchecked() {
    let mut random = SplitMix64::new(7);
    let mut forms = 0;
    for opcode in opcodes() {
        for _ in 0..200 {
            let Some(mnemonic) = spell(opcode, |count| random.below(count)) else { continue };
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
