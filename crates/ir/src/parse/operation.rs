//! Reads one operation.

use crate::immediate::Immediate;
use crate::input::{Input, Parsed};
use crate::operand::Operand;
use crate::{Alu, AluOp, Guard, Op, Slots, Step};
use softwarp_isa::instruction::resolve;
use softwarp_units::alu::simple::{Extension, Field, Quotient, Simple};

/// Reads an operation, which is after its number.
pub(super) fn parse(input: &mut Input<'_>) -> Parsed<Op> {
    let guard = if input.eat("@") { Guard::parse(input)? } else { Guard::ALWAYS };
    let mut writes = input.split_writes();
    let at = input.clone();
    let name = input.name()?;
    if name == "bra" {
        writes.end()?;
        let target = input.number()?;
        return Ok(Op::Branch(guard, target));
    }
    if let Some(step) = Step::parse(name, &mut writes, input) {
        let step = step?;
        if let Step::Load(access) | Step::Store(access) = &step
            && (!matches!(access.bytes, 1 | 2 | 4 | 8 | 16) || !access.registers.len().is_power_of_two())
        {
            return Err(at.error("an access has a power of two of elements of 1, 2, 4, 8 or 16 bytes"));
        }
        return Ok(Op::Other(guard, Box::new(step)));
    }
    let op = match simple(name, input)? {
        Some(simple) => AluOp::Simple(simple),
        None => {
            let mut words = name.split('.');
            let opcode = words.next().unwrap_or_default();
            let form = resolve(opcode, &words.collect::<Vec<_>>());
            let form = form.map_err(|_| at.error(format!("there is no operation `{name}`")))?;
            AluOp::Instruction((*form).into(), crate::Immediate::None)
        }
    };
    let mut alu = Alu { op, d: Slots::default(), s: Slots::default(), guard };
    while !writes.is_at_end() {
        push(&mut alu.d, &mut writes)?;
    }
    while !input.is_at_end() {
        let lut = !input.is_at_slot();
        match &mut alu.op {
            AluOp::Instruction(_, immediate) if lut && *immediate == crate::Immediate::None => {
                *immediate = match input.peek_word() {
                    "Selectors" => crate::Immediate::Video(Immediate::parse(input)?),
                    _ => crate::Immediate::Lut(input.number()?),
                };
                input.end()?;
            }
            AluOp::Instruction(..) | AluOp::Simple(_) => push(&mut alu.s, input)?,
        }
    }
    Ok(Op::Alu(alu))
}

/// Reads a slot and the comma after it.
fn push<const N: usize>(slots: &mut Slots<N>, input: &mut Input<'_>) -> Parsed<()> {
    let start = input.clone();
    if !slots.push(input.slot()?) {
        return Err(start.error(format!("there are at most {N} operands")));
    }
    if !input.is_at_end() {
        input.expect(",")?;
    }
    Ok(())
}

/// An operation of lowering's own, with the parameters after its name; none if it has none of their names.
fn simple(name: &str, input: &mut Input<'_>) -> Parsed<Option<Simple>> {
    let start = input.clone();
    let field = |input: &mut Input<'_>, most: u32| {
        let shift = input.number::<u32>()?;
        input.expect("..")?;
        let end = input.number::<u32>()?;
        match shift < end && end <= most {
            true => Ok(Field { shift, bits: end - shift }),
            false => Err(start.error("the bits are not in the row")),
        }
    };
    let bits = |input: &mut Input<'_>, most: u32| {
        let bits = input.number::<u32>()?;
        if (1..=most).contains(&bits) { Ok(bits) } else { Err(start.error(format!("1 to {most} bits"))) }
    };
    let quotient = |full, ftz| Quotient { ftz, full };
    Ok(Some(match name {
        "copy.b32" => Simple::Move32,
        "copy.b64" => Simple::Move64,
        "copy.pred" => Simple::MovePredicate,
        "not.pred" => Simple::Not,
        "true" => Simple::Truth(true),
        "false" => Simple::Truth(false),
        "extract.b32" => Simple::Extract32(field(input, 32)?),
        "extract.b64" => Simple::Extract64(field(input, 64)?),
        "pack.b32" => Simple::Pack32(bits(input, 32)?),
        "pack.b64" => Simple::Pack64(bits(input, 32)?),
        "sext.b32" => {
            let from = bits(input, 32)?;
            input.expect("to")?;
            Simple::Sign32(Extension { from, to: bits(input, 32)? })
        }
        "sext.b64" => Simple::Sign64(Extension { from: bits(input, 32)?, to: 64 }),
        "zext.b64" => Simple::Zero64,
        "add.b32" => Simple::Add32,
        "add.b64" => Simple::Add64,
        "sub.b32" => Simple::Sub32,
        "sub.b64" => Simple::Sub64,
        "div.dividend" => Simple::Dividend(quotient(false, false)),
        "div.dividend.ftz" => Simple::Dividend(quotient(false, true)),
        "div.dividend.full" => Simple::Dividend(quotient(true, false)),
        "div.dividend.full.ftz" => Simple::Dividend(quotient(true, true)),
        "div.reciprocal" => Simple::Reciprocal(quotient(false, false)),
        "div.reciprocal.ftz" => Simple::Reciprocal(quotient(false, true)),
        "div.reciprocal.full" => Simple::Reciprocal(quotient(true, false)),
        "div.reciprocal.full.ftz" => Simple::Reciprocal(quotient(true, true)),
        "is_inside" => Simple::Inside { inverted: false },
        "is_outside" => Simple::Inside { inverted: true },
        _ => return Ok(None),
    }))
}
