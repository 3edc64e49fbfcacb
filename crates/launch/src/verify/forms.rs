//! Recorded conversions and approximate functions as kernels, for a GPU: on single inputs, and as sums over chunks of an input
//! space ([`crate::space`]).

use super::golden::{SampleRow, SumRow};
use crate::run::data::Init;
use crate::run::file::{Argument, Buffer, Launch, LaunchFile};
use crate::space::{CHUNKS, second};
use softwarp::isa::{Target, Variant};
use softwarp::source::Source;
use softwarp_gpu::Device;
use std::fmt::Write;

/// Threads of a CTA.
const BLOCK: u32 = 256;
/// The most CTAs that sum up a chunk.
const MOST_CTAS: u64 = 1024;

/// A kernel, its launch, and the memory that has its results.
pub struct Kernel {
    /// The module.
    pub source: Source,
    /// The launch.
    pub file: LaunchFile,
}

/// The memory that results are in, words of 64 bits.
pub const OUT: &str = "out";

/// The bits of a type.
fn bits(ty: &str) -> Option<u32> {
    Some(match ty {
        "u8" | "s8" | "e2m1x2" => 8,
        "u16" | "s16" | "f16" | "bf16" | "e4m3x2" | "e5m2x2" | "e2m3x2" | "e3m2x2" | "ue8m0x2"
        | "ue5m3x2" | "s2f6x2" => 16,
        "u32" | "s32" | "f32" | "tf32" | "f16x2" | "bf16x2" => 32,
        "u64" | "s64" | "f64" => 64,
        _ => return None,
    })
}

fn is_integer(ty: &str) -> bool {
    ty.starts_with(['u', 's']) && ty[1..].bytes().all(|byte| byte.is_ascii_digit())
}

/// Instructions that make `%o` of `%x`, `%y` and `%z`, 64 bits each; none for a form that has no such kernel.
fn body(form: &str) -> Option<String> {
    let mut parts = form.rsplit('.');
    let source = parts.next()?;
    if let Some(rest) = form.strip_prefix("cvt.pack.") {
        let third = if rest.ends_with(".b32") { ", %c32" } else { "" };
        return Some(format!(
            "cvt.u32.u64 %a32, %x; cvt.u32.u64 %b32, %y; cvt.u32.u64 %c32, %z;\n\
             {form} %d32, %a32, %b32{third};\ncvt.u64.u32 %o, %d32;\n"
        ));
    }
    if !form.starts_with("cvt.") {
        // A function has one type.
        return Some(match source {
            "f32" => format!(
                "cvt.u32.u64 %a32, %x; mov.b32 %fa, %a32;\n{form} %fo, %fa;\nmov.b32 %d32, %fo;\ncvt.u64.u32 %o, %d32;\n"
            ),
            "f16" | "bf16" => format!("cvt.u16.u64 %a16, %x;\n{form} %d16, %a16;\ncvt.u64.u16 %o, %d16;\n"),
            _ => format!("cvt.u32.u64 %a32, %x;\n{form} %d32, %a32;\ncvt.u64.u32 %o, %d32;\n"),
        });
    }
    let to = parts.next()?;
    let (from_bits, to_bits) = (bits(source)?, bits(to)?);
    let mut text = String::new();
    let mut operand = match (source, from_bits) {
        ("f64", _) => {
            text += "mov.b64 %fd, %x;\n";
            "%fd"
        }
        ("f32", _) => {
            text += "cvt.u32.u64 %a32, %x; mov.b32 %fa, %a32;\n";
            "%fa"
        }
        ("e2m1x2", _) => {
            text += "cvt.u8.u64 %a8, %x;\n";
            "%a8"
        }
        // A partner of bf16 takes no wider register.
        (_, 8) if to == "bf16" => {
            text += "cvt.u8.u64 %a8, %x;\n";
            "%a8"
        }
        (_, 8 | 16) => {
            text += "cvt.u16.u64 %a16, %x;\n";
            "%a16"
        }
        (_, 32) => {
            text += "cvt.u32.u64 %a32, %x;\n";
            "%a32"
        }
        _ => "%x",
    };
    if is_pair(form) {
        text += "cvt.u32.u64 %a32, %y; mov.b32 %fb, %a32;\n";
        operand = "%fa, %fb";
    }
    let wide = "cvt.u64.u32 %o, %d32;";
    let _ = match (to, to_bits) {
        (_, bits @ (8 | 16)) if is_integer(to) && source == "bf16" => {
            let sign = &to[..1];
            writeln!(text, "{form} %d{bits}, {operand};\ncvt.{sign}32.{to} %d32, %d{bits};\n{wide}")
        }
        (_, 64) if is_integer(to) => writeln!(text, "{form} %o, {operand};"),
        (_, _) if is_integer(to) => writeln!(text, "{form} %d32, {operand};\n{wide}"),
        ("f64", _) => writeln!(text, "{form} %fd, {operand};\nmov.b64 %o, %fd;"),
        ("f32", _) => writeln!(text, "{form} %fo, {operand};\nmov.b32 %d32, %fo;\n{wide}"),
        (_, 32) => writeln!(text, "{form} %d32, {operand};\n{wide}"),
        (_, 8) => writeln!(text, "{form} %d8, {operand};\ncvt.u32.u8 %d32, %d8;\n{wide}"),
        _ => writeln!(text, "{form} %d16, {operand};\ncvt.u64.u16 %o, %d16;"),
    };
    Some(text)
}

/// Whether a form makes a pair of two f32.
fn is_pair(form: &str) -> bool {
    let mut parts = form.rsplit('.');
    form.starts_with("cvt.")
        && parts.next() == Some("f32")
        && parts.next().is_some_and(|to| to.ends_with("x2"))
}

/// The output step of splitmix64, from one register to another.
fn mix(to: &str, from: &str) -> String {
    format!(
        "add.u64 {to}, {from}, 0x9e3779b97f4a7c15;\n\
         shr.u64 %mt, {to}, 30; xor.b64 {to}, {to}, %mt; mul.lo.u64 {to}, {to}, 0xbf58476d1ce4e5b9;\n\
         shr.u64 %mt, {to}, 27; xor.b64 {to}, {to}, %mt; mul.lo.u64 {to}, {to}, 0x94d049bb133111eb;\n\
         shr.u64 %mt, {to}, 31; xor.b64 {to}, {to}, %mt;\n"
    )
}

/// `%x`, the 64-bit sample of the index `%idx`, as [`crate::space::wide`] has it.
fn wide() -> String {
    mix("%x", "%idx")
        + "and.b64 %k, %idx, 3; setp.eq.u64 %p0, %k, 0; @%p0 bra WIDE_DONE;\n\
           and.b64 %m, %x, 0xfffffffffffff;\n\
           shr.u64 %e, %x, 52; and.b64 %e, %e, 0x7ff; rem.u64 %e, %e, 320; add.u64 %e, %e, 863; shl.b64 %e, %e, 52;\n\
           setp.eq.u64 %p0, %k, 2; @!%p0 bra WIDE_THIRD;\n\
           shr.u64 %m, %m, 29; shl.b64 %m, %m, 29; or.b64 %m, %m, 0x10000000; bra WIDE_END;\n\
           WIDE_THIRD:\nsetp.eq.u64 %p0, %k, 3; @!%p0 bra WIDE_END;\n\
           shr.u64 %m, %m, 42; shl.b64 %m, %m, 42; or.b64 %m, %m, 0x20000000000;\n\
           and.b64 %k, %x, 3; setp.eq.u64 %p0, %k, 3; @%p0 bra WIDE_END;\n\
           add.u64 %m, %m, %k; sub.u64 %m, %m, 1;\n\
           WIDE_END:\nand.b64 %m, %m, 0xfffffffffffff;\n\
           and.b64 %x, %x, 0x8000000000000000; or.b64 %x, %x, %e; or.b64 %x, %x, %m;\nWIDE_DONE:\n"
}

const REGISTERS: &str = "\
.reg .b64 %x, %y, %z, %o, %idx, %mt, %k, %m, %e, %h, %sum, %end, %step, %p;
.reg .b32 %a32, %b32, %c32, %d32, %t32, %u32, %v32; .reg .b16 %a16, %d16; .reg .b8 %a8, %d8;
.reg .f32 %fa, %fb, %fo; .reg .f64 %fd; .reg .pred %p0;
";

/// The newest version of PTX that a driver takes.
fn version(device: &Device) -> (u32, u32) {
    let mut parts = device.cuda.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    match (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) {
        // 12.6 brought no version of its own.
        (12, minor @ 6..) => (8, minor - 1),
        (major @ 12.., minor) => (major - 4, minor),
        // 11.0 came with 7.0.
        (11, minor) => (7, minor),
        _ => (6, 5),
    }
}

/// The head of a module for a device, with all features of its architecture.
fn head(device: &Device) -> String {
    let (major, minor) = version(device);
    let (cc_major, cc_minor) = device.compute_capability;
    let sm = u16::try_from(cc_major * 10 + cc_minor).unwrap_or(0);
    let own = Target::all().find(|one| one.sm() == sm && one.variant() == Variant::Architecture);
    let target = own.map_or(format!("sm_{sm}"), |own| own.name().to_owned());
    format!(".version {major}.{minor}\n.target {target}\n.address_size 64\n")
}

fn words(name: &str, words: &[u64]) -> Buffer {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Buffer {
        name: name.to_owned(),
        bytes: bytes.len() as u64,
        init: Init::Bytes(bytes),
        elements: None,
        address: None,
    }
}

fn kernel(form: &str, text: String, buffers: Vec<Buffer>, grid: [u32; 3], number: u64) -> Kernel {
    let mut arguments: Vec<Argument> =
        buffers.iter().map(|buffer| Argument::Buffer(buffer.name.clone(), 0)).collect();
    arguments.push(Argument::Bytes(number.to_le_bytes().to_vec()));
    let launch = Launch {
        kernel: "k".to_owned(),
        grid,
        block: [BLOCK, 1, 1],
        cluster: None,
        cooperative: false,
        dynamic_shared: 0,
        arguments,
    };
    let file = LaunchFile { buffers, launches: vec![launch], ..LaunchFile::default() };
    Kernel { source: Source::new(form.to_owned(), text.into_bytes()), file }
}

/// A form on single inputs: a result for each row.
pub fn samples(row: &SampleRow, device: &Device) -> Option<Kernel> {
    let body = body(&row.form)?;
    let mut inputs = Vec::new();
    for values in &row.rows {
        let (_, sources) = values.split_last()?;
        let first = *sources.first()?;
        let next = sources.get(1).copied();
        let derived = if is_pair(&row.form) { second(first) } else { 0 };
        inputs.extend([first, next.unwrap_or(derived), sources.get(2).copied().unwrap_or(0)]);
    }
    let count = row.rows.len() as u64;
    let text = format!(
        "{}.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 count)\n{{\n{REGISTERS}\
         mov.u32 %t32, %ctaid.x; mov.u32 %u32, %ntid.x; mul.lo.u32 %t32, %t32, %u32;\n\
         mov.u32 %u32, %tid.x; add.u32 %t32, %t32, %u32; cvt.u64.u32 %idx, %t32;\n\
         ld.param.u64 %end, [count]; setp.ge.u64 %p0, %idx, %end; @%p0 ret;\n\
         ld.param.u64 %p, [in]; mad.lo.u64 %p, %idx, 24, %p;\n\
         ld.global.u64 %x, [%p]; ld.global.u64 %y, [%p+8]; ld.global.u64 %z, [%p+16];\n\
         {body}ld.param.u64 %p, [out]; mad.lo.u64 %p, %idx, 8, %p; st.global.u64 [%p], %o;\nret;\n}}\n",
        head(device)
    );
    let ctas = u32::try_from(count.div_ceil(BLOCK.into())).ok()?.max(1);
    let buffers = vec![words("in", &inputs), words(OUT, &vec![0; row.rows.len()])];
    Some(kernel(&row.form, text, buffers, [ctas, 1, 1], count))
}

/// The sums of a form over some chunks of its space, one for each.
pub fn sums(row: &SumRow, chunks: &[u64], device: &Device) -> Option<Kernel> {
    let body = body(&row.form)?;
    let source = row.form.rsplit('.').next()?;
    let mut input = if source.ends_with("64") { wide() } else { "mov.b64 %x, %idx;\n".to_owned() };
    if is_pair(&row.form) {
        input += "cvt.u32.u64 %t32, %x; mul.lo.u32 %t32, %t32, 2654435761; add.u32 %t32, %t32, 0x9E3779B9;\n\
                  cvt.u64.u32 %y, %t32;\n";
    }
    let (of_index, of_result) = (mix("%h", "%idx"), mix("%h", "%o"));
    let text = format!(
        "{}.visible .entry k(.param .u64 which, .param .u64 out, .param .u64 size)\n{{\n{REGISTERS}\
         ld.param.u64 %k, [size];\nmov.u32 %t32, %ctaid.y; cvt.u64.u32 %idx, %t32;\n\
         ld.param.u64 %p, [which]; mad.lo.u64 %p, %idx, 8, %p; ld.global.u64 %idx, [%p];\n\
         mul.lo.u64 %idx, %idx, %k; add.u64 %end, %idx, %k;\n\
         mov.u32 %u32, %ctaid.x; mov.u32 %v32, %ntid.x; mul.lo.u32 %u32, %u32, %v32; mov.u32 %t32, %tid.x;\n\
         add.u32 %u32, %u32, %t32; cvt.u64.u32 %p, %u32; add.u64 %idx, %idx, %p;\n\
         mov.u32 %u32, %nctaid.x; mul.lo.u32 %u32, %u32, %v32; cvt.u64.u32 %step, %u32;\nmov.u64 %sum, 0;\n\
         LOOP:\nsetp.ge.u64 %p0, %idx, %end; @%p0 bra DONE;\n{input}{body}\
         {of_index}xor.b64 %o, %o, %h;\n{of_result}add.u64 %sum, %sum, %h;\n\
         add.u64 %idx, %idx, %step; bra LOOP;\n\
         DONE:\nld.param.u64 %p, [out]; mov.u32 %t32, %ctaid.y; mad.wide.u32 %p, %t32, 8, %p;\n\
         red.global.add.u64 [%p], %sum;\nret;\n}}\n",
        head(device)
    );
    let size = row.n / CHUNKS;
    let ctas = size.div_ceil(BLOCK.into()).clamp(1, MOST_CTAS) as u32;
    let buffers = vec![words("which", chunks), words(OUT, &vec![0; chunks.len()])];
    Some(kernel(&row.form, text, buffers, [ctas, u32::try_from(chunks.len()).ok()?.max(1), 1], size))
}
