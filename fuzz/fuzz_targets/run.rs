//! Programs of random instructions from the table, on random addresses, textures, tensors and mbarriers, are loaded and
//! run in grids, clusters and cooperative launches: nothing panics, hangs or takes memory without bound, and the loop
//! that is watched does what the plain one does. Some of them loop or call themselves for ever: limits on steps, time and
//! memory hold for them, whatever else they do.
#![no_main]

#[path = "run/launched.rs"]
mod launched;
#[path = "run/writer.rs"]
mod writer;

use launched::Launched;
use libfuzzer_sys::fuzz_target;
use softwarp_vm::device::{Device, LaunchError, LoadError, LoadOptions};
use std::collections::BTreeSet;
use std::fmt::Write;
use writer::{Choices, GEOMETRIES, Writer};

/// The most instructions of a program.
const MOST: usize = 48;

const DECLARED: &str = ".address_size 64\n.global .align 16 .b8 g[512];\n\
    .const .align 16 .b8 c[256] = {1, 2, 3, 4, 5, 6, 7, 8};\n.shared .align 128 .b8 s[4096];\n\
    .shared .align 8 .b64 bars[4];\n.extern .shared .align 16 .b8 dynamic[];\n\
    .global .texref linear;\n.global .texref pitched;\n";

const PROLOGUE: &str = ".reg .b64 %A<2>, %G<3>, %P0, %X, %H<3>, %M<6>, %I<6>, %MM, %TM, %D<2>;\n\
    .reg .b32 %T, %R, %S<2>, %L0, %C0, %N<4>, %K<3>, %B<2>; .reg .pred %Q; .reg .f32 %F<2>;\n\
    .local .align 16 .b8 l[256];\n\
    mov.u32 %T, %tid.x;\nmov.u32 %R, 7;\nmov.u32 %S0, s;\nmad.lo.u32 %S1, %T, 16, %S0;\nmov.u32 %L0, l;\n\
    mov.u32 %C0, c;\ncvta.shared.u64 %G0, s;\ncvta.local.u64 %G1, l;\ncvta.global.u64 %G2, g;\n\
    mov.u32 %K1, 1;\nmapa.shared::cluster.u32 %K0, %S0, 1;\nmapa.shared::cluster.u32 %K2, %S1, 0;\n\
    mov.u32 %B0, bars;\nmapa.shared::cluster.u32 %B1, %B0, 1;\nmov.u64 %TM, g;\ncvt.rn.f32.u32 %F0, %T;\n\
    mul.f32 %F1, %F0, 0.125;\nmov.b64 %D0, 0x0000004000010040;\nmov.b64 %D1, 0x4000004000010080;\n";

/// What the kernel has of its parameters: buffers, handles, tensor maps.
const PARAMETERS: &str = ".param .u64 pa, .param .u64 pb, .param .u32 pn, .param .u64 pm, .param .u64 ph0, \
    .param .u64 ph1, .param .u64 ph2, .param .align 64 .b8 maps[1024]";

const BEGIN: &str = "ld.param.u64 %A0, [pa];\nld.param.u64 %A1, [pb];\nmad.wide.u32 %P0, %T, 16, %A1;\n\
    ld.param.u64 %MM, [pm];\nld.param.u64 %H0, [ph0];\nld.param.u64 %H1, [ph1];\nld.param.u64 %H2, [ph2];\n\
    mov.b64 %X, maps;\ncvta.param.u64 %X, %X;\n\
    setp.eq.u32 %Q, %T, 0;\n@%Q mbarrier.init.shared.b64 [bars], 3;\n@%Q mbarrier.init.shared.b64 [bars+8], 1;\n\
    bar.sync 0;\n";

/// How a program ends.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Returns,
    /// The kernel begins again and again.
    Loops,
    /// The function calls itself twice, and never returns.
    Recurs,
}

/// The text of a program. Samplers are of their own, or the textures'.
fn text(registers: &BTreeSet<&str>, bodies: [&[String]; 2], independent: bool, end: End) -> String {
    let mode = if independent { ", texmode_independent" } else { "" };
    let mut text = format!(".version 8.6\n.target sm_90a{mode}\n{DECLARED}");
    for geometry in GEOMETRIES {
        let _ = writeln!(text, ".global .texref t_{geometry};\n.global .surfref s_{geometry};");
    }
    let heads = [
        ".func (.reg .b32 %r) f(.reg .b64 %p, .reg .b32 %n)".to_owned(),
        format!(".visible .entry k({PARAMETERS})"),
    ];
    let maps = (1..=5).map(|rank| format!("add.u64 %M{rank}, %X, {};\n", 128 * (rank - 1)));
    let maps = maps.chain((3..=5).map(|rank| format!("add.u64 %I{rank}, %X, {};\n", 128 * (rank + 2))));
    let begins = [
        "mov.b64 %P0, %p;\nmov.b64 %A0, %p;\nmov.b64 %A1, %p;\nmov.u32 %r, %n;\n".to_owned(),
        format!("{BEGIN}{}", maps.collect::<String>()),
    ];
    let ends = match end {
        End::Returns => [String::new(), String::new()],
        End::Loops => [String::new(), "bra FOREVER;\n".to_owned()],
        End::Recurs => [
            "call (%r), f, (%p, %n);\ncall (%r), f, (%p, %r);\n".to_owned(),
            "call (%R), f, (%A0, %R);\nbra FOREVER;\n".to_owned(),
        ],
    };
    for (((head, begin), body), end) in heads.into_iter().zip(begins).zip(bodies).zip(ends) {
        let _ = write!(text, "{head}\n{{\n{PROLOGUE}{begin}FOREVER:\n");
        for name in registers {
            let _ = writeln!(text, ".reg .{name} %{name}_<264>;");
        }
        for line in body {
            let _ = writeln!(text, "{line}");
        }
        text.push_str(&end);
        text.push_str("ret;\n}\n");
    }
    text
}

/// Takes the line at a byte out of the program, if it may go.
fn drop_line(source: &str, at: usize, bodies: &mut [Vec<String>; 2]) -> bool {
    let start = source[..at.min(source.len())].rfind('\n').map_or(0, |at| at + 1);
    let line = source[start..].lines().next().unwrap_or("");
    let mut found = false;
    for body in bodies {
        let before = body.len();
        body.retain(|one| one != line || one.ends_with(':') || one.contains("%N") || one.contains("bra L"));
        found |= body.len() < before;
    }
    found
}

fuzz_target!(|data: &[u8]| {
    let mut writer = Writer {
        choices: Choices(data),
        registers: BTreeSet::from(["pred"]),
        labels: 0,
        mnemonic: String::new(),
    };
    let flags = writer.choices.byte();
    let shape = writer.choices.byte();
    let function = writer.body(0, &mut (MOST / 4), false);
    let kernel = writer.body(0, &mut MOST.clone(), true);
    let mut bodies = [function, kernel];
    let end = match flags >> 6 {
        0 | 1 => End::Returns,
        2 => End::Loops,
        _ => End::Recurs,
    };
    // What the checker and the machine do not take goes, and the rest is tried again.
    for _ in 0..8 {
        let source = text(&writer.registers, [&bodies[0], &bodies[1]], flags & 8 != 0, end);
        let places: Vec<usize> = match Device::load(&[&source], LoadOptions::default()) {
            Ok(device) => match device.program("k") {
                Ok(_) => {
                    if std::env::var_os("SHOW").is_some() {
                        eprintln!("{source}");
                    }
                    let launched = Launched::new(flags, shape);
                    match end {
                        End::Returns => launched.compare(&source),
                        End::Loops | End::Recurs => launched.limited(&source),
                    }
                    return;
                }
                Err(LaunchError::Unsupported(list)) => {
                    list.iter().map(|one| one.span.start as usize).collect()
                }
                Err(_) => return,
            },
            Err(LoadError::Invalid(found)) => found.iter().map(|(_, it)| it.span().start as usize).collect(),
            Err(_) => return,
        };
        let mut dropped = false;
        for at in places {
            dropped |= drop_line(&source, at, &mut bodies);
        }
        if !dropped {
            return;
        }
    }
});
