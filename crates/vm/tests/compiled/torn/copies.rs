//! Copies: in bulk, of tensors, to several places at once, and by the host.

use super::{Run, Table, kernel, load};
use softwarp_tensor::{Description, Element, Map, Target, object};
use softwarp_vm::device::{Device, Jit, Launch};
use softwarp_vm::memory::host::{HostMemory, HostPlace};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a copy.
const BYTES: usize = 512;

/// A lane's 16 bytes of the CTA's own memory are compared.
const COMPARE: &str = "
    ld.shared.v4.u32 {%y0, %y1, %y2, %y3}, [%s];
    xor.b32 %y4, %y0, %y1; xor.b32 %y5, %y0, %y2; xor.b32 %y6, %y0, %y3;
    or.b32 %y4, %y4, %y5; or.b32 %y4, %y4, %y6;
    setp.ne.u32 %p, %y4, 0; selp.u32 %z, 1, 0, %p; add.u32 %n, %n, %z;";

/// Stores and loads of 512 bytes by a warp, each 16 of which have one word: their names, and what they do.
const STORES: [(&str, &str); 6] = [
    ("st.global.v4.u32", "st.global.v4.u32 [%at], {%v, %v, %v, %v};"),
    ("st.global.v2.u64", "mov.b64 %w, {%v, %v}; st.global.v2.u64 [%at], {%w, %w};"),
    ("cp.async.bulk", "{ALL} @%q cp.async.bulk.global.shared::cta.bulk_group [%x], [own], 512;"),
    (
        "cp.async.bulk.tensor",
        "{ALL} @%q cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {%e0, %e0}], [own];",
    ),
    (
        "multimem.cp.async.bulk",
        "{ALL} @%q multimem.cp.async.bulk.global.shared::cta.bulk_group [%l0], [own], 512;",
    ),
    ("multimem.st.v4.f32", "mov.b32 %f0, %v; multimem.st.global.v4.f32 [%l1], {%f0, %f0, %f0, %f0};"),
];

const LOADS: [(&str, &str); 6] = [
    ("ld.global.v4.u32", "ld.global.v4.u32 {%y0, %y1, %y2, %y3}, [%at]; st.shared.v4.u32 [%s], {%y0, %y1, %y2, %y3};"),
    (
        "cp.async.bulk",
        "@%q mbarrier.arrive.expect_tx.shared.b64 %w, [mb], 512;
         @%q cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [own], [%x], 512, [mb]; {WAIT}",
    ),
    (
        "cp.async.bulk.tensor",
        "@%q mbarrier.arrive.expect_tx.shared.b64 %w, [mb], 512;
         @%q cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [own], [%map, {%e0, %e0}], [mb];
         {WAIT}",
    ),
    (
        "multimem.ld_reduce.v4.f32",
        "multimem.ld_reduce.global.add.v4.f32 {%f0, %f1, %f2, %f3}, [%l1];
         st.shared.v4.f32 [%s], {%f0, %f1, %f2, %f3};",
    ),
    (
        "multimem.ld_reduce.v4.f16x2",
        "multimem.ld_reduce.global.max.v4.f16x2 {%y0, %y1, %y2, %y3}, [%l1];
         st.shared.v4.u32 [%s], {%y0, %y1, %y2, %y3};",
    ),
    ("cp.async", "cp.async.cg.shared.global [%s], [%at], 16; cp.async.wait_all;"),
];

const ALL: &str = "st.shared.v4.u32 [%s], {%v, %v, %v, %v}; bar.warp.sync -1;";

const WAIT: &str = "W: mbarrier.try_wait.parity.shared.b64 %w0, [mb], %e1; @!%w0 bra W; xor.b32 %e1, %e1, 1; bar.warp.sync -1;";

fn module(store: &str, load: &str) -> String {
    let [store, load] = [store, load].map(|text| text.replace("{ALL}", ALL).replace("{WAIT}", WAIT));
    let body = format!(
        "mov.u32 %s, own; mad.lo.u32 %s, %t, 16, %s; setp.eq.u32 %q, %t, 0;
    mov.u32 %e0, 0; mov.u32 %e1, 0;
    mov.u64 %x, %at; mul.wide.u32 %wide, %t, 16; add.u64 %at, %at, %wide;
    mov.u64 %l0, %src; add.u64 %l1, %src, %wide;
    @%q mbarrier.init.shared.b64 [mb], 1; bar.warp.sync -1;
    // Words of which f32 and f16 have one for each, which is a number.
    mov.u32 %e2, 0;
    setp.ne.u32 %p, %role, 0;
    @%p bra READ;
WRITE:
    add.u32 %e2, %e2, 1; and.b32 %v, %e2, 0x3fff; add.u32 %v, %v, 0x400; mul.lo.u32 %v, %v, 0x10001;
    {store}
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0;
    @%p bra WRITE;
    bra DONE;
READ:
    {load}
    {COMPARE}
    bar.warp.sync -1;
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0;
    @%p bra READ;"
    );
    kernel("", &body, 2)
}

/// A tensor of 4 rows of 32 words.
fn tensor(address: u64) -> Vec<u8> {
    let description = Description { address, ..Description::tiled(Element::U32, &[32, 4], &[128], &[32, 4]) };
    object::encode(&Map::new(&description, Target::SM_90).expect("legal")).to_vec()
}

#[test]
fn no_copy_is_torn() {
    let mut table = Table::new();
    for (stored, store) in STORES {
        for (loaded, what) in LOADS {
            let name = format!("{loaded} of {stored}");
            if !table.has(&name) {
                continue;
            }
            let device = load(&name, &module(store, what));
            let data = device.allocate(4096).expect("memory");
            let both = device.multicast(&[data], 4096).expect("it is there");
            for jit in [Jit::Off, Jit::On] {
                let run = Run { places: [data, both], map: tensor(data), ..Run::new(&device, data) };
                table.add(&name, jit, run.count(jit, table.loads));
            }
        }
    }
    table.finish();
}

/// The host reads memory while a kernel stores to it, and writes memory while a kernel loads from it.
#[test]
fn no_copy_of_the_host_is_torn() {
    let mut table = Table::new();
    let [stores, loads] = [module(STORES[0].1, LOADS[0].1), module("", LOADS[0].1)];
    for (what, text) in [("host reads", stores), ("host writes", loads)] {
        for mapped in [false, true] {
            let name = format!("{what}{}", if mapped { ", mapped" } else { "" });
            if !table.has(&name) {
                continue;
            }
            let device = load(&name, &text);
            let memory = HostMemory::new(4096).expect("memory");
            let data = match mapped {
                true => device.map_host(&memory, HostPlace::Anywhere).expect("free"),
                false => device.allocate(4096).expect("memory"),
            };
            for jit in [Jit::Off, Jit::On] {
                let counts = match what {
                    "host reads" => while_kernel_runs(&device, (data, jit), table.loads, || {
                        let mut bytes = [0; BYTES + 3];
                        match mapped {
                            true => memory.bytes().read(0, &mut bytes),
                            false => device.read(data, &mut bytes).expect("inside"),
                        }
                        let is_torn = |piece: &&[u8; 16]| {
                            piece.as_chunks::<4>().0.iter().any(|word| word != &piece[..4])
                        };
                        let pieces = bytes.as_chunks::<16>().0;
                        (pieces.len() as u64, pieces.iter().filter(is_torn).count() as u64)
                    }),
                    _ => {
                        let mut round = 0u8;
                        while_kernel_runs(&device, (data, jit), table.loads, || {
                            round = round.wrapping_add(1);
                            match mapped {
                                true => memory.bytes().write(0, &[round; BYTES]),
                                false => device.write(data, &[round; BYTES]).expect("inside"),
                            }
                            (0, 0)
                        })
                    }
                };
                table.add(&name, jit, counts);
            }
        }
    }
    table.finish();
}

/// Calls a function while a kernel of two CTAs runs. How many loads both have counted, and how many were torn.
fn while_kernel_runs(
    device: &Device,
    (data, jit): (u64, Jit),
    loads: u64,
    mut f: impl FnMut() -> (u64, u64) + Send,
) -> (u64, u64) {
    let out = device.allocate(256).expect("memory");
    let rounds = (loads / 32).clamp(100, 1 << 30) as u32;
    let addresses = [data, data, out].map(|at| at.to_le_bytes().to_vec()).into_iter();
    let arguments: Vec<Vec<u8>> = addresses.chain([rounds.to_le_bytes().to_vec(), vec![0; 128]]).collect();
    let done = AtomicBool::new(false);
    let (mut count, mut torn) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let launch =
                Launch { jit, threads: Some(2), ..Launch::new("k", [2, 1, 1], [32, 1, 1], &arguments) };
            let ran = device.launch(&launch).map(drop);
            done.store(true, Ordering::Release);
            ran.unwrap_or_else(|error| panic!("{error}"));
        });
        while !done.load(Ordering::Acquire) {
            let (more, wrong) = f();
            (count, torn) = (count + more, torn + wrong);
        }
    });
    let counted: u64 = Run::new(device, data).words(out, 64).into_iter().map(u64::from).sum();
    device.free(out).expect("allocated");
    (count + u64::from(rounds) * 32, torn + counted)
}
