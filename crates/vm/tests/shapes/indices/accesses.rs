//! Loads and stores of random kernels.

use super::{Generator, INPUT, SPECIAL};

impl Generator<'_, '_> {
    /// An access: its type, its registers, its bytes.
    fn access(&mut self, load: bool) -> (String, String, u64) {
        let (r, s, d, e, h) = (self.r(), self.r(), self.d(), self.d(), self.h());
        let four = |a: &str, b: &str| match load {
            // A register twice.
            true => format!("{{{a}, {b}, {b}, %r7}}"),
            false => format!("{{{a}, {b}, %t, {a}}}"),
        };
        let (ty, registers, bytes) = match self.below(20) {
            0 => ("u8", r, 1),
            1 => ("s8", r, 1),
            2 => ("u16", h, 2),
            3 => ("s16", r, 2),
            4 => ("b16", h, 2),
            5 => ("u8", h, 1),
            6 => ("s8", d, 1),
            7..=9 => (self.pick(&["u32", "s32", "b32"]), r, 4),
            10 => ("f32", self.f(), 4),
            11 => ("u64", d, 8),
            12 => ("f64", "%e".to_owned(), 8),
            13 => ("v2.u32", format!("{{{r}, {s}}}"), 8),
            14 => ("v2.u32", format!("{{{r}, {r}}}"), 8),
            15 => ("v4.u32", four(&r, &s), 16),
            16 => ("v2.u64", format!("{{{d}, {e}}}"), 16),
            17 => ("v4.u8", four(&r, &s), 4),
            18 => ("v2.u16", format!("{{{h}, {}}}", self.h()), 4),
            _ => ("s32", d, 4),
        };
        (ty.to_owned(), registers, bytes)
    }

    pub(super) fn load(&mut self) {
        let guard = self.guard();
        let (ty, registers, bytes) = self.access(true);
        let (i, special, factor) = (self.r(), self.choices.pick(&SPECIAL), self.source());
        // Seldom it may be outside.
        let mask = if self.choices.once_in(200) { 0x3f_fff0 } else { INPUT as u64 / 2 - bytes };
        let offset = bytes * self.below(8);
        let line = match self.below(8) {
            // Of an index that may be anything.
            0 | 1 => format!(
                "and.b32 %x, {i}, {mask}; cvt.u64.u32 %at, %x; add.s64 %at, %in, %at; \
                 {guard}ld.global.{ty} {registers}, [%at+{offset}];"
            ),
            // Of indices alone, which are small.
            2 | 3 => format!(
                "mov.u32 %x, {special}; and.b32 %x, %x, 1023; mad.wide.u32 %at, %x, {bytes}, %in; \
                 {guard}ld.global.{ty} {registers}, [%at+{offset}];"
            ),
            4 => format!(
                "mov.u32 %x, {special}; mad.lo.u32 %x, %x, {factor}, %t; rem.u32 %x, %x, 1000; \
                 mad.wide.u32 %at, %x, {bytes}, %in; {guard}ld.global.{ty} {registers}, [%at+{offset}];"
            ),
            // Where the index is inside.
            5 => format!(
                "mov.u32 %x, {special}; mad.lo.s32 %x, %x, {factor}, {i}; setp.lt.u32 %q, %x, {}; \
                 mad.wide.u32 %at, %x, {bytes}, %in; @%q ld.global.{ty} {registers}, [%at];",
                INPUT as u64 / bytes
            ),
            // Generic.
            6 => format!(
                "and.b32 %x, {i}, {mask}; mul.wide.u32 %at, %x, 1; add.s64 %at, %at, %in; \
                 {guard}ld.{ty} {registers}, [%at+{offset}];"
            ),
            // The address is the destination.
            _ => {
                let d = self.d();
                format!(
                    "and.b32 %x, {i}, {}; cvt.u64.u32 {d}, %x; add.s64 {d}, %in, {d}; {guard}ld.global.u64 {d}, [{d}]; \
                     shr.u64 {d}, {d}, 13;",
                    INPUT as u64 - 8
                )
            }
        };
        self.line(line);
    }

    pub(super) fn store(&mut self) {
        let guard = self.guard();
        let (ty, registers, bytes) = self.access(false);
        let (i, special) = (self.r(), self.choices.pick(&SPECIAL));
        let mask = 128 - bytes;
        let line = match self.below(6) {
            0 => format!("{guard}st.global.{ty} [%mine+{}], {registers};", bytes * self.below(128 / bytes)),
            1 => format!(
                "and.b32 %x, {i}, {mask}; cvt.u64.u32 %at, %x; add.s64 %at, %mine, %at; \
                 {guard}st.global.{ty} [%at], {registers};"
            ),
            2 => format!(
                "mov.u32 %x, {special}; mul.lo.u32 %x, %x, {bytes}; and.b32 %x, %x, {mask}; mad.wide.u32 %at, %x, 1, %mine; \
                 {guard}st.{ty} [%at], {registers};"
            ),
            3 => {
                let r = self.r();
                format!(
                    "mov.u32 %x, {special}; and.b32 %x, %x, 60; cvt.u64.u32 %at, %x; add.s64 %at, %common, %at; \
                     {guard}red.global.add.u32 [%at], {r};"
                )
            }
            4 => {
                let (d, r) = (self.r(), self.r());
                let op = self.pick(&["add.u32", "exch.b32", "min.s32", "or.b32", "inc.u32"]);
                format!("{guard}atom.global.{op} {d}, [%mine+{}], {r};", 4 * self.below(32))
            }
            // The word of the thread alone.
            _ => match bytes {
                16 => return self.index(),
                _ => {
                    format!("{guard}st.shared.{ty} [%own], {registers}; {guard}ld.shared.u32 {i}, [%own+4];")
                }
            },
        };
        self.line(line);
    }

    /// The thread's array, also by generic addresses.
    pub(super) fn own_array(&mut self) {
        let guard = self.guard();
        let load = self.below(2) == 0;
        let (ty, registers, bytes) = self.access(load);
        let mask = 64 - bytes;
        let (i, special) = (self.r(), self.choices.pick(&SPECIAL));
        let generic = self.below(2) == 0;
        let (space, base) = if generic { ("", "%g") } else { (".local", "%a") };
        let place = match self.below(4) {
            0 | 1 => format!("mov.u32 %x, {};", bytes * self.below(64 / bytes)),
            2 => format!("mov.u32 %x, {special}; and.b32 %x, %x, {mask};"),
            _ => format!("and.b32 %x, {i}, {mask};"),
        };
        let access = if load {
            format!("{guard}ld{space}.{ty} {registers}, [%at];")
        } else {
            format!("{guard}st{space}.{ty} [%at], {registers};")
        };
        self.line(format!("{place} cvt.u64.u32 %at, %x; add.s64 %at, {base}, %at; {access}"));
    }
}
