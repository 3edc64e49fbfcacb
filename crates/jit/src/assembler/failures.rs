//! Tests: what has no encoding makes the code fail.

use super::*;

#[test]
fn failures() {
    let fails = |emit: fn(&mut Assembler) -> Encoded| {
        let mut a = Assembler::new(0).expect("memory");
        emit(&mut a).expect("failures show at the end");
        assert_eq!(a.finish().err(), Some(Unencodable));
    };
    fails(|a| a.mov(eax, qword_ptr(rax)));
    fails(|a| a.mov(rax, qword_ptr(rax + (1usize << 31))));
    fails(|a| a.mov(rax, qword_ptr(rax + usize::MAX)));
    fails(|a| a.mov(rax, qword_ptr(rax + rsp * 1)));
    fails(|a| a.mov(rax, qword_ptr(rax + rcx * 3)));
    fails(|a| a.mov(rax, qword_ptr(rax + zmm1 * 1)));
    fails(|a| a.vpaddd(zmm1, zmm2, dword_ptr(rax)));
    fails(|a| a.vpaddd(zmm1, zmm2, qword_bcst(rax)));
    fails(|a| a.vpaddd(zmm1, zmm2.k1(), zmm3));
    fails(|a| a.vpaddd(zmm1, zmm2, zmm3.k1()));
    fails(|a| a.vpaddd(zmm1.k1(), zmm2, zmmword_ptr(rax).k2()));
    fails(|a| a.vpaddd(zmm1, zmm2, zmmword_ptr(rax + zmm3 * 1)));
    fails(|a| a.vpaddw(zmm1, zmm2, dword_bcst(rax)));
    fails(|a| a.vpgatherdd(zmm1, zmmword_ptr(rax + zmm3 * 1)));
    fails(|a| a.vpgatherdd(zmm1.k1(), zmmword_ptr(rax + ymm3 * 1)));
    fails(|a| a.vpgatherdd(zmm1.k1(), zmmword_ptr(rax + rcx)));
    fails(|a| a.vpscatterdd(zmmword_ptr(rax + zmm3 * 1), zmm2));
    fails(|a| a.vpsrld(zmm1, zmm2, 256));
    fails(|a| a.vpsrld(zmm1, zmm2, -1));
    fails(|a| a.vpxor(ymm1, ymm2, ymm16));
    fails(|a| a.shl(eax, al));
    fails(|a| a.kmovw(k1, dword_ptr(rax)));
    fails(|a| {
        let label = a.create_label();
        a.jmp(label)
    });
    fails(|a| {
        let mut label = a.create_label();
        a.set_label(&mut label)?;
        a.set_label(&mut label)
    });
}
