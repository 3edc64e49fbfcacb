//! Instructions as text: of the calls that encode them, and of their bytes, which a disassembler has read.

use super::*;
use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind, Register, RoundingControl};

/// An operand as text, the same for calls and bytes.
pub(super) trait Operand {
    fn text(&self) -> String;

    /// Bits of immediate operands behind it.
    fn bits(&self) -> u32 {
        8
    }
}

/// The mask, zeros and rounding behind a register.
fn decorated(name: String, Decoration { mask, zeroing, rounding }: Decoration) -> String {
    let mask = if mask > 0 { format!("{{k{mask}}}") } else { String::new() };
    let rounding = ["", "{rn}", "{rd}", "{ru}", "{rz}"][usize::from(rounding)];
    format!("{name}{mask}{}{rounding}", if zeroing { "{z}" } else { "" })
}

macro_rules! operand {
    ($($type:ty, $bits:literal: |$value:ident| $text:expr;)*) => {
        $(impl Operand for $type {
            fn text(&self) -> String {
                let $value = self;
                $text
            }

            fn bits(&self) -> u32 {
                $bits
            }
        })*
    };
}

/// The names of general-purpose registers.
const WIDE: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15",
];
const NARROW: [&str; 16] = [
    "eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d",
    "r14d", "r15d",
];

operand! {
    AsmRegisterZmm, 8: |register| decorated(format!("zmm{}", register.0), register.1);
    AsmRegisterYmm, 8: |register| decorated(format!("ymm{}", register.0), register.1);
    AsmRegisterXmm, 8: |register| format!("xmm{}", register.0);
    AsmRegisterK, 8: |register| decorated(format!("k{}", register.0), register.1);
    AsmRegister64, 64: |register| WIDE[usize::from(register.0)].to_owned();
    AsmRegister32, 32: |register| NARROW[usize::from(register.0)].to_owned();
    AsmRegister16, 16: |register| ["ax", "cx", "dx", "bx"][usize::from(register.0)].to_owned();
    AsmRegister8, 8: |register| ["al", "cl", "dl", "bl"][usize::from(register.0)].to_owned();
    i32, 64: |value| immediate(i64::from(*value));
    u32, 64: |value| immediate(i64::from(*value));
    u64, 64: |value| immediate(*value as i64);
    CodeLabel, 64: |label| format!("label {}", label.0);
}

/// A number, which [`Written::line`] limits to the bits that it has beside the first operand.
fn immediate(value: i64) -> String {
    format!("#{value}")
}

fn memory(
    bytes: u32,
    base: &str,
    index: Option<(String, i64)>,
    displacement: i64,
    broadcast: bool,
) -> String {
    let index = index.map(|(name, scale)| format!("+{name}*{scale}")).unwrap_or_default();
    format!("{bytes}[{base}{index}{displacement:+}]{}", if broadcast { "{all}" } else { "" })
}

impl Operand for AsmMemoryOperand {
    fn text(&self) -> String {
        let index = match self.index_bytes {
            0 => None,
            8 => Some(WIDE[usize::from(self.index)].to_owned()),
            bytes => Some(format!("{}mm{}", if bytes == 32 { 'y' } else { 'z' }, self.index)),
        };
        // Of gathers and scatters, the size of elements is in the name.
        let bytes = if self.index_bytes > 8 { 0 } else { u32::from(self.bytes) };
        let index = index.map(|name| (name, i64::from(self.scale)));
        let text = memory(bytes, WIDE[usize::from(self.base)], index, self.displacement, self.broadcast);
        decorated(text, Decoration { mask: self.mask, ..Decoration::default() })
    }

    fn bits(&self) -> u32 {
        8 * u32::from(self.bytes)
    }
}

/// An assembler that writes text.
#[derive(Default)]
pub(super) struct Written {
    lines: Vec<String>,
    /// The line that each label is before.
    labels: Vec<Option<usize>>,
    lock: bool,
}

impl Written {
    pub(super) fn create_label(&mut self) -> CodeLabel {
        self.labels.push(None);
        CodeLabel(self.labels.len() as u32 - 1)
    }

    pub(super) fn set_label(&mut self, label: &mut CodeLabel) -> Encoded {
        self.labels[label.0 as usize] = Some(self.lines.len());
        Ok(())
    }

    pub(super) fn lock(&mut self) -> &mut Written {
        self.lock = true;
        self
    }

    fn line(&mut self, name: &str, operands: &[&dyn Operand]) -> Encoded {
        // What has two names, and what has a name for each number of operands.
        let name = match name {
            "jz" => "je",
            "jnz" => "jne",
            "cmovz" => "cmove",
            "imul_2" | "imul_3" => "imul",
            "vmov_to" if operands[1].bits() == 64 => "vmovq",
            "vmov_from" if operands[0].bits() == 64 => "vmovq",
            "vmov_to" | "vmov_from" => "vmovd",
            name => name,
        };
        let bits = operands.first().map_or(8, |operand| operand.bits());
        let texts: Vec<String> = operands.iter().map(|operand| limited(operand.text(), bits)).collect();
        let lock = if std::mem::take(&mut self.lock) { "lock " } else { "" };
        self.lines.push(format!("{lock}{name} {}", texts.join(",")));
        Ok(())
    }

    /// The lines, with labels as lines.
    pub(super) fn finish(self) -> Vec<String> {
        let at = |label: usize| self.labels[label].expect("the label has a place");
        self.lines
            .iter()
            .map(|line| match line.split_once("label ") {
                Some((name, label)) => format!("{name}line {}", at(label.parse().expect("a number"))),
                None => line.clone(),
            })
            .collect()
    }
}

/// A number with the bits that an instruction has for it; other operands as they are.
fn limited(text: String, bits: u32) -> String {
    match text.strip_prefix('#').map(|value| value.parse::<i64>().expect("a number")) {
        Some(value) => format!("#{:#x}", value as u64 & (u64::MAX >> 64_u32.saturating_sub(bits))),
        None => text,
    }
}

macro_rules! written {
    ($($operands:tt: $($name:ident)*;)*) => {
        $(written!(@each $operands: $($name)*);)*
    };
    (@each $operands:tt: $($name:ident)*) => {
        impl Written {
            $(written!(@one $name $operands);)*
        }
    };
    (@one $name:ident ($($operand:ident)*)) => {
        #[inline(never)]
        pub(super) fn $name(&mut self, $($operand: impl Operand),*) -> Encoded {
            self.line(stringify!($name), &[$(&$operand),*])
        }
    };
}

// The instructions of the tests, by the number of their operands.
written! {
    (): vzeroupper ret nop cqo mfence;
    (a): inc dec not neg push pop prefetcht0 jmp call div idiv setb setae sete setne setbe seta setl setge setle setg
        vldmxcsr jo jb jae jz jne jnz jbe ja js jp jnp jl jge jle jg;
    (a b): vmovsldup vgetexpps vsqrtps vcvtdq2ps vcvtudq2ps vcvtps2dq vcvttps2dq vcvttps2udq vcvtps2udq vsqrtpd vcvtqq2pd vplzcntd vpabsd
        vcvtuqq2pd vcvttpd2qq vcvttpd2uqq vcvtps2pd vcvtpd2ps vcvtqq2ps vcvtuqq2ps
        vpabsq vpmovd2m vpmovq2m vpmovm2d vpmovm2q vpmovb2m vpmovm2b vpmovzxdq vpmovsxdq vpmovzxwd vpmovsxwd vcvtph2ps
        vcvtdq2pd vcvtudq2pd vpmovzxbd vpmovsxbd vpmovqd vpmovdw vcvttpd2dq vcvttpd2udq vpcompressd vpmovdb
        vpbroadcastd vpbroadcastq vbroadcasti32x4 vbroadcasti64x4 vmovd vmovq vmovdqa32 vmovdqa64 vmovdqu32 vmovdqu64 vmovdqu8 vmovaps vmovapd
        vpgatherdd vpscatterdd vpgatherdq vpgatherqd vpscatterqd vpgatherqq vpscatterqq kortestb kortestw kortestd
        knotw kmovb kmovw kmovd vmovdqa add or and sub xor cmp shl shr sar imul_2 bsf bsr popcnt test bt movsxd mov movzx
        movsx lea bts btr xadd xchg cmpxchg vucomiss vucomisd vmov_to vmov_from cmovb cmovae cmovz cmova cmovl cmovg;
    (a b c): vpaddw vpsubw vpaddb vpshufb vpmulhuw vpmaddwd vpmaddubsw vpunpcklwd vpunpckhwd vpunpckldq vpunpckhdq vpunpcklqdq vpunpckhqdq vpaddd vpsubd vpandd vpord
        vpxord vpmulld vpminsd vpminud vpmaxsd vpmaxud vpsllvd vpsrlvd vpsravd vpackusdw vpdpwssd vpermb vpermd vpermt2d vpermi2d
        vpblendmd vaddps vsubps vmulps vdivps vminps vmaxps vfmadd213ps vfmadd231ps vpandnd vpaddq vpsubq vpandq vporq
        vpxorq vpmullq vpmuldq vpmuludq vpminsq vpminuq vpmaxsq vpmaxuq vpsllvq vpsrlvq vpsravq vpmadd52luq vpermq vpblendmq vaddpd
        vsubpd vmulpd vdivpd vminpd vmaxpd vfmadd132pd vpandnq vptestmd vptestnmd vpcmpgtd vptestmq vpcmpgtq vptestmb vfpclassps
        vpshufd vrndscaleps vrndscalepd vreduceps vcvtps2ph vextracti64x4 vpsrld vpsrad vpslld vprold vprord vpsrlq vpsllq vpsrlw vpsraq
        vpsraw vpsllw kandw korw kxnorw kxorw kunpckbw kunpckwd kshiftrw kshiftrd vpxor vpextrq vextracti32x4 imul_3 vaddss vaddsd;
    (a b c d): vpcmpd vpcmpud vcmpps vpcmpq vpcmpuq vcmppd vpcmpuw vinserti64x4 vinserti32x4 vpternlogd vpternlogq vrangeps vpshldw;
}

/// The instructions of some code.
pub(super) fn decoded(code: &[u8]) -> Vec<String> {
    let instructions: Vec<Instruction> = Decoder::new(64, code, DecoderOptions::NONE).iter().collect();
    let line_at = |place: u64| instructions.iter().position(|instruction| instruction.ip() == place);
    instructions
        .iter()
        .map(|instruction| {
            assert!(!instruction.is_invalid(), "{:02x?}", &code[instruction.ip() as usize..]);
            let bits = if instruction.op_count() > 0 { bits_of(instruction) } else { 8 };
            let operands: Vec<String> = (0..instruction.op_count())
                .map(|operand| {
                    let text = match instruction.op_kind(operand) {
                        OpKind::Register => lower(instruction.op_register(operand)),
                        OpKind::Memory => memory_of(instruction),
                        OpKind::NearBranch64 => {
                            format!("line {}", line_at(instruction.near_branch64()).expect("a line"))
                        }
                        _ => immediate(instruction.immediate(operand) as i64),
                    };
                    let last = operand + 1 == instruction.op_count();
                    let decoration = Decoration {
                        mask: if operand == 0 { mask_of(instruction) } else { 0 },
                        zeroing: operand == 0 && instruction.zeroing_masking(),
                        rounding: if last { rounding_of(instruction) } else { 0 },
                    };
                    decorated(limited(text, bits), decoration)
                })
                .collect();
            let lock = if instruction.has_lock_prefix() { "lock " } else { "" };
            format!("{lock}{} {}", lower(instruction.mnemonic()), operands.join(","))
        })
        .collect()
}

fn lower(name: impl std::fmt::Debug) -> String {
    format!("{name:?}").to_lowercase()
}

/// Bits of numbers beside the first operand.
fn bits_of(instruction: &Instruction) -> u32 {
    match instruction.op_kind(0) {
        OpKind::Memory => 8 * bytes_of(instruction),
        OpKind::Register if WIDE.contains(&lower(instruction.op0_register()).as_str()) => 64,
        OpKind::Register if NARROW.contains(&lower(instruction.op0_register()).as_str()) => 32,
        OpKind::Register => 8,
        _ => 64,
    }
}

/// Bytes of the memory operand: the disassembler's name of the type has the bits of the whole, and then those of an
/// element, or how many parts it has and their bits.
fn bytes_of(instruction: &Instruction) -> u32 {
    let name = format!("{:?}", instruction.memory_size());
    let mut numbers =
        name.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse::<u32>().ok());
    let whole = numbers.next();
    match name.as_str() {
        "QwordOffset" => 8,
        "Unknown" => 0,
        // Of which 52 bits are read.
        "Broadcast512_UInt52" => 8,
        _ if instruction.is_broadcast() => numbers.product::<u32>() / 8,
        _ => whole.expect("a number") / 8,
    }
}

fn memory_of(instruction: &Instruction) -> String {
    let index = instruction.memory_index();
    let bytes = if lower(index).contains("mm") { 0 } else { bytes_of(instruction) };
    let scale = i64::from(instruction.memory_index_scale());
    memory(
        bytes,
        &lower(instruction.memory_base()),
        (index != Register::None).then(|| (lower(index), scale)),
        instruction.memory_displacement64() as i64,
        instruction.is_broadcast(),
    )
}

fn mask_of(instruction: &Instruction) -> u8 {
    match instruction.op_mask() {
        Register::None => 0,
        mask => (mask as u32 - Register::K0 as u32) as u8,
    }
}

fn rounding_of(instruction: &Instruction) -> u8 {
    match instruction.rounding_control() {
        RoundingControl::None => 0,
        RoundingControl::RoundToNearest => 1,
        RoundingControl::RoundDown => 2,
        RoundingControl::RoundUp => 3,
        RoundingControl::RoundTowardZero => 4,
    }
}
