//! Accesses to memory.

use super::Generator;

/// Words of the buffer that programs read.
pub const WORDS: usize = 4096;

impl Generator<'_, '_> {
    /// An access to the thread's part of the buffer, in some order of the lanes, or to shared memory.
    pub(super) fn memory(&mut self) {
        let (guard, r, f, d, index) = (self.guard(), self.r(), self.f(), self.d(), self.r());
        let offset = 4 * self.below(8);
        let place = match self.below(8) {
            // Consecutive lanes.
            0 => "%own".to_string(),
            // The same for all threads of a warp.
            1 => "%warp".to_string(),
            // Rows of a CTA: consecutive within each, and the same within each.
            2 => "%row".to_string(),
            3 => "%first".to_string(),
            // Anywhere.
            _ => {
                self.line(&format!("and.b32 %x, {index}, {};", WORDS / 2 - 32));
                self.line("mad.wide.u32 %q, %x, 4, %in;");
                "%q".to_string()
            }
        };
        let line = match self.below(44) {
            28..=33 => return self.several(&guard, &index),
            34..=39 => return self.update(&guard, &index),
            40..=43 => return self.short(&guard, &index),
            13..=20 => return self.shared(&guard, &r, &index),
            21..=27 => return self.other(&guard, &place, &index),
            9 => format!("{guard}ld.global.v2.u32 {{%r1, %r6}}, [{place}+{}];", 2 * offset),
            10 => format!("{guard}ld.global.v4.f32 {{%f0, %f3, %f2, %f5}}, [{place}+{}];", 4 * offset % 64),
            11 => format!("{guard}ld.const.u32 {r}, [table+{offset}];"),
            12 => {
                self.line(&format!("and.b32 %x, {index}, 60;"));
                self.line("cvt.u64.u32 %q, %x; mov.u64 %k, table; add.s64 %q, %q, %k;");
                format!("{guard}ld.const.u32 {r}, [%q];")
            }
            0 => format!("{guard}ld.global.f32 {f}, [{place}+{offset}];"),
            1 => format!("{guard}ld.global.u8 {r}, [{place}+{}];", offset + self.below(4)),
            2 => format!("{guard}ld.global.s16 {r}, [{place}+{}];", offset + 2 * self.below(2)),
            3 => format!("{guard}ld.u32 {r}, [{place}+{offset}];"),
            4 => format!("{guard}ld.global.u64 {d}, [{place}+{}];", 2 * offset),
            5 => format!("{guard}st.global.u32 [%mine+{offset}], {r};"),
            6 => format!("{guard}st.shared.u32 [%slot], {r};"),
            7 => format!("{guard}ld.shared.u32 {r}, [%slot];"),
            _ => format!("{guard}ld.global.u32 {r}, [{place}+{offset}];"),
        };
        self.line(&line);
    }

    /// An access to the warp's part of shared memory, a store of several elements, or an atomic operation.
    fn shared(&mut self, guard: &str, r: &str, index: &str) {
        let (offset, f) = (4 * self.below(8), self.f());
        let place = ["%slot", "%shared_row", "%shared_first", "%x"][self.below(4) as usize];
        if place == "%x" {
            self.line(&format!("and.b32 %x, {index}, 508; add.u32 %x, %x, %memory;"));
        }
        let atomic = self
            .pick(&["add.u32", "min.s32", "max.s32", "min.u32", "max.u32", "and.b32", "or.b32", "xor.b32"]);
        let line = match self.below(14) {
            // Several lanes may store to one place.
            11..=13 => {
                self.line(&format!("and.b32 %x, {index}, 112; add.u32 %x, %x, %memory;"));
                match self.below(3) {
                    0 => format!("{guard}st.shared.u64 [%x], {};", self.d()),
                    1 => format!("{guard}st.shared.v2.u32 [%x+8], {{{r}, {index}}};"),
                    _ => format!("{guard}st.shared.v4.u32 [%x], {{{r}, %r1, %r2, {index}}};"),
                }
            }
            0 => format!("{guard}st.shared.u32 [{place}+{offset}], {r};"),
            1 => format!("{guard}st.shared.u16 [{place}+{offset}], %h1;"),
            2 | 3 => format!("{guard}ld.shared.u32 {r}, [{place}+{offset}];"),
            4 => format!("{guard}ld.shared.f32 {f}, [{place}+{offset}];"),
            5 => format!("{guard}red.shared.{atomic} [{place}+{offset}], {r};"),
            6 => format!("{guard}atom.shared.{atomic} {r}, [{place}+{offset}], {index};"),
            7 => format!(
                "{guard}red.global.{} [%mine+{offset}], {r};",
                self.pick(&["add.u32", "or.b32", "and.b32"])
            ),
            8 => format!("{guard}atom.global.add.u32 {r}, [%mine+{offset}], {index};"),
            9 => format!("{guard}st.global.v2.u32 [%mine+{}], {{{r}, {index}}};", 8 * self.below(4)),
            _ => format!("{guard}st.global.v4.f32 [%mine+{}], {{{f}, %f0, %f1, {f}}};", 16 * self.below(2)),
        };
        self.line(&line);
    }

    /// Other widths and memories, atomic operations of other types, and accesses that are faults.
    fn other(&mut self, guard: &str, place: &str, index: &str) {
        let (r, h, d, e, f) = (self.r(), self.h(), self.d(), self.d(), self.f());
        // Consecutive words are not aligned for wide accesses.
        let place =
            if matches!(place, "%own" | "%row") && !self.choices.once_in(8) { "%warp" } else { place };
        let offset = 16 * self.below(4);
        let line = match self.below(24) {
            0 => format!("{guard}ld.local.{} {r}, [local+{offset}];", self.pick(&["u32", "s8", "u16"])),
            1 => format!("{guard}st.local.u32 [local+{offset}], {r};"),
            2 => format!("{guard}st.local.v2.b64 [local+{offset}], {{{d}, {e}}};"),
            3 => {
                self.line(&format!("and.b32 %x, {index}, 28; cvt.u64.u32 %q, %x; mov.u64 %k, local;"));
                format!("add.s64 %q, %q, %k; {guard}ld.local.b64 {d}, [%q+{}];", 4 * self.below(9))
            }
            4 => format!(
                "{guard}ld.param.{} {r}, [out+{}];",
                self.pick(&["u8", "s16", "u32"]),
                4 * self.below(2)
            ),
            5 => format!("{guard}ld.global.v2.u64 {{%d0, %d3}}, [{place}+{offset}];"),
            6 => format!("{guard}ld.global.v4.u16 {{%h0, %h3, %h1, %h2}}, [{place}+{offset}];"),
            7 => format!("{guard}st.global.v4.b16 [%mine+{offset}], {{{h}, %h0, %h1, {h}}};"),
            8 => format!("{guard}st.global.{} [%mine+{offset}], {h};", self.pick(&["u8", "b16", "u16"])),
            9 => {
                format!("{guard}st.global.{} [%mine+{offset}], {d};", self.pick(&["u8", "u32", "b64", "f64"]))
            }
            10 => format!(
                "{guard}ld.global.{} {d}, [{place}+{offset}];",
                self.pick(&["u8", "s32", "s16", "u32"])
            ),
            11 => {
                format!("{guard}ld.b32 {r}, [%window+{offset}]; {guard}st.b16 [%window+{}], {h};", offset + 2)
            }
            12 => format!("{guard}ld.global.nc.v4.u32 {{%r0, %r2, %r4, %r6}}, [{place}+{offset}];"),
            13 => format!("{guard}st.shared.{} [%slot], {r};", self.pick(&["u8", "u16", "b32"])),
            14 => format!(
                "{guard}atom.shared.{} {d}, [%memory+{offset}], {e};",
                self.pick(&["add.u64", "exch.b64", "max.s64"])
            ),
            15 => format!("{guard}atom.shared.cas.b32 {r}, [%memory+{offset}], {index}, %r2;"),
            16 => format!(
                "{guard}atom.shared.{} {r}, [%memory+{offset}], {index};",
                self.pick(&["inc.u32", "dec.u32", "exch.b32"])
            ),
            17 => {
                let (space, base) = self.choices.pick(&[("shared", "%memory"), ("global", "%mine")]);
                format!("{guard}atom.{space}.add.f32 {f}, [{base}+{offset}], %f2;")
            }
            18 => format!("{guard}red.global.add.f64 [%mine+{offset}], {d};"),
            19 => {
                format!("{guard}red.global.{} [%out+{}], {r};", "add.u32", 4 * 128 * 256 + self.below(4) * 4)
            }
            20 => format!("{guard}ld.volatile.global.u32 {r}, [{place}+{offset}];"),
            21 => format!("{guard}ld.relaxed.gpu.global.u32 {r}, [{place}+{offset}];"),
            22 if self.choices.once_in(8) => format!("{guard}ld.global.u32 {r}, [{d}];"),
            23 if self.choices.once_in(8) => format!("{guard}st.global.u64 [%mine+{}], {d};", self.below(64)),
            _ => format!("{guard}ld.global.b64 {d}, [{place}+{offset}];"),
        };
        self.line(&line);
    }

    /// Accesses of several 64-bit words, and at fixed addresses.
    fn several(&mut self, guard: &str, index: &str) {
        let (r, d, e, f) = (self.r(), self.d(), self.d(), self.f());
        let offset = 16 * self.below(8);
        let ty = self.pick(&["u64", "b64", "f64"]);
        // Some lanes at places that are not aligned, or outside.
        let mask = match self.below(32) {
            0 => 504,
            1 => 0x4000_01f0,
            _ => 496,
        };
        let line = match self.below(14) {
            // Consecutive lanes.
            0 | 1 => {
                self.line("mad.wide.u32 %q, %t, 16, %in;");
                format!("{guard}ld.global.v2.{ty} {{%d1, %d3}}, [%q+{offset}];")
            }
            2 => format!("{guard}st.global.v2.{ty} [%mine+{offset}], {{{d}, {e}}};"),
            3 | 4 => {
                self.line("mov.u32 %n, memory; mad.lo.u32 %x, %t, 16, %n;");
                match self.choices.once_in(2) {
                    true => format!("{guard}st.shared.v2.{ty} [%x+8192], {{{d}, {e}}};"),
                    false => format!("{guard}ld.shared.v2.{ty} {{%d0, %d2}}, [%x+8192];"),
                }
            }
            // One place.
            5 => {
                let what = match self.below(4) {
                    0 => format!("v4.b32 [%memory+{offset}], {{{r}, {index}, %r1, {f}}}"),
                    1 => format!("u64 [%memory+{offset}], {d}"),
                    _ => format!("v2.{ty} [%memory+{offset}], {{{d}, {e}}}"),
                };
                format!("{guard}st.shared.{what};")
            }
            6 => format!("{guard}ld.shared.v2.{ty} {{%d2, %d1}}, [%memory+{offset}];"),
            // Anywhere.
            7 | 8 => {
                self.line(&format!("and.b32 %x, {index}, {mask}; add.u32 %x, %x, %memory;"));
                match self.choices.once_in(2) {
                    true => format!("{guard}st.shared.v2.{ty} [%x], {{{d}, {e}}};"),
                    false => format!("{guard}ld.shared.v2.{ty} {{%d3, %d2}}, [%x];"),
                }
            }
            9 => {
                self.line(&format!("and.b32 %x, {index}, {mask}; mad.wide.u32 %q, %x, 16, %in;"));
                format!("{guard}ld.global.v2.{ty} {{%d3, %d2}}, [%q];")
            }
            11 => match self.below(4) {
                0 => format!("{guard}membar.{};", self.pick(&["cta", "gl", "sys"])),
                1 => format!("{guard}fence.{};", self.pick(&["sc.gpu", "acq_rel.cta", "acq_rel.sys"])),
                2 => format!("{guard}st.release.gpu.global.u32 [%mine+{offset}], {r};"),
                _ => format!("{guard}st.volatile.shared.{} [%slot], {r};", self.pick(&["u32", "u16"])),
            },
            10 => match self.below(3) {
                0 => format!("{guard}ld.param.v2.u32 {{%r1, %r6}}, [in];"),
                1 => format!("{guard}ld.param.v4.u16 {{%h0, %h3, %h1, %h2}}, [out];"),
                _ => {
                    self.line(&format!("and.b32 %x, {index}, 8; cvt.u64.u32 %q, %x; mov.b64 %k, in;"));
                    format!(
                        "add.s64 %q, %q, %k; {guard}ld.param.{} {r}, [%q];",
                        self.pick(&["u32", "s16", "u8"])
                    )
                }
            },
            _ => return self.fixed(guard, index, offset),
        };
        self.line(&line);
    }

    /// Accesses of several elements of 8 and 16 bits.
    fn short(&mut self, guard: &str, index: &str) {
        let (form, bytes) = self.choices.pick(&[
            ("v2.u16", 4),
            ("v2.s16", 4),
            ("v2.b16", 4),
            ("v4.u16", 8),
            ("v4.s16", 8),
            ("v4.u8", 4),
            ("v4.s8", 4),
        ]);
        let narrow = form == "v2.b16" || self.choices.once_in(2);
        let mut registers: Vec<String> = match narrow {
            true => ["%h0", "%h3", "%h1", "%h2"].map(str::to_owned).to_vec(),
            false => ["%r1", "%r6", "%r3", "%r5"].map(str::to_owned).to_vec(),
        };
        let store = self.choices.once_in(2);
        if store {
            registers = (0..4).map(|_| if narrow { self.h() } else { self.r() }).collect();
        }
        let list = registers[..if form.starts_with("v2") { 2 } else { 4 }].join(", ");
        // Some lanes at places that are not aligned.
        let mask = if self.choices.once_in(32) { 510 } else { 512 - bytes };
        let (space, place) = match self.below(8) {
            0 | 1 => {
                self.line(&format!("mov.u32 %n, memory; mad.lo.u32 %x, %t, {bytes}, %n;"));
                // Threads with other strides are elsewhere.
                ("shared", format!("%x+{}", 4608 + 128 * bytes))
            }
            2 => ("shared", format!("%memory+{}", 8 * self.below(16))),
            3 | 4 => {
                self.line(&format!("and.b32 %x, {index}, {mask}; add.u32 %x, %x, %memory;"));
                ("shared", "%x".to_string())
            }
            5 if !store => {
                self.line(&format!("mad.wide.u32 %q, %t, {bytes}, %in;"));
                ("global", format!("%q+{}", 8 * self.below(16)))
            }
            6 if !store => {
                self.line(&format!("and.b32 %x, {index}, {mask}; mad.wide.u32 %q, %x, {bytes}, %in;"));
                ("global", "%q".to_string())
            }
            _ if store => ("global", format!("%mine+{}", 8 * self.below(16))),
            _ => ("global", format!("%warp+{}", 8 * self.below(16))),
        };
        self.line(&match store {
            true => format!("{guard}st.{space}.{form} [{place}], {{{list}}};"),
            false => format!("{guard}ld.{space}.{form} {{{list}}}, [{place}];"),
        });
    }

    /// Accesses at fixed addresses, by the first warp of a CTA.
    fn fixed(&mut self, guard: &str, index: &str, offset: u64) {
        let (r, d, e, f, h) = (self.r(), self.d(), self.d(), self.f(), self.h());
        self.labels += 1;
        let label = self.labels;
        self.line(&format!("@!%z bra F{label};"));
        for _ in 0..1 + self.below(3) {
            let at = format!("[memory+{}]", 7168 + (offset + 16 * self.below(4)) % 256);
            let line = match self.below(12) {
                0 => format!("{guard}st.shared.u32 {at}, {r};"),
                1 => format!("{guard}st.shared.f32 {at}, {f};"),
                2 => format!("{guard}st.shared.u64 {at}, {d};"),
                3 => format!("{guard}st.shared.u8 {at}, {r};"),
                4 => format!("{guard}st.shared.b16 {at}, {h};"),
                5 => format!("{guard}st.shared.v2.u32 {at}, {{{r}, {index}}};"),
                6 => format!("{guard}st.shared.v4.f32 {at}, {{{f}, %f0, {f}, %f1}};"),
                7 => format!("{guard}st.shared.v2.b64 {at}, {{{d}, {e}}};"),
                8 => format!("{guard}ld.shared.u32 {r}, {at};"),
                9 => format!("{guard}ld.shared.v2.u64 {{%d0, %d1}}, {at};"),
                10 => format!("{guard}atom.shared.add.u32 {r}, {at}, {index};"),
                _ => format!("{guard}red.shared.add.f32 {at}, {f};"),
            };
            self.line(&line);
        }
        self.label(&format!("F{label}"));
    }

    /// Atomic operations, on places that lanes of a warp share.
    fn update(&mut self, guard: &str, index: &str) {
        let (r, d, e, f) = (self.r(), self.d(), self.d(), self.f());
        let wide = self.choices.once_in(3);
        // Some lanes at places that are not aligned, or outside.
        let mask = match self.below(32) {
            0 => 126,
            1 => 0x4000_0078,
            _ if wide => 120,
            _ => 124,
        };
        let at = match self.below(6) {
            0 | 1 => {
                self.line(&format!("and.b32 %x, {index}, {mask}; add.u32 %x, %x, %memory;"));
                ".shared"
            }
            2 | 3 => {
                self.line(&format!(
                    "and.b32 %x, {index}, {mask}; cvt.u64.u32 %q, %x; add.s64 %q, %q, %lead;"
                ));
                ".global"
            }
            4 => {
                self.line(&format!(
                    "and.b32 %x, {index}, {mask}; cvt.u64.u32 %q, %x; add.s64 %q, %q, %lead;"
                ));
                ""
            }
            _ => {
                self.line(&format!(
                    "and.b32 %x, {index}, {mask}; cvt.u64.u32 %q, %x; add.s64 %q, %q, %window;"
                ));
                ""
            }
        };
        let place = if at == ".shared" { "[%x]" } else { "[%q]" };
        let result = self.choices.once_in(2);
        let two = match (wide, result) {
            (true, _) => self.pick(&[
                "add.u64", "add.f64", "add.f64", "min.s64", "max.u64", "and.b64", "or.b64", "xor.b64",
            ]),
            (false, _) => self.pick(&[
                "add.f32",
                "add.f32",
                "add.f32",
                "add.u32",
                "min.u32",
                "max.s32",
                "inc.u32",
                "dec.u32",
                "xor.b32",
                "add.noftz.f16x2",
                "add.noftz.bf16x2",
            ]),
        };
        let (to, value) = if wide {
            (d, e)
        } else if two.ends_with("f32") {
            (f, "%f2".to_string())
        } else {
            (r, index.to_string())
        };
        let line = match self.below(10) {
            0 if wide => format!("{guard}atom{at}.exch.b64 {to}, {place}, {value};"),
            1 if wide => format!("{guard}atom{at}.cas.b64 {to}, {place}, {value}, %d1;"),
            0 => format!("{guard}atom{at}.exch.b32 {to}, {place}, {value};"),
            1 => format!("{guard}atom{at}.cas.b32 {to}, {place}, {value}, %r2;"),
            2 => format!(
                "{guard}atom.global.v2.f32.add {{%f0, %f3}}, [%lead+{}], {{%f1, %f3}};",
                8 * self.below(8)
            ),
            3 => format!(
                "{guard}red.global.v4.f32.add [%lead+{}], {{%f1, %f3, %f0, %f4}};",
                16 * self.below(8)
            ),
            _ if result => format!("{guard}atom{at}.{two} {to}, {place}, {value};"),
            _ => format!("{guard}red{at}.{two} {place}, {value};"),
        };
        self.line(&line);
    }
}
