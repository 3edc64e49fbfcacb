//! Operations among the lanes of a warp, which all of them execute together.

use super::{Emitted, Emitter, Late, RAX, ZMM, field};
use crate::Mode;
use crate::assembler::*;
use crate::classes::Class;
use crate::decode::constant;
use softwarp_ir::{Function, Slot, WarpOp, WarpOpKind};

/// Predicates of `vpcmpd`.
const NOT_GREATER: u8 = 2;
const NOT_EQUAL: u8 = 4;
const NOT_LESS: u8 = 5;

/// Where the lanes of a shuffle take their values from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

impl Shuffle {
    /// None for other operations among lanes.
    fn of(kind: WarpOpKind) -> Option<Shuffle> {
        Some(match kind {
            WarpOpKind::ShflUp => Shuffle::Up,
            WarpOpKind::ShflDown => Shuffle::Down,
            WarpOpKind::ShflBfly => Shuffle::Butterfly,
            WarpOpKind::ShflIdx => Shuffle::Index,
            WarpOpKind::Sync | WarpOpKind::ActiveMask | WarpOpKind::Elect => return None,
            WarpOpKind::VoteAll | WarpOpKind::VoteAny | WarpOpKind::VoteUni => return None,
            WarpOpKind::VoteBallot | WarpOpKind::ReduxF32 { .. } => return None,
            WarpOpKind::ReduxAdd | WarpOpKind::ReduxAnd | WarpOpKind::ReduxOr => return None,
            WarpOpKind::ReduxXor | WarpOpKind::ReduxMinU32 | WarpOpKind::ReduxMinS32 => return None,
            WarpOpKind::ReduxMaxU32 | WarpOpKind::ReduxMaxS32 => return None,
            WarpOpKind::MatchAny32 | WarpOpKind::MatchAny64 => return None,
            WarpOpKind::MatchAll32 | WarpOpKind::MatchAll64 => return None,
        })
    }
}

/// The bits of a lane's number that say which segment it is in, for a shuffle whose sources are in the same one.
fn segment(function: &Function, warp: &WarpOp) -> Option<u32> {
    let segment = constant(function, warp.s.get(2)?)? >> 8 & 31;
    let by = constant(function, warp.s.get(1)?);
    let stays = match Shuffle::of(warp.op)? {
        Shuffle::Up | Shuffle::Down | Shuffle::Index => true,
        Shuffle::Butterfly => by.is_some_and(|by| by & segment == 0),
    };
    (stays && matches!(segment, 0x10 | 0x18 | 0x1c | 0x1e | 0x1f)).then_some(segment)
}

impl Emitter<'_> {
    /// Emits an operation of all lanes. It is counted together with others of its block ([`Emitter::exchanges`]).
    pub(super) fn exchange(&mut self, op: usize, warp: &WarpOp) -> Emitted {
        let mut back = self.unit.a.create_label();
        if let Some(members) = warp.members.filter(|&members| constant(self.function, members).is_none()) {
            self.check_members(op, warp, members, back)?;
        }
        match warp.op {
            WarpOpKind::Sync => {}
            WarpOpKind::ShflUp | WarpOpKind::ShflDown | WarpOpKind::ShflBfly | WarpOpKind::ShflIdx => {
                self.shuffle(op, warp)?;
            }
            WarpOpKind::VoteAll | WarpOpKind::VoteAny | WarpOpKind::VoteUni | WarpOpKind::VoteBallot => {
                self.vote(op, warp)?;
            }
            WarpOpKind::ReduxAdd | WarpOpKind::ReduxAnd | WarpOpKind::ReduxOr | WarpOpKind::ReduxXor => {
                self.reduce(op, warp)?;
            }
            WarpOpKind::ReduxMinU32
            | WarpOpKind::ReduxMinS32
            | WarpOpKind::ReduxMaxU32
            | WarpOpKind::ReduxMaxS32 => self.reduce(op, warp)?,
            // They have no code.
            WarpOpKind::MatchAny32 | WarpOpKind::MatchAny64 => return Err(Unencodable),
            WarpOpKind::MatchAll32 | WarpOpKind::MatchAll64 => return Err(Unencodable),
            WarpOpKind::ReduxF32 { .. } | WarpOpKind::ActiveMask => return Err(Unencodable),
            WarpOpKind::Elect => return Err(Unencodable),
        }
        self.unit.place(&mut back)
    }

    /// Checks that each lane names all lanes, or that each names those of its segment in a shuffle among these. The
    /// interpreter performs others.
    fn check_members(&mut self, op: usize, warp: &WarpOp, members: Slot, back: CodeLabel) -> Emitted {
        let [slow, counted, mut fine] = std::array::from_fn(|_| self.unit.a.create_label());
        self.late.push(Late::Slow { op, label: slow, back: counted, apart: self.apart });
        self.late.push(Late::Counted { label: counted, back });
        if self.class(op, members) == Class::UNIFORM {
            self.scalar_to(op, members, RAX)?;
            self.unit.a.cmp(eax, -1)?;
            return self.unit.a.jne(slow);
        }
        let rows: [u8; 2] =
            [self.register(op, members, 0, 0, false)?, self.register(op, members, 1, 1, false)?];
        let all = self.unit.word(u32::MAX);
        for (k, row) in [k1, k2].into_iter().zip(rows) {
            self.unit.a.vpcmpd(k, ZMM[usize::from(row)], all, NOT_EQUAL)?;
        }
        self.unit.a.kortestw(k1, k2)?;
        let Some(segment) = segment(self.function, warp) else {
            return self.unit.a.jnz(slow);
        };
        self.unit.a.jz(fine)?;
        // The lanes of the same segment.
        let same = |lane: u32| {
            (0..32).filter(|other| (other ^ lane) & segment == 0).fold(0, |all, other| all | 1 << other)
        };
        for (part, k) in [k1, k2].into_iter().enumerate() {
            let named = self.unit.words(std::array::from_fn(|n| same(16 * part as u32 + n as u32)));
            self.unit.a.vpcmpd(k, ZMM[usize::from(rows[part])], named, NOT_EQUAL)?;
        }
        self.unit.a.kortestw(k1, k2)?;
        self.unit.a.jnz(slow)?;
        // Each segment counts.
        self.unit.a.add(qword_ptr(field!(exchanges)), (1 << segment.count_ones()) - 1)?;
        self.unit.place(&mut fine)
    }

    /// The interpreter has performed and counted an operation that is counted with its block, too.
    pub(super) fn counted(&mut self, back: CodeLabel) -> Emitted {
        self.unit.a.dec(qword_ptr(field!(exchanges)))?;
        self.unit.a.jmp(back)
    }

    /// How many operations of all lanes there are from one operation to before another that the interpreter does not count.
    pub(super) fn exchanges(&self, start: usize, end: usize) -> i32 {
        let before =
            |op: usize| self.exchanges_before.get(op).or(self.exchanges_before.last()).copied().unwrap_or(0);
        match self.mode {
            Mode::Uniform => before(end).wrapping_sub(before(start)) as i32,
            Mode::Masked => 0,
        }
    }

    fn shuffle(&mut self, op: usize, warp: &WarpOp) -> Emitted {
        let (Some(a), Some(b), Some(c)) = (warp.s.get(0), warp.s.get(1), warp.s.get(2)) else {
            return Ok(());
        };
        let Some(kind) = Shuffle::of(warp.op) else { return Err(Unencodable) };
        let bounds = constant(self.function, c).unwrap_or(31);
        let (clamp, segment) = (bounds & 31, bounds >> 8 & 31);
        let by = constant(self.function, b);
        // The source of each lane where it is known, and whether it is in range.
        let source = |lane: u32, by: u32| {
            let (by, most) = (by & 31, lane & segment | clamp & !segment);
            let (from, holds) = match kind {
                Shuffle::Up => (lane.wrapping_sub(by), lane as i32 - by as i32 >= most as i32),
                Shuffle::Down => (lane + by, lane + by <= most),
                Shuffle::Butterfly => (lane ^ by, lane ^ by <= most),
                Shuffle::Index => {
                    let from = lane & segment | by & !segment;
                    (from, from <= most)
                }
            };
            (if holds { from & 31 } else { lane }, holds)
        };
        let mut inside = u32::MAX;
        if let Some(by) = by {
            inside = (0..32).fold(0, |mask, lane| mask | u32::from(source(lane, by).1) << lane);
        }
        let any_nan = warp.d.is_some_and(|d| self.takes_any_nan(op, d));
        let low = self.register(op, a, 0, 0, any_nan)?;
        let high = self.register(op, a, 1, 1, any_nan)?;
        // Results are made where they belong, unless a source is there.
        let to: [u8; 2] = std::array::from_fn(|part| {
            let target = warp.d.map_or(2, |d| self.target(op, d, part, 2 + part as u8));
            if target == low || target == high { 2 + part as u8 } else { target }
        });
        let (low, high) = (ZMM[usize::from(low)], ZMM[usize::from(high)]);
        // What the third temporary register has, and whether it is known which sources are in range.
        let (mut loaded, mut known) = (None, true);
        for (part, to) in to.into_iter().enumerate() {
            let to = ZMM[usize::from(to)];
            match by {
                Some(by) => {
                    let first = 16 * part as u32;
                    let sources: [u32; 16] = std::array::from_fn(|n| source(first + n as u32, by).0);
                    let half = sources[0] / 16;
                    if sources.iter().all(|source| source / 16 == half) {
                        let from = if half == 0 { low } else { high };
                        self.lanes_of(to, from, sources.map(|source| source % 16), &mut loaded)?;
                        continue;
                    }
                    let sources = self.unit.words(sources);
                    self.unit.a.vmovdqa64(to, sources)?;
                }
                // Indices are taken modulo 32.
                None if kind == Shuffle::Index && (clamp, segment) == (31, 0) => {
                    let index = self.register(op, b, part, 4, false)?;
                    self.unit.a.vmovdqa64(to, ZMM[usize::from(index)])?;
                }
                None => {
                    self.sources(op, (kind, b), (clamp, segment), part)?;
                    self.unit.a.vmovdqa64(to, zmm6)?;
                    known = false;
                }
            }
            self.unit.a.vpermi2d(to, low, high)?;
        }
        if let Some(d) = warp.d {
            self.put(op, d, 0, to[0])?;
            self.put(op, d, 1, to[1])?;
        }
        if let Some(p) = warp.p.filter(|&p| !self.is_overwritten(op, p)) {
            match known {
                true => self.unit.a.mov(eax, inside as i32)?,
                false => {
                    self.unit.a.kunpckwd(k2, k3, k2)?;
                    self.unit.a.kmovd(eax, k2)?;
                }
            }
            self.put_predicate(p, eax)?;
        }
        Ok(())
    }

    /// The sources of half the lanes of a shuffle by a row, in `zmm6`; whether they are in range, in `k2` or `k3`.
    fn sources(
        &mut self,
        op: usize,
        (kind, by): (Shuffle, Slot),
        (clamp, segment): (u32, u32),
        part: usize,
    ) -> Emitted {
        let by = ZMM[usize::from(self.register(op, by, part, 4, false)?)];
        let row = |f: &dyn Fn(u32) -> u32| std::array::from_fn(|n| f(16 * part as u32 + n as u32));
        let most = self.unit.words(row(&|lane| lane & segment | clamp & !segment));
        let lanes = self.unit.words(row(&|lane| lane));
        let of_segment = self.unit.words(row(&|lane| lane & segment));
        let within = self.unit.word(if kind == Shuffle::Index { 31 & !segment } else { 31 });
        let inside = if part == 0 { k2 } else { k3 };
        let asm = &mut self.unit.a;
        asm.vpandd(zmm5, by, within)?;
        asm.vmovdqa64(zmm6, lanes)?;
        match kind {
            Shuffle::Up => asm.vpsubd(zmm5, zmm6, zmm5)?,
            Shuffle::Down => asm.vpaddd(zmm5, zmm6, zmm5)?,
            Shuffle::Butterfly => asm.vpxord(zmm5, zmm6, zmm5)?,
            Shuffle::Index => asm.vpord(zmm5, zmm5, of_segment)?,
        }
        let order = if kind == Shuffle::Up { NOT_LESS } else { NOT_GREATER };
        asm.vpcmpd(inside, zmm5, most, order)?;
        // Lanes without one keep their own value.
        asm.vmovdqa32(zmm6.under(inside), zmm5)
    }

    /// Lanes of a register, by their numbers. Those that `zmm4` has may be loaded before.
    fn lanes_of(
        &mut self,
        to: AsmRegisterZmm,
        from: AsmRegisterZmm,
        lanes: [u32; 16],
        loaded: &mut Option<[u32; 16]>,
    ) -> Emitted {
        if (0..16).all(|lane| lanes[lane] == lane as u32) {
            return self.unit.a.vmovdqa64(to, from);
        }
        // The same within each four lanes.
        if (0..16).all(|lane| lanes[lane] == lane as u32 / 4 * 4 + lanes[lane % 4] && lanes[lane % 4] < 4) {
            let order = (0..4).fold(0, |order, lane| order | lanes[lane] << (2 * lane));
            return self.unit.a.vpshufd(to, from, order);
        }
        if *loaded != Some(lanes) {
            let words = self.unit.words(lanes);
            self.unit.a.vmovdqa64(zmm4, words)?;
            *loaded = Some(lanes);
        }
        self.unit.a.vpermd(to, zmm4, from)
    }

    /// A reduction: of both halves of the row, and then of lanes 8, 4, 2 and 1 apart.
    fn reduce(&mut self, op: usize, warp: &WarpOp) -> Emitted {
        let (Some(a), Some(d)) = (warp.s.get(0), warp.d) else { return Ok(()) };
        let low = self.register(op, a, 0, 0, false)?;
        let high = self.register(op, a, 1, 1, false)?;
        self.reduced(warp.op, ZMM[usize::from(low)], ZMM[usize::from(high)])?;
        for apart in [8, 4, 2, 1] {
            self.lanes_of(zmm3, zmm2, std::array::from_fn(|lane| lane as u32 ^ apart), &mut None)?;
            self.reduced(warp.op, zmm2, zmm3)?;
        }
        self.put(op, d, 0, 2)?;
        self.put(op, d, 1, 2)
    }

    /// A step of a reduction, in `zmm2`.
    fn reduced(&mut self, kind: WarpOpKind, a: AsmRegisterZmm, b: AsmRegisterZmm) -> Emitted {
        let asm = &mut self.unit.a;
        match kind {
            WarpOpKind::ReduxAnd => asm.vpandd(zmm2, a, b),
            WarpOpKind::ReduxOr => asm.vpord(zmm2, a, b),
            WarpOpKind::ReduxXor => asm.vpxord(zmm2, a, b),
            WarpOpKind::ReduxMinS32 => asm.vpminsd(zmm2, a, b),
            WarpOpKind::ReduxMinU32 => asm.vpminud(zmm2, a, b),
            WarpOpKind::ReduxMaxS32 => asm.vpmaxsd(zmm2, a, b),
            WarpOpKind::ReduxMaxU32 => asm.vpmaxud(zmm2, a, b),
            WarpOpKind::ReduxAdd => asm.vpaddd(zmm2, a, b),
            // They are no reductions of integers.
            WarpOpKind::Sync | WarpOpKind::ActiveMask | WarpOpKind::Elect => Err(Unencodable),
            WarpOpKind::ShflUp | WarpOpKind::ShflDown => Err(Unencodable),
            WarpOpKind::ShflBfly | WarpOpKind::ShflIdx => Err(Unencodable),
            WarpOpKind::VoteAll | WarpOpKind::VoteAny => Err(Unencodable),
            WarpOpKind::VoteUni | WarpOpKind::VoteBallot => Err(Unencodable),
            WarpOpKind::MatchAny32 | WarpOpKind::MatchAny64 => Err(Unencodable),
            WarpOpKind::MatchAll32 | WarpOpKind::MatchAll64 => Err(Unencodable),
            WarpOpKind::ReduxF32 { .. } => Err(Unencodable),
        }
    }

    fn vote(&mut self, op: usize, warp: &WarpOp) -> Emitted {
        let Some(a) = warp.s.get(0) else { return Ok(()) };
        let holds = self.predicate(a);
        self.unit.a.mov(ecx, holds)?;
        if warp.negated {
            self.unit.a.not(ecx)?;
        }
        let asm = &mut self.unit.a;
        match warp.op {
            WarpOpKind::VoteBallot => {
                asm.vpbroadcastd(zmm2, ecx)?;
                if let Some(d) = warp.d {
                    self.put(op, d, 0, 2)?;
                    self.put(op, d, 1, 2)?;
                }
                return Ok(());
            }
            WarpOpKind::VoteAll => {
                asm.xor(eax, eax)?;
                asm.cmp(ecx, -1)?;
                asm.sete(al)?;
            }
            WarpOpKind::VoteAny => {
                asm.xor(eax, eax)?;
                asm.test(ecx, ecx)?;
                asm.setne(al)?;
            }
            WarpOpKind::VoteUni => {
                // All or none: one more is at most 1.
                asm.xor(eax, eax)?;
                asm.inc(ecx)?;
                asm.cmp(ecx, 1)?;
                asm.setbe(al)?;
            }
            // They are no votes.
            WarpOpKind::Sync | WarpOpKind::ActiveMask | WarpOpKind::Elect => return Err(Unencodable),
            WarpOpKind::ShflUp | WarpOpKind::ShflDown => return Err(Unencodable),
            WarpOpKind::ShflBfly | WarpOpKind::ShflIdx => return Err(Unencodable),
            WarpOpKind::ReduxAdd | WarpOpKind::ReduxAnd => return Err(Unencodable),
            WarpOpKind::ReduxOr | WarpOpKind::ReduxXor => return Err(Unencodable),
            WarpOpKind::ReduxMinU32 | WarpOpKind::ReduxMinS32 => return Err(Unencodable),
            WarpOpKind::ReduxMaxU32 | WarpOpKind::ReduxMaxS32 => return Err(Unencodable),
            WarpOpKind::MatchAny32 | WarpOpKind::MatchAny64 => return Err(Unencodable),
            WarpOpKind::MatchAll32 | WarpOpKind::MatchAll64 => return Err(Unencodable),
            WarpOpKind::ReduxF32 { .. } => return Err(Unencodable),
        }
        asm.neg(eax)?;
        match warp.p {
            Some(p) => self.put_predicate(p, eax),
            None => Ok(()),
        }
    }
}
