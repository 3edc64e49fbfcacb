//! Immediate operands as text: the form that `{:?}` prints, read back.

use crate::input::{Input, Parsed};
use std::fmt::Debug;

/// A value that is printed by `{:?}`.
pub(crate) trait Immediate: Debug + Sized {
    /// Reads it.
    fn parse(input: &mut Input<'_>) -> Parsed<Self>;

    /// What it is where its name does not stand.
    fn absent() -> Option<Self> {
        None
    }

    /// What it is where its name stands without a value.
    fn set() -> Option<Self> {
        None
    }
}

impl Immediate for bool {
    fn parse(input: &mut Input<'_>) -> Parsed<bool> {
        match input.peek_word() {
            "true" => input.word().map(|_| true),
            "false" => input.word().map(|_| false),
            _ => Err(input.error("`true` or `false` was expected")),
        }
    }

    fn absent() -> Option<bool> {
        Some(false)
    }

    fn set() -> Option<bool> {
        Some(true)
    }
}

macro_rules! numbers {
    ($($ty:ty),*) => {
        $(
            impl Immediate for $ty {
                fn parse(input: &mut Input<'_>) -> Parsed<$ty> {
                    input.number()
                }
            }
        )*
    };
}

numbers!(u8, u16, u32, u64, usize, i64);

impl<T: Immediate> Immediate for Option<T> {
    fn parse(input: &mut Input<'_>) -> Parsed<Option<T>> {
        if input.eat_word("None") {
            return Ok(None);
        }
        input.expect("Some")?;
        input.expect("(")?;
        let value = T::parse(input)?;
        input.expect(")")?;
        Ok(Some(value))
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }
}

impl<T: Immediate> Immediate for Box<T> {
    fn parse(input: &mut Input<'_>) -> Parsed<Box<T>> {
        T::parse(input).map(Box::new)
    }
}

impl<T: Immediate> Immediate for Vec<T> {
    fn parse(input: &mut Input<'_>) -> Parsed<Vec<T>> {
        let mut list = Vec::new();
        input.expect("[")?;
        while !input.eat("]") {
            if !list.is_empty() {
                input.expect(",")?;
            }
            list.push(T::parse(input)?);
        }
        Ok(list)
    }

    fn absent() -> Option<Vec<T>> {
        Some(Vec::new())
    }
}

impl<T: Immediate, const N: usize> Immediate for [T; N] {
    fn parse(input: &mut Input<'_>) -> Parsed<[T; N]> {
        let start = input.clone();
        let list = Vec::<T>::parse(input)?;
        list.try_into().map_err(|_| start.error(format!("a list of {N} was expected")))
    }
}

impl<A: Immediate, B: Immediate> Immediate for (A, B) {
    fn parse(input: &mut Input<'_>) -> Parsed<(A, B)> {
        input.expect("(")?;
        let a = A::parse(input)?;
        input.expect(",")?;
        let b = B::parse(input)?;
        input.expect(")")?;
        Ok((a, b))
    }
}

impl<A: Immediate, B: Immediate, C: Immediate> Immediate for (A, B, C) {
    fn parse(input: &mut Input<'_>) -> Parsed<(A, B, C)> {
        input.expect("(")?;
        let a = A::parse(input)?;
        input.expect(",")?;
        let b = B::parse(input)?;
        input.expect(",")?;
        let c = C::parse(input)?;
        input.expect(")")?;
        Ok((a, b, c))
    }
}
