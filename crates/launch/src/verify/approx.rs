//! Replays recordings of the approximate functions (`ex2`, `lg2`, `sin`, …), by running them on the machine.
//!
//! Rows are sums, as those of `cvt` ([`crate::space`]). Beside the file, `FORM.bin` may hold the results for the
//! 65,536 inputs of 32 bits whose low half is zero: these are compared by default, within twice the error that the
//! manual allows. Forms on pairs must do to each half what the form on one does. The sums, which only exact results
//! have, are compared where that is asked for, and for functions of 16 bits.

use super::beside;
use super::golden::SumRow;
use super::{ChunkDifference, Depth, Failure, RowDifference, TASK, chunks};
use crate::space::{CHUNKS, sum_of_results};
use softwarp::vm::device::{Device, Launch, LoadOptions};
use std::path::Path;

/// Whether a row is about a function, not about a conversion.
pub fn is_known(row: &SumRow) -> bool {
    ERRORS.iter().any(|(opcode, ..)| *opcode == opcode_of(&row.form))
}

fn opcode_of(form: &str) -> &str {
    form.split('.').next().unwrap_or_default()
}

/// The errors that the manual allows in f32 (section 9.7.3): relative to the result, and whatever it is. Sines and
/// cosines of large angles have no bound.
const ERRORS: &[(&str, f64, f64)] = &[
    ("ex2", 2.4e-7, 0.0),
    ("lg2", 2.4e-7, 2.4e-7),
    ("sin", 0.0, 5.0e-7),
    ("cos", 0.0, 5.0e-7),
    ("rcp", 1.2e-7, 0.0),
    ("rsqrt", 1.3e-7, 0.0),
    ("sqrt", 1.2e-7, 0.0),
    ("tanh", 4.9e-4, 0.0),
];

/// Replays a row of a file.
pub fn replay(
    file: &Path,
    row: &SumRow,
    depth: Depth,
    exact: bool,
    progress: &dyn Fn(u64),
) -> Result<(), Failure> {
    if row.sums.len() as u64 != CHUNKS {
        return Err(Failure::Unusable(format!("{} sums instead of {CHUNKS}", row.sums.len())));
    }
    let mut function = Function::new(&row.form)?;
    if row.n != function.inputs() {
        let why = format!("n is {}, but its space has {} inputs", row.n, function.inputs());
        return Err(Failure::Unusable(why));
    }
    let dense = beside(file, &format!("{}.bin", row.form), 4 << 16);
    let dense = dense.map_err(|error| Failure::Unusable(format!("{}.bin: {error}", row.form)))?;
    match (dense, row.form.strip_suffix("x2")) {
        _ if exact => function.sums(row, depth, progress),
        (Some(results), _) => function.near(&results),
        (_, Some(single)) => function.halves(single),
        _ => function.sums(row, depth, progress),
    }
}

/// A function in a machine of its own.
struct Function<'a> {
    form: &'a str,
    device: Device,
    results: u64,
}

/// Threads of a CTA.
const BLOCK: u64 = 256;

impl<'a> Function<'a> {
    fn new(form: &'a str) -> Result<Function<'a>, Failure> {
        let unusable = |error: &dyn std::fmt::Display| Failure::Unusable(error.to_string());
        let device = Device::load(&[&module(form)], LoadOptions::default()).map_err(|e| unusable(&e))?;
        let results = device.allocate(4 * TASK).map_err(|e| unusable(&e))?;
        Ok(Function { form, device, results })
    }

    fn is_narrow(&self) -> bool {
        is_narrow(self.form)
    }

    fn inputs(&self) -> u64 {
        if self.is_narrow() { 1 << 16 } else { 1 << 32 }
    }

    /// The results for `count` inputs, at most [`TASK`], from `first` on, each times `scale`.
    fn results(&mut self, first: u64, count: u64, scale: u32) -> Result<Vec<u32>, Failure> {
        let unusable = |error: &dyn std::fmt::Display| Failure::Unusable(error.to_string());
        let words = [first as u32, count as u32, scale].map(|word| word.to_le_bytes().to_vec());
        let mut arguments = vec![self.results.to_le_bytes().to_vec()];
        arguments.extend(words);
        let grid = [count.div_ceil(BLOCK) as u32, 1, 1];
        let launch = Launch::new("k", grid, [BLOCK as u32, 1, 1], &arguments);
        self.device.launch(&launch).map_err(|error| unusable(&error))?;
        let mut bytes = vec![0; 4 * count as usize];
        self.device.read(self.results, &mut bytes).map_err(|error| unusable(&error))?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// Compares results for the inputs whose low half is zero.
    fn near(&mut self, recorded: &[u8]) -> Result<(), Failure> {
        let recorded = recorded.as_chunks::<4>().0;
        if recorded.len() != 1 << 16 {
            return Err(Failure::Unusable(format!("{}.bin has {} results", self.form, recorded.len())));
        }
        let ours = self.results(0, 1 << 16, 1 << 16)?;
        let expected = recorded.iter().map(|word| u32::from_le_bytes(*word));
        let mut differing = Vec::new();
        for (index, (got, expected)) in (0u32..).zip(ours.into_iter().zip(expected)) {
            let input = index << 16;
            if !is_near(opcode_of(self.form), input, got, expected) {
                let (got, expected) = (got.into(), expected.into());
                differing.push(RowDifference { sources: vec![input.into()], expected, got });
            }
        }
        if differing.is_empty() { Ok(()) } else { Err(Failure::Rows(differing)) }
    }

    /// Compares a form on pairs with the one on single values, for pairs of equal ones.
    fn halves(&mut self, single: &str) -> Result<(), Failure> {
        let pairs = self.results(0, 1 << 16, 0x1_0001)?;
        let singles = Function::new(single)?.results(0, 1 << 16, 1)?;
        let mut differing = Vec::new();
        for (input, (got, one)) in (0u64..).zip(pairs.into_iter().zip(singles)) {
            let expected = one << 16 | one;
            if got != expected {
                let (expected, got) = (expected.into(), got.into());
                differing.push(RowDifference { sources: vec![input << 16 | input], expected, got });
            }
        }
        if differing.is_empty() { Ok(()) } else { Err(Failure::Rows(differing)) }
    }

    /// Compares sums.
    fn sums(&mut self, row: &SumRow, depth: Depth, progress: &dyn Fn(u64)) -> Result<(), Failure> {
        let size = self.inputs() / CHUNKS;
        let mut differing = Vec::new();
        for chunk in chunks(self.form, self.inputs(), depth) {
            let (first, end) = (chunk * size, (chunk + 1) * size);
            let mut got = 0u64;
            for start in (first..end).step_by(TASK as usize) {
                let count = TASK.min(end - start);
                let results = self.results(start, count, 1)?;
                got = got.wrapping_add(sum_of_results(start, &results));
                progress(count);
            }
            let expected = row.sums.get(chunk as usize).copied().unwrap_or_default();
            if got != expected {
                differing.push(ChunkDifference { chunk, first, last: end - 1, expected, got });
            }
        }
        if differing.is_empty() { Ok(()) } else { Err(Failure::Chunks(differing)) }
    }
}

/// Whether inputs have 16 bits.
fn is_narrow(form: &str) -> bool {
    form.ends_with(".f16") || form.ends_with(".bf16")
}

/// A kernel that applies a function to a range of inputs.
fn module(form: &str) -> String {
    let body = if is_narrow(form) {
        format!("cvt.u16.u32 %h, %x;\n{form} %h, %h;\ncvt.u32.u16 %x, %h;")
    } else {
        format!("{form} %x, %x;")
    };
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .u32 first, .param .u32 count, .param .u32 scale)\n{{\n\
         .reg .pred %p;\n.reg .b16 %h;\n.reg .b32 %i, %c, %x, %s;\n.reg .b64 %o;\n\
         mov.u32 %i, %ctaid.x;\nmov.u32 %c, %ntid.x;\nmov.u32 %x, %tid.x;\nmad.lo.u32 %i, %i, %c, %x;\n\
         ld.param.u32 %c, [count];\nsetp.ge.u32 %p, %i, %c;\n@%p ret;\n\
         ld.param.u32 %x, [first];\nadd.u32 %x, %x, %i;\nld.param.u32 %s, [scale];\nmul.lo.u32 %x, %x, %s;\n\
         {body}\nld.param.u64 %o, [out];\nmad.wide.u32 %o, %i, 4, %o;\nst.global.u32 [%o], %x;\nret;\n}}\n"
    )
}

/// Whether two results of a function of f32 are within what is allowed.
fn is_near(opcode: &str, input: u32, got: u32, expected: u32) -> bool {
    let [x, a, b] = [input, got, expected].map(|bits| f64::from(f32::from_bits(bits)));
    if got == expected || a.is_nan() && b.is_nan() || a == b {
        return true;
    }
    let bound = ERRORS.iter().find(|(of, ..)| *of == opcode);
    let Some((_, relative, absolute)) = bound else { return false };
    let unbounded = matches!(opcode, "sin" | "cos") && x.abs() > 100.0 * std::f64::consts::PI;
    let near = (a - b).abs() <= 2.0 * (absolute + relative * b.abs());
    unbounded && a.abs() <= 1.0 || near && a.is_finite() && b.is_finite()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_means_within_the_bound_and_special_values_are_exact() {
        let bits = f32::to_bits;
        assert!(is_near("rcp", bits(3.0), bits(0.33333334), bits(0.33333337)));
        assert!(!is_near("rcp", bits(3.0), bits(0.33333334), bits(0.333334)));
        assert!(is_near("lg2", bits(-1.0), 0x7fff_ffff, 0x7fc0_0000));
        assert!(!is_near("ex2", bits(1e9), bits(f32::MAX), bits(f32::INFINITY)));
        assert!(
            is_near("sin", bits(1e9), bits(0.5), bits(0.6))
                && !is_near("sin", bits(1.0), bits(0.5), bits(0.6))
        );
    }

    #[test]
    fn a_wrong_sum_of_a_function_is_found() {
        let row = SumRow { form: "ex2.approx.f16".to_owned(), n: 1 << 16, sums: vec![0; 64] };
        let found = replay(Path::new("none/sums.jsonl"), &row, Depth::Subset, true, &|_| {});
        assert!(matches!(&found, Err(Failure::Chunks(chunks)) if chunks.len() == 64), "{found:?}");
        let short = SumRow { sums: Vec::new(), ..row };
        let found = replay(Path::new("none/sums.jsonl"), &short, Depth::Subset, true, &|_| {});
        assert!(matches!(found, Err(Failure::Unusable(_))));
    }
}
