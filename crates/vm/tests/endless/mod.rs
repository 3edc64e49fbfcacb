//! Kernels that run for ever, or might as well, each by another kind of instruction.

use softwarp_tensor::{Description, Element, Map, Target, object, packed_strides};
use softwarp_vm::device::{Device, Launch, LoadOptions};
use softwarp_vm::texture::array::ArrayDescription;
use softwarp_vm::texture::format::Format;
use softwarp_vm::texture::sampler::{AddressMode, Filter, Sampler};
use softwarp_vm::texture::{Source, Texture};

/// Bytes of the buffer that `%d0` points to.
const BUFFER: u64 = 1 << 18;

/// The number of addresses that the multimem address in `%m` stands for.
const PARTS: usize = 64;

const REGISTERS: &str = ".reg .pred %p<4>; .reg .b32 %r<80>; .reg .b64 %d<8>, %m, %t<8>; .reg .f64 %e<4>;
    .reg .f32 %f<136>; .reg .b16 %h<4>; .reg .b128 %q<2>;
    ld.param.u64 %d0, [out]; ld.param.u64 %m, [all]; mov.b64 %t0, maps; cvta.param.u64 %t0, %t0;
    add.u64 %t1, %t0, 128; add.u64 %t2, %t0, 256; add.u64 %t3, %t0, 384;
    mov.u32 %r0, s; mov.u32 %r1, %laneid; mov.u32 %r2, bar;\n";

const DECLARED: &str =
    ".shared .align 1024 .b8 s[32768];\n.shared .align 8 .b64 bar;\n.shared .align 16 .b8 answer[16];
    .global .texref t1, t2, t3, ta, tc;\n.global .surfref s2;
    .extern .func (.param .b64 r) malloc (.param .b64 n);\n.extern .func free (.param .b64 p);
    .extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n";

/// What runs for ever.
pub struct Endless {
    pub what: &'static str,
    pub block: u32,
    /// CTAs of a cluster.
    pub cluster: Option<u32>,
    target: &'static str,
    declared: String,
    body: String,
}

impl Endless {
    fn new(what: &'static str, declared: impl Into<String>, body: impl Into<String>) -> Endless {
        let (declared, body) = (declared.into(), body.into());
        Endless { what, block: 64, cluster: None, target: "sm_90a", declared, body }
    }

    /// A body that begins with a part that is executed once.
    fn repeats(what: &'static str, once: &str, repeated: &str) -> Endless {
        Endless::new(what, "", format!("{once}\nL:\n{repeated}\nbra L;"))
    }

    fn threads(self, block: u32) -> Endless {
        Endless { block, ..self }
    }

    fn clusters(self, ctas: u32) -> Endless {
        Endless { cluster: Some(ctas), ..self }
    }

    fn on(self, target: &'static str) -> Endless {
        Endless { target, ..self }
    }

    /// The module, loaded, with textures and surfaces bound.
    pub fn load(&self) -> Device {
        let Endless { target, declared, body, .. } = self;
        let source = format!(
            ".version 8.6\n.target {target}\n.address_size 64\n{DECLARED}{declared}\n\
             .visible .entry k(.param .u64 out, .param .u64 all, .param .align 64 .b8 maps[512])\n{{\n{REGISTERS}{body}\n}}\n"
        );
        let mut device = Device::load(&[&source], LoadOptions::default())
            .unwrap_or_else(|error| panic!("{error:?}\n{source}"));
        bind(&mut device);
        device
    }

    /// The arguments of a launch.
    pub fn arguments(&self, device: &mut Device) -> Vec<Vec<u8>> {
        let out = device.allocate(BUFFER).expect("memory");
        let parts: Vec<u64> = (0..PARTS).map(|_| device.allocate(256).expect("memory")).collect();
        let all = device.multicast(&parts, 256).expect("they are there");
        vec![out.to_le_bytes().to_vec(), all.to_le_bytes().to_vec(), maps(out)]
    }

    /// A launch of four CTAs, or of two clusters, under limits.
    pub fn launch<'a>(&self, arguments: &'a [Vec<u8>], limits: Launch<'a>) -> Launch<'a> {
        let grid = [self.cluster.map_or(4, |ctas| 2 * ctas), 1, 1];
        let cluster = self.cluster.map(|ctas| [ctas, 1, 1]);
        Launch { kernel: "k", grid, block: [self.block, 1, 1], cluster, arguments, ..limits }
    }
}

/// Filters all around, the most work that a lookup can be.
fn bind(device: &mut Device) {
    let format = Format::parse("f32x4").expect("a format");
    let arrays = [
        ("t1", ArrayDescription::row(format, 64)),
        ("t2", ArrayDescription::plane(format, 64, 64).mipmapped(7)),
        ("t3", ArrayDescription::volume(format, 16, 16, 16).mipmapped(5)),
        ("ta", ArrayDescription::plane(format, 16, 16).layered(4)),
        ("tc", ArrayDescription::cube(format, 16).mipmapped(5)),
    ];
    let sampler = Sampler {
        address: [AddressMode::Mirror; 3],
        filter: Filter::Linear,
        mip_filter: Filter::Linear,
        normalized: true,
        ..Sampler::default()
    };
    for (name, description) in arrays {
        let array = device.create_array(description).expect("memory");
        let texture = Texture { source: Source::Array(array), sampler, integers: false };
        device.bind_texture(name, texture).expect("it is declared");
    }
    let format = Format::parse("u32x1").expect("a format");
    let array = device.create_array(ArrayDescription::plane(format, 64, 64)).expect("memory");
    device.bind_surface("s2", array).expect("it is declared");
}

/// Tensor maps with boxes of 32 KiB: of long rows, of short rows, for im2col, and for prefetches.
fn maps(address: u64) -> Vec<u8> {
    let strided = |dims: &[u64]| packed_strides(Element::U32, dims);
    let tiled = |dims: &[u64], boxes: &[u32]| Description {
        address,
        ..Description::tiled(Element::U32, dims, &strided(dims), boxes)
    };
    let image = [8, 16, 16, 4];
    let all = [
        tiled(&[128, 512], &[32, 256]),
        tiled(&[4, 16, 16, 16, 4], &[4, 16, 16, 8, 1]),
        Description {
            address,
            ..Description::im2col(Element::U32, &image, &strided(&image), (&[0, 0], &[0, 0]), (8, 1024))
        },
        tiled(&[4, 16, 16, 16, 4], &[4, 16, 16, 16, 3]),
    ];
    let encode = |description: Description| {
        object::encode(&Map::new(&description, Target::SM_90).unwrap_or_else(|error| panic!("{error:?}")))
    };
    all.into_iter().flat_map(encode).collect()
}

/// Functions that call the one before twice: as many calls as a binary tree of this depth has nodes.
fn doubling(count: usize) -> String {
    let calls = (1..count).map(|i| format!(".func f{i}() {{ call f{0}; call f{0}; ret; }}\n", i - 1));
    ".func f0() { ret; }\n".to_owned() + &calls.collect::<String>()
}

/// A variable with a text.
fn text(name: &str, text: &str) -> String {
    let bytes: Vec<String> = text.bytes().chain([0]).map(|byte| byte.to_string()).collect();
    format!(".global .b8 {name}[{}] = {{{}}};\n", bytes.len(), bytes.join(","))
}

/// A kernel that prints by a format, with arguments of zeros.
fn printing(what: &'static str, format: &str) -> Endless {
    let print = "{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d1; st.param.b64 [a], %d2;
                 call (r), vprintf, (f, a); }";
    let body = format!("cvta.global.u64 %d1, text;\nmov.u64 %d2, %d0;\nL: {print}\nbra L;");
    Endless::new(what, text("text", format), body).threads(32)
}

/// A loop of a wgmma over the operands in a list of registers for its result.
fn wgmma(what: &'static str, form: &str, registers: u32, tail: &str) -> Endless {
    let list: Vec<String> = (0..registers).map(|i| format!("%f{i}")).collect();
    let once = "mov.b64 %d1, 0x4000004000010040;\nmov.b64 %d2, %d1;\nsetp.eq.u32 %p0, %r0, %r0;";
    let repeated = format!(
        "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.{form} {{{}}}, %d1, %d2, %p0, {tail};\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;",
        list.join(", ")
    );
    Endless::repeats(what, once, &repeated).threads(128)
}

const BARRIER: &str = "setp.eq.u32 %p0, %r1, 0;\n@%p0 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;";

/// All of them.
pub fn endless() -> Vec<Endless> {
    [control(), calls(), warps(), memory(), copies(), tensors(), textures(), matrices(), clusters()]
        .into_iter()
        .flatten()
        .collect()
}

fn control() -> Vec<Endless> {
    let table: String = (0..64).map(|i| format!("L{i}: brx.idx %r3, T;\n")).collect();
    let names: Vec<String> = (0..64).map(|i| format!("L{i}")).collect();
    let parts: String = (0..31).map(|i| format!("setp.eq.u32 %p1, %r1, {i};\n@%p1 bra X{i};\n")).collect();
    let meets: String = (0..31).map(|i| format!("X{i}: add.u32 %r3, %r1, {i};\nbra M;\n")).collect();
    vec![
        Endless::new(
            "tables",
            "",
            format!("mov.u32 %r3, 0;\nT: .branchtargets {};\n{table}ret;", names.join(", ")),
        ),
        Endless::new("divergence", "", format!("L:\n{parts}bra M;\n{meets}M: bra L;")),
        Endless::repeats("an empty loop", "", ""),
        Endless::repeats("barriers", "", "bar.sync 0;").threads(1024),
        Endless::repeats("barriers that reduce", "", "bar.red.popc.u32 %r3, 1, %p1;\nbar.arrive 2, 2048;")
            .threads(1024),
        Endless::repeats("sleep", "", "nanosleep.u32 0xffffffff;"),
        Endless::repeats(
            "a long block",
            "mov.f64 %e0, 0d3ff0000000000001;",
            &"div.rn.f64 %e1, %e0, %e0;\n".repeat(5000),
        ),
        Endless::repeats("griddepcontrol", "", "griddepcontrol.launch_dependents;\ngriddepcontrol.wait;"),
        Endless::repeats(
            "setmaxnreg",
            "",
            "setmaxnreg.dec.sync.aligned.u32 24;\nsetmaxnreg.inc.sync.aligned.u32 240;",
        )
        .threads(128),
        Endless::repeats(
            "clocks",
            "",
            "mov.u64 %d1, %clock64;\nmov.u64 %d2, %globaltimer;\nmov.u32 %r3, %smid;",
        ),
    ]
}

fn calls() -> Vec<Endless> {
    let malloc = "{ .param .b64 n; .param .b64 r; st.param.b64 [n], %d3; call (r), malloc, (n); ld.param.b64 %d1, [r]; }";
    let free = "{ .param .b64 p; st.param.b64 [p], %d1; call free, (p); }";
    vec![
        Endless::new("calls", doubling(50), "call f49;\nret;"),
        Endless::new(
            "indirect calls",
            ".func f() { ret; }",
            "mov.u64 %d1, f;\nP: .callprototype _ ();\nL: call %d1, (), P;\nbra L;",
        ),
        Endless::new(
            "calls with long arguments",
            ".func (.param .b8 r[4000]) f(.param .b8 a[4000]) { ret; }",
            "L: { .param .b8 a[4000]; .param .b8 r[4000]; call (r), f, (a); }\nbra L;",
        ),
        Endless::new(
            "calls with long arguments that have no words",
            ".func (.param .b8 r[65535]) f(.param .b8 a[65535]) { ret; }",
            "L: { .param .b8 a[65535]; .param .b8 r[65535]; call (r), f, (a); }\nbra L;",
        ),
        Endless::new("malloc", "", format!("mov.u64 %d3, 16;\nL: {malloc}\nbra L;")),
        Endless::new("malloc and free", "", format!("mov.u64 %d3, 16;\nL: {malloc}\n{free}\nbra L;")),
        Endless::new(
            "malloc of all sizes",
            "",
            format!(
                "mov.u64 %d3, 1;\nL: {malloc}\n{free}\nmad.lo.u64 %d3, %d3, 5, 1;\nand.b64 %d3, %d3, 0xfffff;\nbra L;"
            ),
        ),
        printing("printf of a wide field", "%4096d"),
        printing("printf of many wide fields", &"%4096d%-4096x".repeat(200)),
        printing("printf of zeros that are removed", &"%.4000g".repeat(500)),
        printing("printf of nothing", &"%.0s".repeat(16000)),
        Endless::repeats("stack", "", "stacksave.u64 %d1;\nalloca.u64 %d2, 64, 16;\nstackrestore.u64 %d1;"),
    ]
}

fn warps() -> Vec<Endless> {
    vec![
        Endless::repeats(
            "votes and shuffles",
            "",
            "shfl.sync.idx.b32 %r3, %r1, 3, 31, -1;\nvote.sync.ballot.b32 %r4, 1, -1;\nmatch.any.sync.b32 %r5, %r1, -1;\n\
             match.all.sync.b32 %r5|%p1, %r1, -1;",
        ),
        Endless::repeats("redux", "", "redux.sync.add.u32 %r3, %r1, -1;\nredux.sync.xor.b32 %r4, %r1, -1;"),
        Endless::repeats(
            "elect and activemask",
            "",
            "elect.sync %r3|%p1, -1;\nactivemask.b32 %r4;\nbar.warp.sync -1;",
        ),
        Endless::repeats(
            "DPX and video",
            "",
            "vadd4.u32.u32.u32.add %r3, %r1, %r0, %r3;\nvabsdiff4.u32.u32.u32.add %r4, %r1, %r0, %r3;\n\
             vset4.u32.u32.ge %r5, %r1, %r0, %r3;\nvmad.u32.u32.u32 %r6, %r1.b0, %r0.h1, %r3;\n\
             max.s16x2.relu %r7, %r1, %r0;\ndp4a.u32.u32 %r8, %r1, %r0, %r3;",
        ),
        Endless::repeats(
            "halves of a warp",
            "setp.lt.u32 %p0, %r1, 16;\nselp.b32 %r3, 0xffff, 0xffff0000, %p0;",
            "bar.warp.sync %r3;\nshfl.sync.bfly.b32 %r4, %r1, 1, 31, %r3;",
        ),
    ]
}

fn memory() -> Vec<Endless> {
    vec![
        Endless::repeats(
            "polling",
            "",
            "ld.acquire.gpu.global.u32 %r3, [%d0];\nsetp.eq.u32 %p0, %r3, 0;\n@!%p0 exit;",
        ),
        Endless::repeats(
            "atomics",
            "",
            "red.global.add.u32 [%d0], 1;\natom.global.exch.b32 %r3, [%d0], %r1;",
        ),
        Endless::repeats(
            "atom.cas",
            "mov.u32 %r3, 7;",
            "C: atom.global.cas.b32 %r4, [%d0], %r3, %r1;\nsetp.ne.u32 %p0, %r4, %r3;\n@%p0 bra C;",
        ),
        Endless::repeats(
            "vector atomics",
            "",
            "atom.global.v4.f32.add {%f1, %f2, %f3, %f4}, [%d0], {%f5, %f6, %f7, %f8};\n\
             red.global.v8.f16.add.noftz [%d0], {%h0, %h1, %h2, %h3, %h0, %h1, %h2, %h3};\natom.b128.exch %q1, [%d0], %q0;",
        ),
        Endless::repeats(
            "scattered accesses",
            "mul.wide.u32 %d1, %r1, 4112;\nadd.u64 %d1, %d1, %d0;",
            "ld.u8 %r3, [%d1+1];\nst.u8 [%d1+3], %r3;\nst.v4.b32 [%d1+16], {%r3, %r3, %r3, %r3};",
        ),
        Endless::repeats("fences", "", "fence.sc.sys;\nfence.proxy.async;\nmembar.gl;"),
        Endless::repeats(
            "multimem",
            "",
            "multimem.ld_reduce.global.add.u32 %r3, [%m];\nmultimem.red.global.add.u64 [%m+8], 1;\nmultimem.st.global.u32 [%m+16], %r3;\n\
             multimem.ld_reduce.global.add.v4.f16x2 {%r3, %r4, %r5, %r6}, [%m];",
        ),
        Endless::repeats("st.bulk", "", "st.bulk.shared::cta [%r0], 32768, 0;").on("sm_100"),
    ]
}

fn copies() -> Vec<Endless> {
    vec![
        Endless::repeats(
            "cp.async",
            "cvt.u64.u32 %d1, %r1;\nmad.lo.u64 %d1, %d1, 16, %d0;\nmad.lo.u32 %r3, %r1, 16, %r0;",
            "cp.async.cg.shared.global [%r3], [%d1], 16;\ncp.async.ca.shared.global [%r3], [%d1], 4;\ncp.async.commit_group;\ncp.async.wait_group 0;",
        ),
        Endless::repeats(
            "bulk copies",
            "",
            "cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r0], 32768;",
        ),
        Endless::repeats(
            "bulk copies that are waited for",
            BARRIER,
            "mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 32768;\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%d0], 32768, [bar];",
        ),
        Endless::repeats(
            "bulk reductions",
            "",
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%d0], [%r0], 32768;\n\
             cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%d0], [%r0], 32768;",
        ),
        Endless::repeats(
            "short bulk reductions",
            "",
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%d0], [%r0], 80;",
        ),
        Endless::repeats(
            "bulk prefetches",
            "",
            "cp.async.bulk.prefetch.L2.global [%d0], 262144;\nprefetch.global.L2 [%d0];",
        ),
        Endless::repeats(
            "mbarriers that never complete",
            BARRIER,
            "mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0, 0x7fffffff;\nmbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;\n\
             red.global.add.u32 [%d0], 1;",
        ),
        Endless::repeats(
            "mbarriers that complete",
            "setp.eq.u32 %p0, %r1, 0;\nmbarrier.init.shared.b64 [bar], 64;\nbar.sync 0;",
            "mbarrier.arrive.shared.b64 %d1, [bar];\nW: mbarrier.try_wait.shared.b64 %p1, [bar], %d1;\n@!%p1 bra W;",
        ),
    ]
}

fn tensors() -> Vec<Endless> {
    let load = |what, form: &str, from: &str, more: &str| {
        Endless::repeats(
            what,
            &format!("{BARRIER}\nmov.u32 %r3, 0;\nmov.b16 %h0, 0;"),
            &format!(
                "mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 32768;\n\
                 cp.async.bulk.tensor.{form}.mbarrier::complete_tx::bytes [%r0], [{from}], [bar]{more};"
            ),
        )
    };
    let two = "{%r3, %r3}";
    let four = "{%r3, %r3, %r3, %r3}";
    let five = "{%r3, %r3, %r3, %r3, %r3}";
    vec![
        load("loads of long rows", "2d.shared::cluster.global.tile", &format!("%t0, {two}"), ""),
        load("loads of short rows", "5d.shared::cluster.global.tile", &format!("%t1, {five}"), ""),
        load("loads by im2col", "4d.shared::cluster.global.im2col", &format!("%t2, {four}"), ", {%h0, %h0}"),
        Endless::repeats(
            "stores of tensors",
            "mov.u32 %r3, 0;",
            &format!(
                "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%t1, {five}], [%r0];\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;"
            ),
        ),
        Endless::repeats(
            "reductions of tensors",
            "mov.u32 %r3, 0;",
            &format!(
                "cp.reduce.async.bulk.tensor.5d.global.shared::cta.add.tile.bulk_group [%t1, {five}], [%r0];\n\
                 cp.reduce.async.bulk.tensor.4d.global.shared::cta.xor.im2col_no_offs.bulk_group [%t2, {four}], [%r0];"
            ),
        ),
        Endless::repeats(
            "prefetches of tensors",
            "mov.u32 %r3, 0;",
            &format!("cp.async.bulk.prefetch.tensor.5d.L2.global.tile [%t3, {five}];"),
        ),
        Endless::repeats(
            "changes of tensor maps",
            "",
            "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r0], %d0;\n\
             tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d0], [%r0], 128;",
        ),
    ]
}

fn textures() -> Vec<Endless> {
    let to = "{%f1, %f2, %f3, %f4}";
    vec![
        Endless::repeats(
            "tex",
            "cvt.rn.f32.u32 %f5, %r1;\nmul.f32 %f5, %f5, 0f3dcccccd;",
            &format!(
                "tex.1d.v4.f32.f32 {to}, [t1, {{%f5}}];\ntex.level.3d.v4.f32.f32 {to}, [t3, {{%f5, %f5, %f5, %f5}}], %f5;\n\
                 tex.grad.2d.v4.f32.f32 {to}, [t2, {{%f5, %f5}}], {{%f5, %f5}}, {{%f5, %f5}};\n\
                 tex.a2d.v4.f32.f32 {to}, [ta, {{%r1, %f5, %f5, %f5}}];\ntex.level.cube.v4.f32.f32 {to}, [tc, {{%f5, %f5, %f5, %f5}}], %f5;"
            ),
        ),
        Endless::repeats(
            "tld4",
            "",
            &format!("tld4.r.2d.v4.f32.f32 {to}, [t2, {{%f5, %f5}}];\ntxq.width.b32 %r3, [t2];"),
        ),
        Endless::repeats(
            "surfaces",
            "mul.lo.u32 %r3, %r1, 4;",
            "suld.b.2d.b32.zero %r4, [s2, {%r3, %r1}];\nsust.b.2d.b32.clamp [s2, {%r3, %r1}], %r4;\nsured.b.add.2d.u32.clamp [s2, {%r3, %r1}], %r4;\n\
             sust.p.2d.b32.zero [s2, {%r1, %r1}], %r4;\nsuq.width.b32 %r5, [s2];",
        ),
    ]
}

fn matrices() -> Vec<Endless> {
    let four = "{%r4, %r5, %r6, %r7}";
    vec![
        Endless::repeats(
            "mma",
            "",
            "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%r10}, {%r4, %r5, %r6, %r7};\n\
             mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%f1, %f2, %f3, %f4};\n\
             mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%r4, %r5, %r6, %r7}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%r4, %r5, %r6, %r7};",
        ),
        wgmma("wgmma of halves", "m64n256k16.f32.f16.f16", 128, "1, 1, 0, 0"),
        wgmma("wgmma of eighths", "m64n256k32.f32.e4m3.e5m2", 128, "1, 1"),
        Endless::repeats(
            "ldmatrix and stmatrix",
            "mad.lo.u32 %r3, %r1, 16, %r0;",
            &format!(
                "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {four}, [%r3];\nstmatrix.sync.aligned.m8n8.x4.shared.b16 [%r3], {four};\n\
                 movmatrix.sync.aligned.m8n8.trans.b16 %r8, %r4;"
            ),
        ),
    ]
}

fn clusters() -> Vec<Endless> {
    let remote = "mapa.shared::cluster.u32 %r3, %r0, 1;\nmapa.shared::cluster.u32 %r4, %r2, 1;\nmov.u32 %r5, %cluster_ctarank;\n\
                  setp.eq.u32 %p0, %r1, 0;\n@%p0 mbarrier.init.shared.b64 [bar], 1;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;";
    let expect = "@%p0 mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r4], 640;\n";
    vec![
        Endless::repeats("barriers of clusters", "", "barrier.cluster.arrive;\nbarrier.cluster.wait;").threads(256).clusters(8),
        Endless::repeats(
            "st.async and red.async",
            remote,
            &format!(
                "{expect}st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r3], {{%r1, %r1, %r1, %r1}}, [%r4];\n\
                 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r3+64], %r1, [%r4];"
            ),
        )
        .clusters(2),
        Endless::repeats(
            "multicast",
            &format!("{remote}\nmov.b16 %h0, 0xff;\nmov.u32 %r6, 0;"),
            "@%p0 mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 524288;\n\
             barrier.cluster.arrive;\nbarrier.cluster.wait;\n\
             @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r0], [%d0], 32768, [bar], %h0;\n\
             @%p0 cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster \
             [%r0], [%t1, {%r6, %r6, %r6, %r6, %r6}], [bar], %h0;\n\
             barrier.cluster.arrive;\nbarrier.cluster.wait;",
        )
        .threads(32)
        .clusters(8),
        Endless::repeats(
            "clusterlaunchcontrol",
            BARRIER,
            "mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 16;\n\
             clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [bar];\n\
             ld.shared.b128 %q0, [answer];\nclusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q0;",
        )
        .on("sm_100"),
    ]
}
