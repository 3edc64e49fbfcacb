//! The operands of a form: read from the words that a user gave, and the instruction run on them.

use crate::explain::{Explanation, explain};
use crate::literal::Literal;
use softwarp::isa::cvt::OperandName;
use softwarp::isa::{CvtForm, Semantics, Type};
use softwarp::num::{Conversion, Cvt, Extra, Format, Packed, Saturation, extend, pack};

/// An operand with its value.
#[derive(Debug)]
pub struct Bound {
    /// Its name.
    pub name: OperandName,
    /// The bits of its register.
    pub bits: u64,
    /// The numbers in it; `None` for bits that are none.
    pub layout: Option<Packed>,
    /// What was written for each element, highest first, where that is not what the element holds.
    pub rounded_from: Vec<Option<String>>,
}

/// An element of the result.
#[derive(Debug)]
pub struct Element {
    /// Its lane.
    pub lane: u32,
    /// Where it comes from: `a`, or `a[1]`.
    pub from: String,
    /// What the conversion did.
    pub story: Explanation,
}

/// An instruction, run.
#[derive(Debug)]
pub struct Evaluation {
    /// The operands that are read.
    pub operands: Vec<Bound>,
    /// The bits of the destination.
    pub result: u64,
    /// How wide the destination is.
    pub width: u32,
    /// What a register of 32 bits would hold, where that is more than zeros above the result.
    pub extended: Option<u64>,
    /// The elements of the result, highest first.
    pub elements: Vec<Element>,
}

/// The operands that are read, in PTX's order.
pub fn sources(form: CvtForm) -> Vec<OperandName> {
    let names = form.operands().iter().flat_map(|operand| operand.names());
    names.copied().filter(|name| *name != OperandName::D).collect()
}

/// The register types that the assembler takes for an operand, the usual one first.
pub fn registers(form: CvtForm, name: OperandName) -> Vec<Type> {
    let usual = form.register(name);
    let others = Type::ALL.iter().copied().filter(|ty| Some(*ty) != usual && form.accepts(name, *ty));
    usual.into_iter().chain(others).collect()
}

/// The numbers in an operand's register.
fn layout(form: CvtForm, name: OperandName) -> Option<Packed> {
    match name {
        OperandName::ScaleFactor => {
            let lanes = form.operand_type(name)?.bits() / 8;
            Some(Packed { element: Format::Ue8m0, lanes: lanes as u8 })
        }
        _ => form.operand_type(name)?.packed(),
    }
}

/// Reads the values and runs the instruction.
pub fn evaluate(form: CvtForm, values: &[String]) -> Result<Evaluation, String> {
    let literals = values.iter().map(|value| Literal::parse(value).map_err(|error| error.to_string()));
    let literals: Vec<Literal> = literals.collect::<Result<_, _>>()?;
    let operands = bind(form, &literals)?;
    match form.semantics() {
        Semantics::Cvt(cvt) => run_cvt(form, cvt, operands),
        Semantics::Pack { to, with_c } => Ok(run_pack(to, with_c, operands)),
    }
}

/// A pattern to show how patterns are written.
const PATTERN: u64 = 0x3c3c_3c3c_3c3c_3c3c;

/// Deals the values out to the operands.
fn bind(form: CvtForm, literals: &[Literal]) -> Result<Vec<Bound>, String> {
    let names = sources(form);
    let lanes = usize::from(form.atype().lanes());
    // Only `a` can be packed; then it is one register, or a given number of elements.
    let spread = literals.len() == names.len() + lanes - 1;
    if literals.len() != names.len() && !spread {
        return Err(miscounted(form, &names, lanes, literals.len()));
    }
    let mut rest = literals.iter();
    let mut operands = Vec::new();
    for name in names {
        let layout = layout(form, name);
        let elements = if name == OperandName::A && spread { lanes } else { 1 };
        let given: Vec<&Literal> = rest.by_ref().take(elements).collect();
        let bits = form.operand_type(name).map_or(64, Type::bits);
        let in_operand = |error: &dyn std::fmt::Display| format!("operand {name}: {error}");
        let mut rounded_from = Vec::new();
        let value = match (layout, given.as_slice()) {
            (Some(packed), [pattern]) if pattern.is_pattern() && packed.lanes > 1 => {
                let what = format!("a register of {packed}");
                pattern.register(&what, bits).map_err(|error| in_operand(&error))?
            }
            (Some(packed), given) => {
                let mut codes = Vec::new();
                for literal in given {
                    let encoded = literal.encode(packed.element).map_err(|error| in_operand(&error))?;
                    rounded_from.push((!encoded.exact).then(|| literal.text()));
                    codes.push(encoded.code);
                }
                if name == OperandName::ScaleFactor {
                    if rounded_from.iter().any(Option::is_some) {
                        return Err(in_operand(&"a scale is a power of two, or a ue8m0 code such as 0x7f"));
                    }
                    codes = vec![codes.first().copied().unwrap_or(0); usize::from(packed.lanes)];
                } else if codes.len() < usize::from(packed.lanes) {
                    return Err(in_operand(&format!(
                        "{packed} takes one register pattern such as 0x{:x}, or {} elements",
                        PATTERN & (u64::MAX >> (64 - packed.bits().clamp(1, 64))),
                        packed.lanes
                    )));
                }
                codes.reverse();
                packed.join(&codes)
            }
            (None, given) => {
                let literal = given.first().ok_or_else(|| in_operand(&"no value"))?;
                literal.register(name.name(), bits).map_err(|error| in_operand(&error))?
            }
        };
        operands.push(Bound { name, bits: value, layout, rounded_from });
    }
    Ok(operands)
}

fn miscounted(form: CvtForm, names: &[OperandName], lanes: usize, given: usize) -> String {
    let list: Vec<&str> = names.iter().map(|name| name.name()).collect();
    let list = list.join(", ");
    let values = |count: usize| if count == 1 { "1 value".to_owned() } else { format!("{count} values") };
    let or = match lanes {
        1 => String::new(),
        _ => format!(", or {} with the {lanes} elements of a one by one", names.len() + lanes - 1),
    };
    let verb = if given == 1 { "was" } else { "were" };
    format!("{form} takes {} ({list}{or}), and {given} {verb} given", values(names.len()))
}

fn run_cvt(form: CvtForm, cvt: Cvt, operands: Vec<Bound>) -> Result<Evaluation, String> {
    let value = |name| operands.iter().find(|operand| operand.name == name).map(|operand| operand.bits);
    let sources: Vec<u64> = [OperandName::A, OperandName::B, OperandName::E, OperandName::F]
        .into_iter()
        .filter_map(value)
        .collect();
    let usual = Extra::default();
    let extra = Extra {
        rbits: value(OperandName::Rbits).map_or(usual.rbits, |bits| bits as u32),
        scale: value(OperandName::ScaleFactor).map_or(usual.scale, |bits| bits as u16),
    };
    let result = cvt.eval(&sources, extra).ok_or_else(|| format!("{form} is not implemented"))?;
    let lanes = u32::from(cvt.lanes);
    let names = ["a", "b", "e", "f"];
    let element = |lane: u32| {
        let from = match (cvt.packed_source, names.get((lanes - 1 - lane) as usize)) {
            (false, Some(name)) => (*name).to_owned(),
            _ => format!("a[{lane}]"),
        };
        let source = cvt.source_code(&sources, lane);
        let code = cvt.dst().get(result, lane);
        Element { lane, from, story: explain(cvt.element, source, cvt.lane_extra(extra, lane), code) }
    };
    let elements = (0..lanes).rev().map(element).collect();
    let width = cvt.dst().bits();
    let wider = lanes == 1 && width < 32 && form.accepts(OperandName::D, Type::B32);
    let extended = extend(cvt.element.dst, result, 32);
    let extended = (wider && extended != result).then_some(extended);
    Ok(Evaluation { operands, result, width, extended, elements })
}

fn run_pack(to: Format, with_c: bool, operands: Vec<Bound>) -> Evaluation {
    let value = |name| operands.iter().find(|operand| operand.name == name).map_or(0, |operand| operand.bits);
    let (a, b) = (value(OperandName::A), value(OperandName::B));
    let c = with_c.then(|| value(OperandName::C) as u32);
    let result = u64::from(pack(to, a as u32 as i32, b as u32 as i32, c));
    let clamp = Conversion::new(Format::S32, to).with_saturation(Saturation::Clamp);
    let element = |lane: u32, from: &str, source| {
        let code = result >> (lane * to.bits()) & to.mask();
        Element { lane, from: from.to_owned(), story: explain(clamp, source, 0, code) }
    };
    let elements = vec![element(1, "a", a), element(0, "b", b)];
    Evaluation { operands, result, width: 32, extended: None, elements }
}
