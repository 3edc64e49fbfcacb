//! Instructions on 512 bits do the same by AVX-512 and made of halves: both are executed, with random registers and memory.

use crate::assembler::*;
use crate::code::call_trial;

/// The registers and the memory of a trial.
#[derive(Clone, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct State {
    vectors: [[u32; 16]; 32],
    masks: [u64; 8],
    memory: [u32; 256],
}

const MASKS: [AsmRegisterK; 7] = [k1, k2, k3, k4, k5, k6, k7];

/// What registers and memory hold.
#[derive(Clone, Copy)]
enum Words {
    /// Any bits.
    Any,
    /// Numbers below 32.
    Small,
    /// Ordinary floats.
    Floats,
    /// Floats, many of them zeros, infinities, NaNs and subnormal numbers.
    Rare,
}

/// Random numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 32) as u32
    }

    fn word(&mut self, words: Words) -> u32 {
        let word = self.next();
        match words {
            Words::Any => word,
            Words::Small => word & 31,
            Words::Floats => (word as i32 as f32 / 65536.0).to_bits(),
            Words::Rare => match word % 16 {
                0 => 0,
                1 => 1 << 31,
                2 => f32::INFINITY.to_bits(),
                3 => f32::NEG_INFINITY.to_bits(),
                4 => 0x7fc0_0001,
                5 => u32::MAX,
                6 => 1 << 31 | 1,
                7 => 0x007f_ffff,
                8 => f32::MIN_POSITIVE.to_bits(),
                9 => 2_147_483_648f32.to_bits(),
                10 => 4_294_967_040f32.to_bits(),
                11 => 4_294_967_296f32.to_bits(),
                12 => (-0.5f32).to_bits(),
                _ => self.next() & 0xbfff_ffff,
            },
        }
    }

    fn state(&mut self, words: Words) -> State {
        let mut state = State { vectors: [[0; 16]; 32], masks: [0; 8], memory: [0; 256] };
        state.vectors.as_flattened_mut().iter_mut().for_each(|word| *word = self.word(words));
        state.memory.iter_mut().for_each(|word| *word = self.word(words));
        for mask in &mut state.masks {
            *mask = match self.next() % 6 {
                0 => u32::MAX.into(),
                1 => 0,
                2 => 0xffff,
                3 => 0xff,
                _ => self.next().into(),
            };
        }
        // Equal words for comparisons.
        if self.next().is_multiple_of(2) {
            (0..32).for_each(|n| state.vectors[n] = state.vectors[n / 3]);
        }
        state
    }
}

/// Registers and memory behind some code. `rdx` is the address of the memory.
fn after(state: &State, halves: bool, code: &dyn Fn(&mut Assembler) -> Encoded) -> Encoded<State> {
    let mut assembler = Assembler::new(0)?;
    if halves {
        assembler.use_halves();
    }
    let a = &mut assembler;
    let masks = size_of_val(&state.vectors);
    a.push(r15)?;
    a.mov(r15, rdi)?;
    a.mov(r11, rsi)?;
    a.lea(rdx, ptr(r11 + (masks + size_of_val(&state.masks))))?;
    for (n, z) in crate::emit::ZMM.into_iter().enumerate() {
        a.vmovdqa64(z, zmmword_ptr(r11 + 64 * n))?;
    }
    for (n, k) in MASKS.into_iter().enumerate() {
        a.kmovd(k, dword_ptr(r11 + (masks + 8 * n)))?;
    }
    code(a)?;
    for (n, z) in crate::emit::ZMM.into_iter().enumerate() {
        a.vmovdqa64(zmmword_ptr(r11 + 64 * n), z)?;
    }
    for (n, k) in MASKS.into_iter().enumerate() {
        a.kmovd(eax, k)?;
        a.mov(dword_ptr(r11 + (masks + 8 * n)), eax)?;
    }
    a.pop(r15)?;
    a.vzeroupper()?;
    a.ret()?;
    a.finish()?;
    let mut state = state.clone();
    call_trial(assembler.memory()?, &mut state);
    Ok(state)
}

/// Compares both for some code. Where a NaN is, any will do; where AVX-512 clears the upper half of a register, the other
/// leaves it.
fn compare(name: &str, words: &[Words], code: &dyn Fn(&mut Assembler) -> Encoded) {
    if softwarp_num::Level::best() < softwarp_num::Level::Avx512 {
        return;
    }
    let mut random = Random(name.len() as u64);
    for round in 0..60 {
        let before = random.state(words[round % words.len()]);
        let wanted = after(&before, false, code).expect("AVX-512");
        let mut got = after(&before, true, code).unwrap_or_else(|_| panic!("{name} has no encoding"));
        for (n, (wanted, got)) in wanted.vectors.iter().zip(&mut got.vectors).enumerate() {
            if wanted[8..].iter().all(|&word| word == 0) {
                got[8..].fill(0);
            }
            let is_nan = |word: u32| f32::from_bits(word).is_nan();
            let same = |(a, b): (&u32, &u32)| a == b || is_nan(*a) && is_nan(*b);
            let all = wanted.iter().zip(got.iter()).all(same);
            assert!(all, "{name}: zmm{n}\n{wanted:x?}\n{got:x?}\nbefore {:x?}", before.vectors[n]);
        }
        assert_eq!(wanted.masks, got.masks, "{name}");
        assert_eq!(wanted.memory, got.memory, "{name}");
    }
}

/// The memory, by the register of constants: no other thread accesses what is there.
fn own(at: usize) -> AsmMemoryOperand {
    r11 + (std::mem::offset_of!(State, memory) + at)
}

/// Elements that a mask leaves out may be outside of a buffer: an instruction that would read them cannot be encoded.
#[test]
fn masks_leave_out_memory() {
    let encodes = |code: &dyn Fn(&mut Assembler) -> Encoded| {
        let mut assembler = Assembler::new(0).expect("memory");
        assembler.use_halves();
        code(&mut assembler).and_then(|()| assembler.finish().map(drop)).is_ok()
    };
    assert!(encodes(&|a| a.vpmovzxbd(zmm1, xmmword_ptr(rdx))));
    assert!(!encodes(&|a| a.vpmovzxbd(zmm1.k1(), xmmword_ptr(rdx))));
    assert!(!encodes(&|a| a.vpmovsxwd(zmm9.k1().z(), ymmword_ptr(rax + 64i32))));
    assert!(!encodes(&|a| a.vpaddd(zmm1.k1(), zmm2, zmmword_ptr(rdx))));
    assert!(!encodes(&|a| a.vpaddd(zmm1.k1(), zmm2, dword_bcst(rdx))));
    assert!(!encodes(&|a| a.vpcmpud(k1.k2(), zmm2, zmmword_ptr(rax), 5)));
    assert!(encodes(&|a| a.vmovdqu32(zmm1.k1(), zmmword_ptr(rdx))));
    assert!(encodes(&|a| a.vpmovdb(xmmword_ptr(rdx).k1(), zmm1)));
    assert!(encodes(&|a| a.vpaddd(zmm1.k1(), zmm2, zmmword_ptr(r12 + 64i32))));
}

/// Instructions with three operands: registers that are pairs and others, memory, and masks.
macro_rules! three {
    ($words:expr; $element:ident; $($name:ident)*) => {
        $(compare(stringify!($name), $words, &|a| {
            a.$name(zmm0, zmm1, zmm2)?;
            a.$name(zmm9, zmm10, zmm11)?;
            a.$name(zmm2, zmm12, zmm2)?;
            a.$name(zmm13, zmm13, zmm3)?;
            a.$name(zmm14, zmm14, zmm14)?;
            a.$name(zmm4, zmm1, zmmword_ptr(rdx + 64i32))?;
            a.$name(zmm15.k1(), zmm3, zmm16)?;
            a.$name(zmm3.k2().z(), zmm3, zmmword_ptr(own(0)))?;
            a.$name(zmm7, zmm2, $element(rdx + 8i32))?;
            a.$name(zmm1.k3(), zmm17, $element(own(8)))
        });)*
    };
}

#[test]
fn three_operands() {
    use Words::{Any, Floats, Rare, Small};
    three!(&[Any, Small]; dword_bcst; vpaddd vpsubd vpandd vpord vpxord vpandnd vpmulld vpminsd vpminud vpmaxsd vpmaxud
        vpsllvd vpsrlvd vpsravd vpermd);
    three!(&[Any, Small]; qword_bcst; vpaddq vpsubq vpandq vporq vpxorq vpandnq vpmullq vpmuldq vpmuludq vpminsq vpminuq
        vpmaxsq vpmaxuq vpsllvq vpsrlvq vpsravq vpermq);
    three!(&[Floats, Rare]; dword_bcst; vaddps vsubps vmulps vdivps vminps vmaxps vfmadd213ps vfmadd231ps);
    three!(&[Any, Rare]; qword_bcst; vaddpd vsubpd vmulpd vdivpd vminpd vmaxpd vfmadd132pd);
    macro_rules! plain {
        ($($name:ident)*) => {
            $(compare(stringify!($name), &[Any], &|a| {
                a.$name(zmm2, zmm1, zmm9)?;
                a.$name(zmm10, zmm11, zmm12)
            });)*
        };
    }
    plain!(vpaddw vpsubw vpaddb vpshufb vpmulhuw vpmaddwd vpmaddubsw vpunpcklwd vpunpckhwd vpackusdw vpermt2d vpermi2d);
    compare("vmovsldup", &[Any], &|a| {
        a.vmovsldup(zmm2, zmm1)?;
        a.vmovsldup(zmm10.k1(), zmm11)?;
        a.vmovsldup(zmm3.k2(), zmm9)
    });
    compare("blends", &[Any], &|a| {
        a.vpblendmd(zmm2.k1(), zmm1, zmm9)?;
        a.vpblendmq(zmm9.k2(), zmm9, zmm2)?;
        a.vpblendmd(zmm10.k3(), zmm2, dword_bcst(own(0)))
    });
    for byte in [4, 5] {
        compare("vrangeps", &[Floats, Rare], &|a| {
            a.vrangeps(zmm2, zmm1, zmm9, byte)?;
            a.vrangeps(zmm10, zmm10, zmm3, byte)
        });
    }
    for table in 0..256 {
        compare("vpternlogd", &[Any], &|a| {
            a.vpternlogd(zmm2, zmm1, zmm9, table)?;
            a.vpternlogd(zmm10.k1(), zmm3, zmmword_ptr(own(0)), table)?;
            a.vpternlogq(zmm5, zmm5, zmm5, table)
        });
    }
}

#[test]
fn comparisons_and_masks() {
    use Words::{Any, Floats, Rare, Small};
    macro_rules! compared {
        ($words:expr; $($name:ident)*) => {
            $(for predicate in [0, 1, 2, 4, 5, 6] {
                compare(stringify!($name), $words, &|a| {
                    a.$name(k1, zmm1, zmm9, predicate)?;
                    a.$name(k2, zmm11, zmm2, predicate)?;
                    a.$name(k3.k1(), zmm12, zmmword_ptr(own(0)), predicate)?;
                    a.$name(k2.k2(), zmm1, zmm2, predicate)?;
                    a.$name(k4.k1(), zmm1, zmm1, predicate)
                });
            })*
        };
    }
    compared!(&[Any, Small]; vpcmpd vpcmpud vpcmpq vpcmpuq);
    compared!(&[Floats, Rare]; vcmpps vcmppd);
    compare("tests", &[Any, Small], &|a| {
        a.vptestmd(k1, zmm1, zmm9)?;
        a.vptestmq(k2, zmm11, zmm2)?;
        a.vptestnmd(k3, zmm1, zmm2)?;
        a.vpcmpgtd(k4, zmm1, zmm10)?;
        a.vpcmpgtq(k5.k1(), zmm10, zmm2)?;
        a.vpcmpuw(k6, zmm1, zmm2, 5)
    });
    compare("bytes", &[Any, Small], &|a| {
        a.vptestmb(k1, zmm3, zmm9)?;
        a.vptestmb(k2, zmm3, zmm2)?;
        a.vpshufb(zmm4.k1(), zmm1, zmm3)?;
        a.vpmovb2m(k1, zmm4)?;
        a.vpmovm2b(zmm3, k1)?;
        a.vmovdqu8(zmm4.k2(), zmm3)
    });
    compare("classes", &[Floats, Rare], &|a| {
        a.vfpclassps(k1, zmm1, 0x20)?;
        a.vfpclassps(k2, zmm9, 0x99)
    });
    compare("masks", &[Any], &|a| {
        a.kandw(k1, k2, k3)?;
        a.korw(k4, k5, k6)?;
        a.kxorw(k5, k5, k5)?;
        a.kxnorw(k6, k6, k6)?;
        a.kunpckwd(k2, k7, k2)?;
        a.kunpckbw(k3, k1, k4)
    });
    compare("moves of masks", &[Any], &|a| {
        a.kshiftrw(k1, k2, 8)?;
        a.kshiftrd(k3, k4, 16)?;
        a.kmovw(k5, k6)?;
        a.mov(eax, dword_ptr(rdx + 8i32))?;
        a.kmovd(k7, eax)?;
        a.kmovw(k2, word_ptr(rdx))?;
        a.kmovb(k4, byte_ptr(rdx + 1i32))
    });
    compare("masks as vectors", &[Any], &|a| {
        a.vpmovm2d(zmm2, k1)?;
        a.vpmovm2q(zmm9, k2)?;
        a.vpmovd2m(k3, zmm10)?;
        a.vpmovq2m(k4, zmm1)
    });
    for bytes in [1, 2, 4] {
        compare("flags", &[Any], &|a| {
            for (one, two, to) in [(k1, k1, zmm2), (k2, k3, zmm9), (k4, k5, zmm3)] {
                match bytes {
                    1 => a.kortestb(one, two)?,
                    2 => a.kortestw(one, two)?,
                    _ => a.kortestd(one, two)?,
                }
                a.mov(eax, 0)?;
                a.mov(ecx, 0)?;
                a.sete(al)?;
                a.setb(cl)?;
                a.shl(ecx, 1u32)?;
                a.or(eax, ecx)?;
                a.vpbroadcastd(to, eax)?;
            }
            Ok(())
        });
    }
}

#[test]
fn other_vectors() {
    use Words::{Any, Floats, Rare, Small};
    macro_rules! two {
        ($words:expr; $($name:ident)*) => {
            $(compare(stringify!($name), $words, &|a| {
                a.$name(zmm2, zmm1)?;
                a.$name(zmm9, zmm10)?;
                a.$name(zmm11.k2(), zmmword_ptr(own(0)))?;
                a.$name(zmm1.k3().z(), zmm1)
            });)*
        };
    }
    two!(&[Floats, Rare]; vsqrtps vcvtps2dq vcvttps2dq vcvttps2udq vcvtps2udq);
    two!(&[Any, Small]; vcvtdq2ps vcvtudq2ps vsqrtpd vplzcntd vpabsd vpabsq);
    compare("roundings", &[Any, Floats, Rare], &|a| {
        a.vcvtudq2ps(zmm2, zmm1.rz_sae())?;
        a.vcvtps2udq(zmm9, zmm9.ru_sae())?;
        a.vfmadd213ps(zmm3, zmm4, zmm5.rd_sae())?;
        a.vmulps(zmm10, zmm11, zmm12)
    });
    compare("vcvtqq2pd", &[Any], &|a| {
        a.vpsraq(zmm1, zmm1, 20)?;
        a.vcvtqq2pd(zmm9, zmm1)
    });
    for byte in 0..4 {
        compare("vrndscaleps", &[Floats, Rare], &|a| {
            a.vrndscaleps(zmm2, zmm1, 8 | byte)?;
            a.vrndscaleps(zmm9, zmm10, 8 | byte)?;
            a.vrndscalepd(zmm11, zmm10, 8 | byte)
        });
    }
    for order in [0, 0x1b, 0x4e, 0xb1, 0xff] {
        compare("vpshufd", &[Any], &|a| {
            a.vpshufd(zmm2, zmm1, order)?;
            a.vpshufd(zmm10.k1(), zmm9, order)?;
            a.vpshufd(zmm11, dword_bcst(rdx), order)
        });
    }
    compare("vreduceps", &[Floats, Rare], &|a| {
        a.vreduceps(zmm2, zmm1, 3)?;
        a.vreduceps(zmm9, zmm10, 3)
    });
    for by in [0, 1, 7, 16, 31] {
        compare("shifts", &[Any], &|a| {
            a.vpsrld(zmm2, zmm1, by)?;
            a.vpsrad(zmm9, zmm2, by)?;
            a.vpslld(zmm10.k2(), zmm11, by)?;
            a.vprold(zmm4, zmm12, by)?;
            a.vprord(zmm5, zmm13, by)?;
            a.vpsrlq(zmm6, zmm13, 2 * by)?;
            a.vpsllq(zmm7, zmm3, 2 * by)?;
            a.vpsraq(zmm14, zmm3, 2 * by)?;
            a.vpsrlw(zmm15, zmm3, by / 2)?;
            a.vpsraw(zmm16, zmm3, by / 2)?;
            a.vpsllw(zmm17, zmm9, by / 2)
        });
    }
    macro_rules! half {
        ($($name:ident)*) => {
            $(compare(stringify!($name), &[Any], &|a| {
                a.$name(zmm2, ymm1)?;
                a.$name(zmm3, ymm3)?;
                a.$name(zmm9, ymm10)?;
                a.$name(zmm12, ymmword_ptr(rdx))?;
                a.$name(zmm11.k2(), ymmword_ptr(own(0)))
            });)*
        };
    }
    half!(vpmovzxdq vpmovsxdq vpmovzxwd vpmovsxwd vcvtph2ps vcvtdq2pd vcvtudq2pd vcvtps2pd);
    compare("quarters", &[Any], &|a| {
        a.vpmovzxbd(zmm2, xmm1)?;
        a.vpmovsxbd(zmm9, xmm10)?;
        a.vpmovsxbd(zmm11, xmmword_ptr(rdx))
    });
    compare("shorter elements", &[Any, Rare], &|a| {
        a.vpmovqd(ymm2, zmm1)?;
        a.vpmovdw(ymm9, zmm3)?;
        a.vcvtps2ph(ymm10, zmm11, 0)?;
        a.vcvtps2ph(ymm3, zmm12, 0)?;
        a.vcvtudq2pd(zmm13, ymm13)?;
        a.vcvttpd2udq(ymm4, zmm13)?;
        a.vcvtdq2pd(zmm14, ymm14)?;
        a.vcvttpd2dq(ymm5, zmm14)?;
        a.vcvtpd2ps(ymm6, zmm1)?;
        a.vcvtpd2ps(ymm7, zmm14.ru_sae())
    });
}

#[test]
fn moves() {
    use Words::Any;
    compare("moves", &[Any], &|a| {
        a.vmovdqa32(zmm2.k1(), zmm9)?;
        a.vmovdqa64(zmm10.k2().z(), zmm1)?;
        a.vmovdqu32(zmm11.k3(), zmmword_ptr(rdx))?;
        a.vmovdqu64(zmm3.k4(), zmmword_ptr(rdx + 64i32))?;
        a.vmovdqa64(zmm12, zmm13)?;
        a.vmovaps(zmm5, zmm1)?;
        a.vmovdqa32(zmmword_ptr(rdx).k1(), zmm9)?;
        a.vmovdqa64(zmmword_ptr(rdx + 64i32).k2(), zmm2)?;
        a.vmovdqu64(zmmword_ptr(rdx + 130i32), zmm20)
    });
    compare("moves of own memory", &[Any], &|a| {
        a.vmovdqa32(zmm2.k1(), zmmword_ptr(own(0)))?;
        a.vmovdqa64(zmm9.k2(), zmmword_ptr(own(64)))?;
        a.vmovdqa32(zmmword_ptr(own(128)).k1(), zmm10)?;
        a.vmovdqa64(zmmword_ptr(own(192)).k2(), zmm3)?;
        a.vmovdqa32(zmm11.k1().z(), zmmword_ptr(own(256)))
    });
    compare("stores of shorter elements", &[Any], &|a| {
        a.vpmovdb(xmmword_ptr(rdx), zmm1)?;
        a.vpmovdb(xmmword_ptr(rdx + 17i32).k1(), zmm10)?;
        a.vpmovdw(ymmword_ptr(rdx + 67i32).k2(), zmm11)?;
        a.vpmovdw(ymmword_ptr(rdx + 127i32), zmm1)
    });
    compare("halves", &[Any], &|a| {
        a.vextracti64x4(ymm2, zmm1, 1)?;
        a.vextracti64x4(ymm9, zmm10, 1)?;
        a.vextracti64x4(ymm11, zmm3, 0)?;
        a.vinserti64x4(zmm12, zmm12, ymm2, 1)?;
        a.vinserti64x4(zmm3, zmm14, ymm3, 1)?;
        a.vinserti64x4(zmm4, zmm14, ymm3, 0)
    });
    compare("broadcasts", &[Any], &|a| {
        a.vpbroadcastd(zmm2, xmm1)?;
        a.vpbroadcastd(zmm9, xmm10)?;
        a.vpbroadcastq(zmm3, xmm11)?;
        a.vpbroadcastq(zmm4.k1(), xmm1)?;
        a.vpbroadcastq(zmm5, qword_ptr(rdx))?;
        a.vpbroadcastd(zmm6, dword_ptr(rdx + 4i32))?;
        a.vmovd(eax, xmm1)?;
        a.vpbroadcastd(zmm7.k2(), eax)?;
        a.vmovq(rax, xmm12)?;
        a.vpbroadcastq(zmm8, rax)?;
        a.vpextrq(rax, xmm0, 1)?;
        a.vpbroadcastq(zmm13, rax)?;
        a.vpextrq(rcx, xmm14, 1)?;
        a.vpbroadcastq(zmm15, rcx)?;
        a.vpextrq(rax, xmm16, 0)?;
        a.vpbroadcastq(zmm17, rax)
    });
    compare("gathers", &[Any], &|a| {
        a.vpsrld(zmm1, zmm1, 23)?;
        a.vpsrlq(zmm9, zmm9, 55)?;
        a.vpxord(zmm3, zmm3, zmm3)?;
        a.vpgatherqd(ymm3.k2(), ymmword_ptr(rdx + zmm9 * 1 + 8usize))?;
        a.vpgatherdd(zmm2.k1(), zmmword_ptr(rdx + zmm1 * 1 + 4usize))?;
        a.vpgatherqq(zmm10.k3(), zmmword_ptr(rdx + zmm9 * 1 + 4usize))?;
        a.vpgatherdq(zmm11.k4(), zmmword_ptr(rdx + ymm1 * 1 + 8usize))?;
        // AVX-512 clears their masks.
        MASKS.into_iter().try_for_each(|k| a.kxorw(k, k, k))
    });
    compare("scatters", &[Any], &|a| {
        a.vpsrld(zmm1, zmm1, 23)?;
        a.vpsrlq(zmm9, zmm9, 55)?;
        a.vpscatterdd(zmmword_ptr(rdx + zmm1 * 1 + 4usize).k1(), zmm2)?;
        a.vpscatterqq(zmmword_ptr(rdx + zmm9 * 1 + 4usize).k2(), zmm10)?;
        a.vpscatterqd(ymmword_ptr(rdx + zmm9 * 1 + 8usize).k7(), ymm3)?;
        MASKS.into_iter().try_for_each(|k| a.kxorw(k, k, k))
    });
    compare("compressions", &[Any], &|a| {
        a.vpcompressd(zmm2.k6().z(), zmm1)?;
        a.vpcompressd(zmm9.k7().z(), zmm10)
    });
}
