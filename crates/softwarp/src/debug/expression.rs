//! Expressions of a debugger: registers, variables and memory, with the operators of C.
//!
//! | | |
//! |---|---|
//! | `%r1`, `%v.x`, `%tid.x` | a register, or a special register |
//! | `tile`, `tile[3]`, `&tile` | a variable or buffer, an element of it, its address |
//! | `f32[%rd1 + 4]` | memory at a generic address |
//! | `shared.u32[16]` | memory of a state space: `global`, `shared`, `local`, `const`, `param` |
//! | `f32(%r5)` | the bits of a register as another type |
//! | `1`, `0x10`, `1.5`, `true` | numbers |
//!
//! The parser is one of operator precedence; an expression has a bounded depth.

use super::value::{Value, bits_of, bytes_of, type_named};
use crate::ir::Memory;
use crate::isa::{Class, Type};

/// The deepest expression.
const DEEPEST: u32 = 64;

/// The most elements of an array that are shown.
const MOST_SHOWN: u64 = 16;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoValue(pub String);

fn no<T>(why: impl Into<String>) -> Result<T, NoValue> {
    Err(NoValue(why.into()))
}

/// A variable or buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Where it is.
    pub space: Memory,
    /// Its address there.
    pub address: u64,
    /// Its generic address, if it has one.
    pub generic: Option<u64>,
    /// The type of an element.
    pub ty: Type,
    /// Its bytes.
    pub bytes: u64,
}

/// What names mean where an expression is evaluated.
pub trait Scope {
    /// The value of a register or special register, by its name with the percent sign.
    fn register(&self, name: &str) -> Option<Value>;

    /// A variable or buffer.
    fn variable(&self, name: &str) -> Option<Variable>;

    /// Reads memory.
    fn read(&self, space: Memory, address: u64, into: &mut [u8]) -> Result<(), NoValue>;
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Int(i128),
    /// Any other.
    Float(f64),
}

impl Number {
    /// Whether a condition holds.
    pub fn is_true(self) -> bool {
        match self {
            Number::Int(value) => value != 0,
            Number::Float(value) => value != 0.0,
        }
    }

    fn float(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }
}

/// The value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Evaluated {
    /// Bits of a type.
    Value(Value),
    /// The result of a computation.
    Number(Number),
    /// A variable with several elements: the first of them, and how many there are.
    Array(Vec<Value>, u64),
}

impl Evaluated {
    /// Whether a condition holds; none of an array.
    pub fn is_true(&self) -> bool {
        self.number().is_ok_and(Number::is_true)
    }

    /// It as a number.
    pub fn number(&self) -> Result<Number, NoValue> {
        match self {
            Evaluated::Number(number) => Ok(*number),
            Evaluated::Value(value) => number_of(value),
            Evaluated::Array(..) => no("an array is not a number: name an element, as in x[0]"),
        }
    }

    /// It as a typed value, if it has a type.
    pub fn value(&self) -> Option<Value> {
        match self {
            Evaluated::Value(value) => Some(*value),
            _ => None,
        }
    }
}

impl std::fmt::Display for Evaluated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Evaluated::Value(value) => value.fmt(f),
            Evaluated::Number(Number::Int(value)) if (0..10).contains(value) => write!(f, "{value}"),
            Evaluated::Number(Number::Int(value)) if *value >= 0 => write!(f, "{value} ({value:#x})"),
            Evaluated::Number(Number::Int(value)) => write!(f, "{value}"),
            Evaluated::Number(Number::Float(value)) => f.write_str(&crate::literal::display_f64(*value)),
            Evaluated::Array(values, count) => {
                let shown: Vec<String> = values.iter().map(Value::number).collect();
                let more = if *count > values.len() as u64 { ", …" } else { "" };
                write!(f, "{{{}{more}}}", shown.join(", "))
            }
        }
    }
}

fn number_of(value: &Value) -> Result<Number, NoValue> {
    let signed = |bits: u32| {
        let shift = 128 - bits;
        ((value.bits << shift) as i128) >> shift
    };
    Ok(match (value.ty.class(), value.ty.packed()) {
        (Class::Signed, _) if value.ty.lanes() == 1 => Number::Int(signed(bits_of(value.ty))),
        (Class::Float | Class::Fixed, Some(packed)) if packed.lanes == 1 => {
            Number::Float(packed.element.decode(value.bits as u64))
        }
        (_, Some(packed)) if packed.lanes > 1 => {
            return no(format!("a value of type .{} has several numbers", value.ty.name()));
        }
        _ => match i128::try_from(value.bits) {
            Ok(bits) => Number::Int(bits),
            Err(_) => return no("a value of 128 bits is not computed with"),
        },
    })
}

/// Evaluates an expression.
pub fn evaluate(text: &str, scope: &dyn Scope) -> Result<Evaluated, NoValue> {
    let mut parser = Parser { rest: text, scope, depth: 0 };
    let value = parser.binary(0)?;
    match parser.peek() {
        "" => Ok(value),
        rest => no(format!("`{rest}` is left over behind an expression")),
    }
}

/// What a variable holds: its value, or the first elements.
pub fn contents(scope: &dyn Scope, variable: &Variable) -> Result<Evaluated, NoValue> {
    let count = variable.bytes / bytes_of(variable.ty).max(1);
    if count == 1 {
        return element(scope, variable, 0).map(Evaluated::Value);
    }
    let elements = 0..count.min(MOST_SHOWN);
    let values = elements.map(|index| element(scope, variable, index * bytes_of(variable.ty)));
    Ok(Evaluated::Array(values.collect::<Result<_, _>>()?, count))
}

fn element(scope: &dyn Scope, variable: &Variable, offset: u64) -> Result<Value, NoValue> {
    let mut bytes = vec![0; bytes_of(variable.ty) as usize];
    scope.read(variable.space, variable.address.wrapping_add(offset), &mut bytes)?;
    Ok(Value::of_bytes(variable.ty, &bytes))
}

struct Parser<'a> {
    rest: &'a str,
    scope: &'a dyn Scope,
    depth: u32,
}

/// The binary operators, by how strongly they bind.
const OPERATORS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl<'a> Parser<'a> {
    fn peek(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        self.rest
    }

    fn take(&mut self, token: &str) -> bool {
        let rest = self.peek().strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), NoValue> {
        match self.take(token) {
            true => Ok(()),
            false => no(match self.peek() {
                "" => format!("`{token}` is missing at the end"),
                rest => format!("`{token}` is missing before `{rest}`"),
            }),
        }
    }

    /// The operator of a level that comes next.
    fn operator(&mut self, level: usize) -> Option<&'static str> {
        let rest = self.peek();
        let found = OPERATORS[level].iter().copied().find(|operator| rest.starts_with(operator))?;
        let longer = |operator: &str| rest.starts_with(operator) && operator.len() > found.len();
        let another = OPERATORS.iter().flat_map(|level| level.iter()).any(|operator| longer(operator));
        // A percent sign before a letter begins a register.
        let register =
            found == "%" && rest[1..].starts_with(|next: char| next.is_alphabetic() || next == '_');
        (!another && !register).then_some(found)
    }

    fn binary(&mut self, level: usize) -> Result<Evaluated, NoValue> {
        if level == OPERATORS.len() {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = self.operator(level) {
            self.rest = &self.rest[operator.len()..];
            let right = self.binary(level + 1)?;
            left = Evaluated::Number(compute(operator, left.number()?, right.number()?)?);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Evaluated, NoValue> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return no("the expression is too deep");
        }
        let value = if self.take("-") {
            match self.unary()?.number()? {
                Number::Int(value) => Number::Int(value.wrapping_neg()).into(),
                Number::Float(value) => Number::Float(-value).into(),
            }
        } else if self.take("!") {
            Number::Int((!self.unary()?.is_true()).into()).into()
        } else if self.take("~") {
            match self.unary()?.number()? {
                Number::Int(value) => Number::Int(!value).into(),
                Number::Float(_) => return no("`~` is not for floating-point numbers"),
            }
        } else if self.take("&") {
            let name = self.word();
            let variable = self.scope.variable(name).ok_or_else(|| unknown(name))?;
            let address = variable.generic.unwrap_or(variable.address);
            Evaluated::Value(Value::new(Type::B64, address.into()))
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(value)
    }

    /// A name, with what PTX allows in names and dots.
    fn word(&mut self) -> &'a str {
        let rest = self.peek();
        let part = |next: char| next.is_alphanumeric() || matches!(next, '_' | '$' | '%' | '.');
        let end = rest.char_indices().find(|&(at, next)| !part(next) || at > 0 && next == '%');
        let (word, rest) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        self.rest = rest;
        word
    }

    fn primary(&mut self) -> Result<Evaluated, NoValue> {
        if self.take("(") {
            let value = self.binary(0)?;
            self.expect(")")?;
            return Ok(value);
        }
        let rest = self.peek();
        if rest.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
            return self.literal();
        }
        let word = self.word();
        match word {
            "" if rest.is_empty() => return no("an expression is missing"),
            "" => return no(format!("`{rest}` is no expression")),
            "true" => return Ok(Number::Int(1).into()),
            "false" => return Ok(Number::Int(0).into()),
            _ if word.starts_with('%') => {
                return self.scope.register(word).map(Evaluated::Value).ok_or_else(|| {
                    NoValue(format!("there is no register `{word}` here, or nothing uses it"))
                });
            }
            _ => {}
        }
        let (space, name) = match word.split_once('.') {
            Some((space, name)) if space_named(space).is_some() => (space_named(space), name),
            _ => (None, word),
        };
        if let Some(ty) = type_named(name) {
            if self.take("[") {
                let address = self.index()?;
                let mut bytes = vec![0; bytes_of(ty) as usize];
                let address = u64::try_from(address).map_err(|_| NoValue("a negative address".to_owned()))?;
                self.scope.read(space.unwrap_or(Memory::Generic), address, &mut bytes)?;
                return Ok(Evaluated::Value(Value::of_bytes(ty, &bytes)));
            }
            if self.take("(") {
                let value = self.binary(0)?;
                self.expect(")")?;
                return cast(ty, &value);
            }
        }
        let variable = self.scope.variable(word).ok_or_else(|| unknown(word))?;
        if self.take("[") {
            let index = self.index()?;
            let size = bytes_of(variable.ty);
            let offset = u64::try_from(index).ok().and_then(|index| index.checked_mul(size));
            let offset = offset.filter(|at| at.checked_add(size).is_some_and(|end| end <= variable.bytes));
            let count = variable.bytes / size.max(1);
            let offset =
                offset.ok_or_else(|| NoValue(format!("{word}[{index}]: there are {count} elements")))?;
            return element(self.scope, &variable, offset).map(Evaluated::Value);
        }
        contents(self.scope, &variable)
    }

    /// An index or address, and its bracket.
    fn index(&mut self) -> Result<i128, NoValue> {
        let value = self.binary(0)?.number()?;
        self.expect("]")?;
        match value {
            Number::Int(value) => Ok(value),
            Number::Float(value) => no(format!("{value} is no index")),
        }
    }

    fn literal(&mut self) -> Result<Evaluated, NoValue> {
        let rest = self.peek();
        let mut end = 0;
        let bytes = rest.as_bytes();
        while let Some(&byte) = bytes.get(end) {
            let exponent = end > 0 && matches!(bytes[end - 1], b'e' | b'E') && !rest.starts_with("0x");
            let part =
                byte.is_ascii_alphanumeric() || byte == b'.' || exponent && matches!(byte, b'+' | b'-');
            if !part {
                break;
            }
            end += 1;
        }
        let (text, rest) = rest.split_at(end);
        self.rest = rest;
        let whole = match text.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        match (whole, text.parse::<f64>()) {
            (Some(value), _) => Ok(Number::Int(value).into()),
            (None, Ok(value)) => Ok(Number::Float(value).into()),
            _ => no(format!("`{text}` is no number")),
        }
    }
}

impl From<Number> for Evaluated {
    fn from(number: Number) -> Evaluated {
        Evaluated::Number(number)
    }
}

fn unknown(name: &str) -> NoValue {
    NoValue(format!(
        "there is no variable, buffer or type `{name}` here; registers begin with a percent sign"
    ))
}

/// A state space by its name.
pub fn space_named(name: &str) -> Option<Memory> {
    Some(match name {
        "generic" => Memory::Generic,
        "global" => Memory::Global,
        "shared" => Memory::Shared,
        "local" => Memory::Local,
        "const" => Memory::Constant,
        "param" => Memory::Kernel,
        _ => return None,
    })
}

/// The bits of a value as another type; of a number, the number in that type.
fn cast(ty: Type, value: &Evaluated) -> Result<Evaluated, NoValue> {
    if let Evaluated::Value(value) = value {
        return Ok(Evaluated::Value(value.as_type(ty)));
    }
    Ok(match (value.number()?, ty) {
        (Number::Int(bits), _) if ty.class() != Class::Float => {
            Evaluated::Value(Value::new(ty, bits as u128))
        }
        (number, Type::F32) => Evaluated::Value(Value::new(ty, (number.float() as f32).to_bits().into())),
        (number, Type::F64) => Evaluated::Value(Value::new(ty, number.float().to_bits().into())),
        _ => return no(format!("a computed number is not converted to .{}", ty.name())),
    })
}

fn compute(operator: &str, left: Number, right: Number) -> Result<Number, NoValue> {
    let truth = |holds: bool| Ok(Number::Int(holds.into()));
    match operator {
        "||" => return truth(left.is_true() || right.is_true()),
        "&&" => return truth(left.is_true() && right.is_true()),
        _ => {}
    }
    let (Number::Int(a), Number::Int(b)) = (left, right) else {
        let (a, b) = (left.float(), right.float());
        return match operator {
            "==" => truth(a == b),
            "!=" => truth(a != b),
            "<" => truth(a < b),
            "<=" => truth(a <= b),
            ">" => truth(a > b),
            ">=" => truth(a >= b),
            "+" => Ok(Number::Float(a + b)),
            "-" => Ok(Number::Float(a - b)),
            "*" => Ok(Number::Float(a * b)),
            "/" => Ok(Number::Float(a / b)),
            _ => no(format!("`{operator}` is not for floating-point numbers")),
        };
    };
    let shift = u32::try_from(b).ok().filter(|by| *by < 128);
    let number = match operator {
        "==" => return truth(a == b),
        "!=" => return truth(a != b),
        "<" => return truth(a < b),
        "<=" => return truth(a <= b),
        ">" => return truth(a > b),
        ">=" => return truth(a >= b),
        "|" => Some(a | b),
        "^" => Some(a ^ b),
        "&" => Some(a & b),
        "<<" => shift.and_then(|by| a.checked_shl(by)),
        ">>" => shift.and_then(|by| a.checked_shr(by)),
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "/" => a.checked_div(b),
        _ => a.checked_rem(b),
    };
    number.map_or_else(|| no(format!("{a} {operator} {b} has no value")), |value| Ok(Number::Int(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Here;

    impl Scope for Here {
        fn register(&self, name: &str) -> Option<Value> {
            Some(match name {
                "%r1" => Value::new(Type::B32, 7),
                "%s1" => Value::new(Type::S32, 0xffff_fffd),
                "%f1" => Value::new(Type::F32, 0x3fc0_0000),
                "%r5" => Value::new(Type::B32, 0x4000_0000),
                "%rd1" => Value::new(Type::B64, 0x100),
                "%p1" => Value::new(Type::Pred, 1),
                "%tid.x" => Value::new(Type::U32, 3),
                _ => return None,
            })
        }

        fn variable(&self, name: &str) -> Option<Variable> {
            (name == "tile").then_some(Variable {
                space: Memory::Shared,
                address: 16,
                generic: Some(0x10016),
                ty: Type::U16,
                bytes: 8,
            })
        }

        fn read(&self, space: Memory, address: u64, into: &mut [u8]) -> Result<(), NoValue> {
            if address > 0x200 {
                return no("no memory");
            }
            let base = if space == Memory::Shared { 1 } else { 0 };
            into.iter_mut().zip(0u64..).for_each(|(byte, at)| *byte = ((address + at) as u8) & 1 | base << 1);
            Ok(())
        }
    }

    fn shown(text: &str) -> String {
        evaluate(text, &Here).map_or_else(|error| format!("error: {error}"), |value| value.to_string())
    }

    #[test]
    fn operators_bind_as_in_c() {
        assert_eq!(shown("1 + 2 * 3"), "7");
        assert_eq!(shown("(1 + 2) * 3"), "9");
        assert_eq!(shown("1 << 4 | 3"), "19 (0x13)");
        assert_eq!(shown("7 & 3 == 3"), "1");
        assert_eq!(shown("-%s1 * 2"), "6");
        assert_eq!(shown("%r1 % 4"), "3");
        assert_eq!(shown("%r1 > 6 && %f1 < 2.0"), "1");
        assert_eq!(shown("!%p1 || %tid.x != 3"), "0");
        assert_eq!(shown("%f1 * 2"), "3");
        assert_eq!(shown("1e3 + 0.5"), "1000.5");
    }

    #[test]
    fn registers_variables_and_memory_have_values() {
        assert_eq!(shown("%f1"), "1.5 (0x3fc00000)");
        assert_eq!(shown("f32(%r5)"), "2 (0x40000000)");
        assert_eq!(shown("tile"), "{770, 770, 770, 770}");
        assert_eq!(shown("tile[2]"), "770 (0x0302)");
        assert_eq!(shown("&tile"), "0x0000000000010016");
        assert_eq!(shown("u8[%rd1 + 1]"), "1 (0x01)");
        assert_eq!(shown("shared.u8[3]"), "3 (0x03)");
    }

    #[test]
    fn mistakes_are_told() {
        for (text, told) in [
            ("", "missing"),
            ("1 +", "missing"),
            ("(1", "`)` is missing"),
            ("%r9", "no register `%r9`"),
            ("nothing", "no variable"),
            ("tile[4]", "there are 4 elements"),
            ("1 / 0", "has no value"),
            ("1 2", "left over"),
            ("u8[0x300]", "no memory"),
            ("1.5 << 2", "not for floating-point"),
            ("#", "no expression"),
        ] {
            assert!(shown(text).contains(told), "{text}: {}", shown(text));
        }
        assert!(shown(&"(".repeat(200)).contains("too deep"));
        assert!(shown(&"-".repeat(200)).contains("too deep"));
    }
}
