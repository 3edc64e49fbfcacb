//! Every instruction: what a disassembler reads in its bytes is what the call says.

use super::written::{Written, decoded};

/// Registers and memory operands.
macro_rules! operands {
    () => {
        const Z: [AsmRegisterZmm; 5] = [zmm0, zmm7, zmm13, zmm18, zmm31];
        const Y: [AsmRegisterYmm; 5] = [ymm0, ymm7, ymm13, ymm18, ymm31];
        const X: [AsmRegisterXmm; 5] = [xmm0, xmm7, xmm13, xmm18, xmm31];
        const K: [AsmRegisterK; 3] = [k1, k4, k7];
        const WIDE: [AsmRegister64; 16] =
            [rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15];
        const NARROW: [AsmRegister32; 16] =
            [eax, ecx, edx, ebx, esp, ebp, esi, edi, r8d, r9d, r10d, r11d, r12d, r13d, r14d, r15d];
        /// Bases, offsets around the limits of short ones, and indices.
        fn places() -> Vec<AsmMemoryOperand> {
            let mut places = Vec::new();
            for base in WIDE {
                for offset in [0, 1, -1, 4, 64, 127, 128, -128, -129, 0x1fc0, 0x2000, -0x2000, i32::MAX] {
                    places.push(base + offset);
                }
            }
            for base in [rax, rbp, rsp, r12, r13] {
                for index in [rcx, rbp, r12, r13] {
                    places.extend([base + index * 1, base + index * 2 + 8i32, base + index * 8 + 4096i32]);
                }
            }
            places
        }
    };
}

/// Encodes instructions, writes the same calls as text, and compares that with what a disassembler reads.
macro_rules! both {
    (|$a:ident| $code:block) => {{
        #[allow(unused_imports)]
        use super::*;
        #[allow(dead_code)]
        {
            operands!();
            let mut assembler = Assembler::new(0).expect("memory");
            assembler.jumps = Jumps::Anywhere;
            (|$a: &mut Assembler| -> Encoded {
                $code;
                Ok(())
            })(&mut assembler)
            .expect("operands");
            let mut written = Written::default();
            (|$a: &mut Written| -> Encoded {
                $code;
                Ok(())
            })(&mut written)
            .expect("operands");
            let (ours, theirs) = (decoded(assembler.finish().expect("code")), written.finish());
            assert_eq!(ours.len(), theirs.len());
            for (ours, theirs) in ours.iter().zip(&theirs) {
                assert_eq!(ours, theirs);
            }
        }
    }};
}

/// Three operands, the last of which is a vector or memory, with masks; then those with elements for all lanes.
macro_rules! three {
    ($($name:ident)*; $($narrow:ident)*; $($wide:ident)*) => {
        $(three!(@plain $name);)*
        $(three!(@plain $narrow);)*
        $(three!(@plain $wide);)*
        $(both!(|a| { for place in places() { a.$narrow(zmm17.k3().z(), zmm9, dword_bcst(place))?; } });)*
        $(both!(|a| { for place in places() { a.$wide(zmm17.k3().z(), zmm9, qword_bcst(place))?; } });)*
    };
    (@plain $name:ident) => {
        both!(|a| {
            for d in Z {
                for s in Z {
                    for t in Z {
                        a.$name(d, s, t)?;
                    }
                    a.$name(d.k1(), s, s)?;
                    a.$name(d.k7().z(), s, s)?;
                }
            }
            for place in places() {
                a.$name(zmm30.k2(), zmm20, zmmword_ptr(place))?;
            }
        });
    };
}

#[test]
fn vectors_of_three() {
    three!(
        vpaddw vpsubw vpaddb vpshufb vpmulhuw vpmaddwd vpmaddubsw vpunpcklwd vpunpckhwd vpermb;
        vpaddd vpsubd vpandd vpord vpxord vpmulld vpminsd vpminud vpmaxsd vpmaxud vpsllvd vpsrlvd vpsravd vpackusdw
        vpdpwssd vpermd vpermt2d vpermi2d vpblendmd vaddps vsubps vmulps vdivps vminps vmaxps vfmadd213ps vfmadd231ps
        vpandnd vpunpckldq vpunpckhdq;
        vpaddq vpsubq vpandq vporq vpxorq vpmullq vpmuldq vpmuludq vpminsq vpminuq vpmaxsq vpmaxuq vpsllvq vpsrlvq
        vpsravq vpmadd52luq vpermq vpblendmq vaddpd vsubpd vmulpd vdivpd vminpd vmaxpd vfmadd132pd vpandnq vpunpcklqdq vpunpckhqdq
    );
    both!(|a| {
        a.vmulps(zmm1, zmm2, zmm3.rz_sae())?;
        a.vaddps(zmm31.k1().z(), zmm2, zmm23.ru_sae())?;
    });
}

macro_rules! comparisons {
    ($($name:ident)*; $($by:ident)*; $($wide:ident)*; $($wide_by:ident)*) => {
        $(comparisons!(@one $name dword_bcst());)*
        $(comparisons!(@one $by dword_bcst(5));)*
        $(comparisons!(@one $wide qword_bcst());)*
        $(comparisons!(@one $wide_by qword_bcst(5));)*
    };
    (@one $name:ident $broadcast:ident($($by:literal)?)) => {
        both!(|a| {
            for d in K {
                for s in Z {
                    for t in Z {
                        a.$name(d, s, t $(, $by)?)?;
                    }
                    a.$name(d.k1(), s, s $(, $by)?)?;
                }
            }
            for place in places() {
                a.$name(k5.k2(), zmm20, zmmword_ptr(place) $(, $by)?)?;
                a.$name(k5, zmm20, $broadcast(place) $(, $by)?)?;
            }
        });
    };
}

#[test]
fn comparisons() {
    comparisons!(
        vptestmd vptestnmd vpcmpgtd; vpcmpd vpcmpud vcmpps; vptestmq vpcmpgtq; vpcmpq vpcmpuq vcmppd
    );
    both!(|a| {
        for s in Z {
            a.vfpclassps(k3, s, 0x99)?;
            a.vpmovd2m(k4, s)?;
            a.vpmovq2m(k5, s)?;
            a.vpmovm2d(s, k4)?;
            a.vpmovm2q(s, k5)?;
            a.vpmovb2m(k5, s)?;
            a.vpmovm2b(s, k4)?;
            a.vptestmb(k3, zmm9, s)?;
            a.vptestmb(k3.k1(), s, zmm29)?;
            a.vpcmpuw(k3, zmm9, s, 5)?;
            a.vpcmpuw(k3.k1(), s, zmm29, 1)?;
            a.vcmpps(k2, s, s, 0x1e)?;
        }
        for place in places() {
            a.vptestmb(k3, zmm9, zmmword_ptr(place))?;
            a.vpcmpuw(k3, zmm9, zmmword_ptr(place), 5)?;
        }
    });
}

#[test]
fn vectors_of_two() {
    macro_rules! two {
        ($($name:ident $broadcast:ident($($byte:literal)?))*) => {
            $(both!(|a| {
                for d in Z {
                    for s in Z {
                        a.$name(d, s $(, $byte)?)?;
                        a.$name(d.k5().z(), s $(, $byte)?)?;
                    }
                }
                for place in places() {
                    a.$name(zmm30.k2(), zmmword_ptr(place) $(, $byte)?)?;
                    a.$name(zmm3, $broadcast(place) $(, $byte)?)?;
                }
            });)*
        };
    }
    two!(
        vsqrtps dword_bcst() vcvtdq2ps dword_bcst() vcvtudq2ps dword_bcst() vcvtps2dq dword_bcst()
        vcvttps2dq dword_bcst() vcvttps2udq dword_bcst() vcvtps2udq dword_bcst() vsqrtpd qword_bcst() vcvtqq2pd qword_bcst()
        vcvtuqq2pd qword_bcst() vcvttpd2qq qword_bcst() vcvttpd2uqq qword_bcst() vrndscalepd qword_bcst(11)
        vplzcntd dword_bcst() vpabsd dword_bcst() vpabsq qword_bcst() vrndscaleps dword_bcst(9) vpshufd dword_bcst(27) vreduceps dword_bcst(3)
        vgetexpps dword_bcst()
    );
    both!(|a| {
        a.vcvtps2dq(zmm1, zmm22.rn_sae())?;
        a.vcvtps2dq(zmm1, zmm22.rd_sae())?;
        a.vcvtps2dq(zmm1, zmm22.ru_sae())?;
        a.vcvtdq2ps(zmm1.k1(), zmm22.rz_sae())?;
        for (d, s) in Z.into_iter().zip(Z) {
            a.vmovsldup(d, zmm21)?;
            a.vmovsldup(zmm3.k2(), s)?;
        }
        for place in places() {
            a.vmovsldup(zmm30.k2(), zmmword_ptr(place))?;
        }
    });
}

#[test]
fn vectors_of_other_widths() {
    macro_rules! widen {
        ($registers:ident $pointer:ident: $($name:ident)*) => {
            $(both!(|a| {
                for d in Z {
                    for s in $registers {
                        a.$name(d, s)?;
                        a.$name(d.k5().z(), s)?;
                    }
                }
                for place in places() {
                    a.$name(zmm30.k2().z(), $pointer(place))?;
                }
            });)*
        };
    }
    widen!(Y ymmword_ptr: vpmovzxdq vpmovsxdq vpmovzxwd vpmovsxwd vcvtph2ps vcvtdq2pd vcvtudq2pd vcvtps2pd);
    widen!(X xmmword_ptr: vpmovzxbd vpmovsxbd);
    macro_rules! narrow {
        ($pointer:ident: $($name:ident($($byte:literal)?))*) => {
            $(both!(|a| {
                for d in Y {
                    for s in Z {
                        a.$name(d, s $(, $byte)?)?;
                        a.$name(d.k2(), s $(, $byte)?)?;
                    }
                }
                for place in places() {
                    a.$name($pointer(place).k1(), zmm19 $(, $byte)?)?;
                    a.$name($pointer(place), zmm3 $(, $byte)?)?;
                }
            });)*
        };
    }
    narrow!(ymmword_ptr: vpmovqd() vpmovdw() vcvtps2ph(4) vextracti64x4(1));
    both!(|a| {
        for (d, s) in Z.into_iter().zip(Y) {
            a.vinserti64x4(d, zmm21, s, 1)?;
            a.vcvttpd2dq(s, d)?;
            a.vcvttpd2udq(s, d)?;
            a.vcvtpd2ps(s, d)?;
            a.vcvtpd2ps(s, d.rd_sae())?;
            a.vcvtqq2ps(s, d)?;
            a.vcvtuqq2ps(s, d)?;
            a.vpcompressd(d.k6().z(), zmm20)?;
        }
        for place in places() {
            a.vpmovdb(xmmword_ptr(place).k1(), zmm19)?;
            a.vpmovdb(xmmword_ptr(place), zmm1)?;
            a.vinserti64x4(zmm1, zmm21, ymmword_ptr(place), 1)?;
            a.vextracti32x4(xmmword_ptr(place), zmm21, 0)?;
            a.vinserti32x4(zmm1, zmm21, xmmword_ptr(place), 2)?;
            a.vbroadcasti32x4(zmm27, xmmword_ptr(place))?;
            a.vbroadcasti32x4(zmm7.k3(), xmmword_ptr(place))?;
            a.vbroadcasti64x4(zmm27, ymmword_ptr(place))?;
            a.vpbroadcastd(zmm27, dword_ptr(place))?;
            a.vpbroadcastq(zmm27, qword_ptr(place))?;
        }
        for (d, s) in Z.into_iter().zip(X) {
            a.vpbroadcastd(d, s)?;
            a.vpbroadcastq(d.k1(), s)?;
            for (narrow, wide) in NARROW.into_iter().zip(WIDE) {
                a.vpbroadcastd(d, narrow)?;
                a.vpbroadcastq(d, wide)?;
            }
        }
        for (narrow, wide) in NARROW.into_iter().zip(WIDE) {
            a.vmovd(narrow, xmm3)?;
            a.vmovq(wide, xmm3)?;
            a.vmovd(narrow, xmm13)?;
            a.vmovq(wide, xmm13)?;
            a.vpextrq(wide, xmm3, 1)?;
            a.vpextrq(wide, xmm13, 1)?;
        }
        for (d, s) in X.into_iter().zip(Z) {
            a.vextracti32x4(d, s, 3)?;
            a.vinserti32x4(s, zmm21, d, 3)?;
        }
        for (narrow, wide) in NARROW.into_iter().zip(WIDE) {
            for x in [xmm0, xmm3, xmm13] {
                a.vmov_to(x, narrow)?;
                a.vmov_to(x, wide)?;
                a.vmov_from(narrow, x)?;
                a.vmov_from(wide, x)?;
            }
        }
        a.vaddss(xmm0, xmm3, xmm13)?;
        a.vaddsd(xmm13, xmm0, xmm3)?;
        a.vucomiss(xmm0, xmm3)?;
        a.vucomisd(xmm13, xmm0)?;
    });
    // With the prefix VEX there would be no such registers.
    let mut a = super::Assembler::new(0).expect("memory");
    a.vmovd(super::eax, super::xmm31).expect("it is encoded");
    a.vmovq(super::r9, super::xmm18).expect("it is encoded");
    assert_eq!(decoded(a.finish().expect("code")), ["vmovd eax,xmm31", "vmovq r9,xmm18"]);
}

#[test]
fn shifts() {
    macro_rules! shift {
        ($($name:ident)*) => {
            $(both!(|a| {
                for d in Z {
                    for s in Z {
                        a.$name(d, s, 13)?;
                        a.$name(d.k3(), s, 31u32)?;
                    }
                }
            });)*
        };
    }
    shift!(vpsrld vpsrad vpslld vprold vprord vpsrlq vpsllq vpsrlw vpsraq vpsraw vpsllw);
    both!(|a| {
        for s in Z {
            a.vpternlogd(s, zmm1, s, 0xf8)?;
            a.vpternlogd(zmm30.k1(), s, zmm2, 0x96)?;
        }
        for place in places() {
            a.vpternlogd(zmm30, zmm20, zmmword_ptr(place), 0xff)?;
            a.vpternlogd(zmm30, zmm20, dword_bcst(place), 0)?;
            a.vpternlogq(zmm30, zmm20, qword_bcst(place), 0)?;
            a.vrangeps(zmm30.k1(), zmm20, zmmword_ptr(place), 5)?;
            a.vrangeps(zmm30, zmm20, dword_bcst(place), 4)?;
        }
        for s in Z {
            a.vrangeps(s, zmm1, s, 5)?;
            a.vpshldw(s, zmm1, s, 3)?;
            a.vpternlogq(s.k1(), zmm1, s, 5)?;
        }
    });
}

#[test]
fn moves_of_vectors() {
    macro_rules! moves {
        ($($name:ident)*) => {
            $(both!(|a| {
                for d in Z {
                    for s in Z {
                        a.$name(d, s)?;
                        a.$name(d.k5().z(), s)?;
                        a.$name(d.k6(), s)?;
                    }
                }
                for place in places() {
                    a.$name(zmm30.k2(), zmmword_ptr(place))?;
                    a.$name(zmm3, zmmword_ptr(place))?;
                    a.$name(zmmword_ptr(place), zmm23)?;
                    a.$name(zmmword_ptr(place).k1(), zmm3)?;
                    a.$name(zmmword_ptr(place).k6(), zmm3)?;
                    a.$name(zmmword_ptr(place).k7(), zmm3)?;
                }
            });)*
        };
    }
    moves!(vmovdqa32 vmovdqa64 vmovdqu32 vmovdqu64 vmovdqu8 vmovaps vmovapd);
    macro_rules! elements {
        ($registers:ident $indices:ident $pointer:ident: $gather:ident $($scatter:ident)?) => {
            both!(|a| {
                for d in [1, 3] {
                    for index in [0, 2, 4] {
                        for offset in [0usize, 4, 8, 508, 512, 1024] {
                            let place = $pointer(rdx + $indices[index] * 1 + offset);
                            a.$gather($registers[d].k2(), place)?;
                            $(a.$scatter(place.k2(), $registers[d])?;)?
                            a.$gather($registers[d].k1(), $pointer(r13 + $indices[index] * 4 + offset))?;
                        }
                    }
                }
            });
        };
    }
    elements!(Z Z zmmword_ptr: vpgatherdd vpscatterdd);
    elements!(Z Y zmmword_ptr: vpgatherdq);
    elements!(Y Z ymmword_ptr: vpgatherqd vpscatterqd);
    elements!(Z Z zmmword_ptr: vpgatherqq vpscatterqq);
}

#[test]
fn masks() {
    macro_rules! three {
        ($($name:ident)*) => { $(a_mask!($name);)* };
    }
    macro_rules! a_mask {
        ($name:ident) => {
            both!(|a| {
                for d in K {
                    for s in K {
                        for t in K {
                            a.$name(d, s, t)?;
                        }
                    }
                }
            });
        };
    }
    three!(kandw korw kxnorw kxorw kunpckbw kunpckwd);
    both!(|a| {
        for d in K {
            for s in K {
                a.kortestb(d, s)?;
                a.kortestw(d, s)?;
                a.kortestd(d, s)?;
                a.kshiftrw(d, s, 8)?;
                a.kshiftrd(d, s, 16)?;
                a.kmovb(d, s)?;
                a.kmovw(d, s)?;
                a.knotw(d, s)?;
                a.kmovd(d, s)?;
            }
            for s in NARROW {
                a.kmovd(d, s)?;
                a.kmovd(s, d)?;
                a.kmovw(d, s)?;
                a.kmovb(d, s)?;
                a.kmovw(s, d)?;
            }
        }
        for place in places() {
            a.kmovb(k3, byte_ptr(place))?;
            a.kmovw(k3, word_ptr(place))?;
            a.kmovd(k3, dword_ptr(place))?;
        }
        a.vmovdqa(ymm5, ymm1)?;
        a.vmovdqa(ymm15, ymm9)?;
        a.vpxor(ymm4, ymm14, ymm7)?;
        a.vpxor(ymm14, ymm4, ymm9)?;
        a.vzeroupper()?;
    });
}

#[test]
fn general_purpose_registers() {
    macro_rules! arithmetic {
        ($($name:ident)*) => {
            $(both!(|a| {
                for (n, m) in NARROW.into_iter().zip(WIDE) {
                    for (narrow, wide) in NARROW.into_iter().zip(WIDE) {
                        a.$name(n, narrow)?;
                        a.$name(m, wide)?;
                    }
                    for value in [0, 1, -1, 127, 128, -128, -129, i32::MAX, i32::MIN] {
                        a.$name(n, value)?;
                        a.$name(m, value)?;
                    }
                }
                for place in places() {
                    a.$name(r9d, dword_ptr(place))?;
                    a.$name(rbx, qword_ptr(place))?;
                    a.$name(dword_ptr(place), r10d)?;
                    a.$name(qword_ptr(place), rdi)?;
                    a.$name(dword_ptr(place), 5)?;
                    a.$name(qword_ptr(place), -300)?;
                }
            });)*
        };
    }
    arithmetic!(add or and sub xor cmp);
    both!(|a| {
        for (narrow, wide) in NARROW.into_iter().zip(WIDE) {
            a.inc(narrow)?;
            a.dec(wide)?;
            a.not(narrow)?;
            a.not(wide)?;
            a.neg(narrow)?;
            a.neg(wide)?;
            a.shl(narrow, 7u32)?;
            a.shl(wide, cl)?;
            a.shr(narrow, cl)?;
            a.shr(wide, 63u32)?;
            a.sar(narrow, 31u32)?;
            a.sar(wide, cl)?;
            a.imul_2(narrow, r9d)?;
            a.imul_2(rcx, wide)?;
            a.imul_3(narrow, r9d, 100)?;
            a.imul_3(rcx, wide, 1000)?;
            a.bsf(narrow, r9d)?;
            a.bsf(rcx, wide)?;
            a.bsr(narrow, r9d)?;
            a.bsr(rcx, wide)?;
            a.popcnt(narrow, r9d)?;
            a.popcnt(rcx, wide)?;
            a.test(narrow, r9d)?;
            a.test(rcx, wide)?;
            a.bt(narrow, 30u32)?;
            a.push(wide)?;
            a.pop(wide)?;
            a.movsxd(wide, r12d)?;
            a.movsxd(rax, narrow)?;
        }
        for place in places() {
            a.inc(qword_ptr(place))?;
            a.dec(qword_ptr(place))?;
            a.dec(dword_ptr(place))?;
            a.inc(dword_ptr(place))?;
        }
        a.test(al, 3)?;
        a.test(al, 15)?;
        a.ret()?;
        a.nop()?;
    });
}

#[test]
fn moves() {
    both!(|a| {
        for (n, m) in NARROW.into_iter().zip(WIDE) {
            for (narrow, wide) in NARROW.into_iter().zip(WIDE) {
                a.mov(n, narrow)?;
                a.mov(m, wide)?;
            }
            a.mov(n, -1)?;
            a.mov(n, 77u32)?;
            a.mov(m, 0x1234_5678_9abc_def0u64)?;
            a.mov(m, u64::MAX)?;
        }
        for place in places() {
            a.mov(r9d, dword_ptr(place))?;
            a.mov(rbx, qword_ptr(place))?;
            a.mov(dword_ptr(place), r10d)?;
            a.mov(qword_ptr(place), rdi)?;
            a.mov(dword_ptr(place), 5)?;
            a.mov(qword_ptr(place), -300)?;
            a.mov(byte_ptr(place), cl)?;
            a.mov(word_ptr(place), cx)?;
            a.movzx(r9d, byte_ptr(place))?;
            a.movzx(eax, word_ptr(place))?;
            a.movsx(eax, byte_ptr(place))?;
            a.movsx(r9d, word_ptr(place))?;
            a.lea(r14, ptr(place))?;
            a.lea(ecx, ptr(place))?;
            a.prefetcht0(byte_ptr(place))?;
            a.bts(qword_ptr(place), 63)?;
            a.bts(qword_ptr(place), r9)?;
            a.btr(qword_ptr(place), rbx)?;
            a.btr(qword_ptr(place), 0)?;
            a.lock().xadd(dword_ptr(place), ecx)?;
            a.lock().xadd(qword_ptr(place), r9)?;
            a.lock().cmpxchg(dword_ptr(place), r10d)?;
            a.cmpxchg(qword_ptr(place), rcx)?;
            a.xchg(dword_ptr(place), r9d)?;
            a.xchg(qword_ptr(place), rsi)?;
            a.vldmxcsr(dword_ptr(place))?;
            a.lock().add(dword_ptr(place), ecx)?;
            a.jmp(qword_ptr(place))?;
            a.cqo()?;
            a.mfence()?;
            a.div(rcx)?;
            a.idiv(r9)?;
            a.jmp(rdx)?;
            a.jmp(r9)?;
            a.call(qword_ptr(place))?;
        }
    });
    let mut a = super::Assembler::new(0).expect("memory");
    let mut label = a.create_label();
    a.lea_label(super::rdx, label).expect("it is encoded");
    a.lea_label(super::r9, label).expect("it is encoded");
    a.set_label(&mut label).expect("a place");
    a.nop().expect("it is encoded");
    assert_eq!(decoded(a.finish().expect("code")), ["lea rdx,0[rip+14]", "lea r9,0[rip+14]", "nop "]);
    // A move of 32 bits clears the others.
    let mut a = super::Assembler::new(0).expect("memory");
    a.mov(super::r9, 0xffff_ffffu64).expect("it is encoded");
    assert_eq!(decoded(a.finish().expect("code")), ["mov r9d,#0xffffffff"]);
}

#[test]
fn conditions() {
    both!(|a| {
        macro_rules! conditional {
            ($($name:ident)*) => {
                $(
                    a.$name(eax, r9d)?;
                    a.$name(r12, rdx)?;
                )*
            };
        }
        conditional!(cmovb cmovae cmovz cmova cmovl cmovg);
        macro_rules! set {
            ($($name:ident)*) => {
                $(
                    a.$name(al)?;
                    a.$name(cl)?;
                )*
            };
        }
        set!(setb setae sete setne setbe seta setl setge setle setg);
    });
    macro_rules! jump {
        ($($name:ident)*) => {
            $(
                both!(|a| {
                    let mut back = a.create_label();
                    a.set_label(&mut back)?;
                    a.mov(eax, 1)?;
                    a.$name(back)?;
                    for _ in 0..30 {
                        a.mov(eax, 1)?;
                    }
                    a.$name(back)?;
                    let mut ahead = a.create_label();
                    a.$name(ahead)?;
                    for _ in 0..30 {
                        a.mov(eax, 1)?;
                    }
                    a.set_label(&mut ahead)?;
                    a.mov(eax, 1)?;
                });
            )*
        };
    }
    jump!(jo jb jae jz jne jnz jbe ja js jp jnp jl jge jle jg jmp call);
}

/// Every method of the tables is called above.
#[test]
fn everything_is_tested() {
    let tests = include_str!("tests.rs");
    let tables = [include_str!("vector.rs"), include_str!("masks.rs"), include_str!("scalar.rs")].join("\n");
    let mut names: Vec<&str> = Vec::new();
    for line in tables.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("pub(crate) fn ") {
            names.extend(rest.split(['(', '<']).next());
        } else if let Some((name, _)) = line.split_once(" opcode(") {
            names.extend(name.split(' ').next());
        } else if let Some((_, rows)) = line.split_once("form! {") {
            names.extend(rows.split([':', ';']).skip(1).filter_map(|row| row.trim().split(' ').next()));
        }
    }
    let is_word = |name: &&str| name.len() > 1 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let words: Vec<&str> = tests.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
    let names: Vec<&str> = names.into_iter().filter(is_word).collect();
    assert!(names.len() > 150, "{}", names.len());
    for name in names {
        assert!(words.contains(&name), "{name} is not tested");
    }
}

#[test]
fn one_element_of_even_operands_is_read() {
    use super::*;
    let code = |operand: AsmMemoryOperand, whole: AsmMemoryOperand| {
        let mut assembler = Assembler::new(0).expect("memory");
        assembler.vpaddd(zmm1, zmm2, operand).expect("operands");
        assembler
            .vpxorq(zmm1.k1(), zmm2, if operand.is_broadcast() { qword_bcst(r11) } else { operand })
            .expect("operands");
        // These have no form with one element.
        assembler.vpshufb(zmm1, zmm2, whole).expect("operands");
        assembler.vmovdqa64(zmm1, whole).expect("operands");
        assembler.finish().expect("code").to_vec()
    };
    let whole = zmmword_ptr(r11 + 0i32);
    assert_eq!(code(whole.even(), whole.even()), code(dword_bcst(r11 + 0i32), whole));
}
