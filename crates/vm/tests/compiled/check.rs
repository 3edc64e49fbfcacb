//! Holds compiled code against the interpreter for one program, and finds the smallest that differs.

use crate::choices::Choices;
use crate::functions::{Places, function, nothing};
use crate::run::{Setup, difference, reduce};
use crate::text::{module, statements};
use softwarp_image::FunctionId;
use softwarp_ir::{Function, Memory, Op, Step};
use softwarp_vm::device::{Device, LaunchError, LoadError, LoadOptions, Program};
use std::sync::LazyLock;

/// The module whose memory and parameters random functions use.
const STUB: &str = ".version 8.6\n.target sm_90\n.address_size 64
.const .align 32 .u32 table[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .shared .align 32 .b8 memory[8192]; .reg .b32 %r<2>; .reg .b64 %d<2>;
    ld.param.u64 %d0, [out]; mov.u32 %r0, memory; ld.const.u32 %r1, [table]; add.u32 %r0, %r0, %r1;
    st.global.u32 [%d0], %r0;
    ret;
}
";

/// A device with memory for random functions.
pub struct Stub {
    device: Device,
    places: Places,
}

impl Stub {
    pub fn new() -> Stub {
        let device = Device::load(&[STUB], LoadOptions::default()).expect("a valid module");
        let program = device.program("k").expect("a kernel");
        let kernel = program.functions().next().expect("a kernel");
        let constants = kernel.ops.iter().find_map(|op| match op {
            Op::Other(_, step) => match &**step {
                Step::Load(access) if access.address.memory == Memory::Constant => {
                    Some(access.address.offset)
                }
                _ => None,
            },
            _ => None,
        });
        let shared = kernel.shared_narrow.first().map_or(0, |&(_, address)| address);
        let places = Places { function: FunctionId(0), shared, constants: constants.expect("it loads one") };
        Stub { device, places: Places { function: kernel.function, ..places } }
    }

    fn difference(&self, function: &Function, setup: Setup) -> Option<String> {
        let program = softwarp_ir::Program { functions: vec![function.clone()], of_function: vec![Some(0)] };
        let program = Program::new(program);
        difference(&self.device, setup, &|launch| self.device.launch_program(launch, &program))
    }
}

fn is_nothing(op: &Op) -> bool {
    op.to_string() == nothing().to_string()
}

/// A random function.
pub fn compare_function(stub: &Stub, seed: u64, choices: &mut Choices<'_>) {
    let function = function(choices, stub.places);
    function.verify().unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}\n{function}"));
    let text = format!("{function:#}");
    let parsed = Function::parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
    assert_eq!(format!("{parsed:#}"), text, "seed {seed}: it is printed as it was parsed");
    let setup = Setup::of(seed);
    if std::env::var_os("SHOW").is_some() {
        eprintln!("{function}");
    }
    let Some(found) = stub.difference(&function, setup) else { return };
    eprintln!("seed {seed}: {found}");
    let with = |ops: &[Op]| Function { ops: ops.to_vec(), ..function.clone() };
    let without = |ops: &[Op], from: usize, to: usize| {
        let mut ops = ops.to_vec();
        ops[from..to].fill_with(nothing);
        ops
    };
    let ops = reduce(function.ops.clone(), |ops| stub.difference(&with(ops), setup).is_some(), without);
    let found = stub.difference(&with(&ops), setup).unwrap_or_default();
    let left = ops.iter().enumerate().filter(|(_, op)| !is_nothing(op));
    let text: String = left.map(|(n, op)| format!("{n}: {op}\n")).collect();
    panic!("seed {seed}, CTAs of {:?} threads: {found}\n{text}", setup.block);
}

/// A program that the bytes of a fuzzer choose.
pub fn compare_bytes(bytes: &[u8]) {
    static STUB: LazyLock<Stub> = LazyLock::new(Stub::new);
    let Some((&[kind, low, high], rest)) = bytes.split_first_chunk() else { return };
    let seed = u64::from(u16::from_le_bytes([low, high]));
    match kind & 1 {
        0 => compare_function(&STUB, seed, &mut Choices::Bytes(rest)),
        _ => compare_text(seed, &mut Choices::Bytes(rest)),
    }
}

/// The bytes at which a module is not valid, or has what cannot run.
fn refused(text: &str) -> Vec<usize> {
    match Device::load(&[text], LoadOptions::default()) {
        Ok(device) => match device.program("k") {
            Ok(_) => Vec::new(),
            Err(LaunchError::Unsupported(list)) => list.iter().map(|one| one.span.start as usize).collect(),
            Err(error) => panic!("{error}\n{text}"),
        },
        Err(LoadError::Invalid(found)) => found.iter().map(|(_, one)| one.span().start as usize).collect(),
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// Leaves out the statements that are not valid: constants out of range, and others that the table does not speak of.
pub fn valid(mut lines: Vec<String>, module: &dyn Fn(&[String]) -> String) -> Vec<String> {
    loop {
        let text = module(&lines);
        let places = refused(&text);
        if places.is_empty() {
            return lines;
        }
        let before = lines.len();
        let first = lines.first().and_then(|line| text.find(&format!("{line}\n")));
        let mut at = first.unwrap_or_else(|| panic!("it is not valid elsewhere\n{text}"));
        lines.retain(|line| {
            let here = at..at + line.len() + 1;
            at = here.end;
            !places.iter().any(|place| here.contains(place))
        });
        assert!(lines.len() < before, "it is not valid elsewhere\n{text}");
    }
}

/// A random program in PTX.
pub fn compare_text(seed: u64, choices: &mut Choices<'_>) {
    let lines = valid(statements(choices), &module);
    let setup = Setup::of(seed);
    if std::env::var_os("SHOW").is_some() {
        eprintln!("{}", module(&lines));
    }
    let differs = |lines: &[String]| {
        let device = Device::load(&[&module(lines)], LoadOptions::default()).ok()?;
        device.program("k").ok()?;
        difference(&device, setup, &|launch| device.launch(launch))
    };
    let Some(found) = differs(&lines) else { return };
    eprintln!("seed {seed}: {found}");
    let without = |lines: &[String], from: usize, to: usize| [&lines[..from], &lines[to..]].concat();
    let lines = reduce(lines, |lines| differs(lines).is_some(), without);
    let found = differs(&lines).unwrap_or_default();
    panic!("seed {seed}, CTAs of {:?} threads: {found}\n{}", setup.block, lines.join("\n"));
}
