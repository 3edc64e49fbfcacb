//! Textures, samplers and surfaces (PTX ISA sections 5.1.8, 5.3, 9.7.10 and 9.7.11): how programs come by them, and what
//! happens when they should not. What lookups give is held against recordings by `softwarp`'s tests.

use softwarp_vm::device::{Device, Launch, LaunchError, LoadOptions};
use softwarp_vm::fault::{BadTexture, FaultKind};
use softwarp_vm::texture::array::{Array, ArrayDescription};
use softwarp_vm::texture::format::Format;
use softwarp_vm::texture::sampler::{AddressMode, Filter, Sampler};
use softwarp_vm::texture::{Geometry, Source, Texture, TextureError};
use std::sync::Arc;

const UNIFIED: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";
const INDEPENDENT: &str = ".version 8.6\n.target sm_90, texmode_independent\n.address_size 64\n";

/// Registers for all, and `out` in `%o`.
const PROLOGUE: &str = "
    .reg .pred %p<4>; .reg .b32 %r<24>; .reg .f32 %f<12>; .reg .b64 %d<12>, %o;
    ld.param.u64 %o, [out];
";

fn kernel(name: &str, parameters: &str, body: &str) -> String {
    format!(".visible .entry {name}(.param .u64 out{parameters})\n{{{PROLOGUE}{body}\nret;\n}}\n")
}

fn load(source: &str) -> Device {
    Device::load(&[source], LoadOptions::default()).unwrap_or_else(|error| panic!("{error:?}\n{source}"))
}

fn launched(device: &mut Device, kernel: &str, more: &[u64]) -> Result<[u32; 8], LaunchError> {
    let out = device.allocate(32).expect("memory");
    let arguments: Vec<Vec<u8>> =
        [&[out], more].concat().iter().map(|word| word.to_le_bytes().to_vec()).collect();
    device.launch(&Launch::new(kernel, [1, 1, 1], [1, 1, 1], &arguments))?;
    let mut bytes = [0; 32];
    device.read(out, &mut bytes).expect("inside");
    Ok(std::array::from_fn(|n| u32::from_le_bytes(std::array::from_fn(|byte| bytes[4 * n + byte]))))
}

/// The first eight words of `out`.
fn launch(device: &mut Device, kernel: &str, more: &[u64]) -> [u32; 8] {
    launched(device, kernel, more).unwrap_or_else(|error| panic!("{error}\n{error:?}"))
}

/// What stops a kernel.
fn fault(device: &mut Device, kernel: &str, more: &[u64]) -> BadTexture {
    match launched(device, kernel, more) {
        Err(LaunchError::Fault(fault)) => match fault.kind {
            FaultKind::Texture(bad) => *bad,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn shape(format: &str, geometry: Geometry, size: [u32; 3], layers: u32) -> ArrayDescription {
    let format = Format::parse(format).expect("a format");
    ArrayDescription { format, geometry, size, layers, levels: 1, samples: 1 }
}

/// A row of words: 10, 20, 30, …
fn row(device: &Device, count: u32) -> Arc<Array> {
    let array = device.create_array(shape("u32x1", Geometry::D1, [count, 1, 1], 1)).expect("room");
    let words: Vec<u8> = (1..=count).flat_map(|n| (10 * n).to_le_bytes()).collect();
    array.write(0, &words).expect("as many");
    array
}

/// A row of singles: 10, 20, 30, …
fn floats(device: &Device, count: u32) -> Arc<Array> {
    let array = device.create_array(shape("f32x1", Geometry::D1, [count, 1, 1], 1)).expect("room");
    let words: Vec<u8> = (1..=count).flat_map(|n| (10.0 * n as f32).to_le_bytes()).collect();
    array.write(0, &words).expect("as many");
    array
}

fn texture(array: Arc<Array>) -> Texture {
    Texture { source: Source::Array(array), sampler: Sampler::default(), integers: true }
}

/// `tex.1d` at 1.5 into `%r0`.
fn second(handle: &str) -> String {
    format!("mov.f32 %f0, 0f3fc00000; tex.1d.v4.u32.f32 {{%r0,%r1,%r2,%r3}}, [{handle}, {{%f0}}];\n")
}

#[test]
fn a_texture_or_surface_is_used_by_name_by_pointer_and_by_handle() {
    let query = "txq.width.b32 %r4, [HANDLE]; st.global.u32 [%o], %r0; st.global.u32 [%o+4], %r4;";
    let read = |handle: &str| second(handle) + &query.replace("HANDLE", handle);
    let surface = |handle: &str| {
        format!(
            "mov.u32 %r5, 4; mov.u32 %r6, 7; suld.b.1d.b32.trap %r7, [{handle}, {{%r5}}];
             sured.b.add.1d.u32.trap [{handle}, {{%r5}}], %r6; suld.b.1d.b32.trap %r8, [{handle}, {{%r5}}];
             sust.b.1d.b32.trap [{handle}, {{%r5}}], %r7; suq.width.b32 %r9, [{handle}];
             st.global.u32 [%o+8], %r7; st.global.u32 [%o+12], %r8; st.global.u32 [%o+16], %r9;"
        )
    };
    let pointer = "mov.u64 %d0, t; mov.u64 %d1, s;".to_owned() + &read("%d0") + &surface("%d1");
    let handle = "ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];".to_owned() + &read("%d0") + &surface("%d1");
    let mut device = load(
        &[
            UNIFIED,
            ".global .texref t; .global .surfref s;",
            &kernel("named", "", &(read("t") + &surface("s"))),
            &kernel("pointer", "", &pointer),
            &kernel("handle", ", .param .u64 a, .param .u64 b", &handle),
        ]
        .concat(),
    );
    let array = row(&device, 4);
    device.bind_texture("t", texture(array.clone())).expect("a texture");
    device.bind_surface("s", array.clone()).expect("a surface");
    let objects =
        [device.texture_object(texture(array.clone())).expect("a texture"), device.surface_object(array)];
    for (name, more) in [("named", &[][..]), ("pointer", &[]), ("handle", &objects)] {
        assert_eq!(launch(&mut device, name, more), [20, 4, 20, 27, 4, 0, 0, 0], "{name}");
    }
    assert!(device.destroy_object(objects[0]));
    let gone = fault(&mut device, "handle", &objects);
    assert_eq!(gone, BadTexture::NoHandle { handle: objects[0], wanted: "a texture" });
}

#[test]
fn a_pointer_to_a_texture_goes_through_memory_and_into_functions() {
    let body = "
        mov.u64 %d0, t; st.global.u64 [place], %d0; ld.global.u64 %d1, [place]; ld.global.u64 %d3, [initial];
        { .param .b64 p; .param .b32 q; st.param.b64 [p], %d1; call (q), f, (p); ld.param.b32 %r0, [q]; }
        setp.eq.u64 %p0, %d1, %d3; selp.u32 %r1, 1, 0, %p0;
        st.global.u32 [%o], %r0; st.global.u32 [%o+4], %r1;";
    let function = ".func (.param .b32 r) f(.param .b64 p) { .reg .b64 %h; .reg .f32 %f0; .reg .b32 %r<4>;
        ld.param.b64 %h, [p]; mov.f32 %f0, 0f40200000; tex.1d.v4.u32.f32 {%r0,%r1,%r2,%r3}, [%h, {%f0}];
        st.param.b32 [r], %r0; ret; }\n";
    let globals = ".global .texref t; .global .u64 place; .global .u64 initial = t;\n";
    let mut device = load(&[UNIFIED, globals, function, &kernel("k", "", body)].concat());
    device.bind_texture("t", texture(row(&device, 4))).expect("a texture");
    assert_eq!(launch(&mut device, "k", &[])[..2], [30, 1]);
}

#[test]
fn what_lies_at_a_texture_can_be_loaded_and_a_pointer_beside_it_is_no_texture() {
    let source = [
        UNIFIED,
        ".global .texref t;",
        &kernel("loads", "", "mov.u64 %d0, t; ld.global.u32 %r0, [%d0]; st.global.u32 [%o], %r0;"),
        &kernel("beside", "", &("mov.u64 %d0, t; add.u64 %d0, %d0, 4;".to_owned() + &second("%d0"))),
    ]
    .concat();
    let mut device = load(&source);
    device.bind_texture("t", texture(row(&device, 4))).expect("a texture");
    assert_eq!(launch(&mut device, "loads", &[])[0], 0);
    assert!(matches!(fault(&mut device, "beside", &[]), BadTexture::NoHandle { .. }));
}

#[test]
fn queries_answer_for_what_is_bound_and_else_as_the_initialiser_says() {
    let asked = [
        "width",
        "height",
        "depth",
        "channel_data_type",
        "channel_order",
        "filter_mode",
        "addr_mode_0",
        "array_size",
    ];
    let ask = |n: usize| format!("txq.{}.b32 %r{n}, [t]; st.global.u32 [%o+{}], %r{n};\n", asked[n], 4 * n);
    let body: String = (0..8).map(ask).collect();
    let members = "{ width = 77, height = 5, depth = 3, channel_data_type = 0x10D2, channel_order = 0x10B5, \
                   filter_mode = linear, addr_mode_0 = clamp_to_border, array_size = 9 }";
    let mut device = load(&[UNIFIED, ".global .texref t = ", members, ";", &kernel("k", "", &body)].concat());
    assert_eq!(launch(&mut device, "k", &[]), [77, 5, 3, 0x10d2, 0x10b5, 1, 4, 9]);
    let array = device.create_array(shape("s16x2", Geometry::A2, [6, 5, 1], 3)).expect("room");
    let sampler = Sampler { address: [AddressMode::Mirror; 3], ..Sampler::default() };
    let bound = Texture { source: Source::Array(array), sampler, integers: true };
    device.bind_texture("t", bound).expect("a texture");
    assert_eq!(launch(&mut device, "k", &[]), [6, 5, 3, 0x10d8, 0x10b2, 0, 1, 3]);

    let mut device = load(&[UNIFIED, ".global .texref t;", &kernel("k", "", &body)].concat());
    let bad = fault(&mut device, "k", &[]);
    assert_eq!(bad, BadTexture::NoAnswer { name: "t".into(), member: "width" });
}

/// A lookup at a coordinate in each of three modes: the bits of three singles.
fn three_lookups(handles: [&str; 3], at: f32) -> String {
    let bits = at.to_bits();
    let one = |n: usize| {
        format!(
            "tex.1d.v4.f32.f32 {{%f1,%f2,%f3,%f4}}, [{}, {{%f0}}]; st.global.f32 [%o+{}], %f1;\n",
            handles[n],
            4 * n
        )
    };
    format!("mov.f32 %f0, 0f{bits:08x};\n") + &(0..3).map(one).collect::<String>()
}

#[test]
fn samplers_of_their_own_say_how_and_the_textures_members_are_ignored() {
    let samplers = "
        .global .texref t = { filter_mode = linear, addr_mode_0 = clamp_to_border, normalized_coords = 1 };
        .global .samplerref near = { filter_mode = nearest, addr_mode_0 = wrap };
        .global .samplerref mean = { filter_mode = linear, addr_mode_0 = clamp_to_edge };
        .global .samplerref counts = { filter_mode = nearest, force_unnormalized_coords = 1 };\n";
    let body = three_lookups(["t, near", "t, mean", "t, counts"], 1.25);
    let query = "txq.filter_mode.b32 %r0, [mean]; txq.force_unnormalized_coords.b32 %r1, [counts];
        txq.addr_mode_0.b32 %r2, [near];
        st.global.u32 [%o+12], %r0; st.global.u32 [%o+16], %r1; st.global.u32 [%o+20], %r2;";
    let mut device = load(&[INDEPENDENT, samplers, &kernel("k", "", &(body + query))].concat());
    let sampler = device.initial_sampler("t").expect("a texture");
    assert!(sampler.normalized && sampler.filter == Filter::Point, "sampling is not the texture's");
    let bound = Texture { source: Source::Array(floats(&device, 4)), sampler, integers: false };
    device.bind_texture("t", bound).expect("a texture");
    // 1.25 wraps to 0.25, the second of four; clamps to the last; and counts texels: the second.
    let [near, mean, counts] = [20f32, 40.0, 20.0].map(f32::to_bits);
    assert_eq!(launch(&mut device, "k", &[]), [near, mean, counts, 1, 1, 0, 0, 0]);
    device
        .bind_sampler("near", Sampler { address: [AddressMode::Mirror; 3], ..Sampler::default() })
        .expect("one");
    assert_eq!(launch(&mut device, "k", &[])[0], 30f32.to_bits(), "back from the end");
}

#[test]
fn normalized_coordinates_filters_and_address_modes_do_what_they_say() {
    let mut device = load(
        &[UNIFIED, ".global .texref a, b, c;", &kernel("k", "", &three_lookups(["a", "b", "c"], 1.25))]
            .concat(),
    );
    let array = floats(&device, 4);
    let plain = Sampler::default();
    let given = |name: &str, sampler: Sampler| {
        let texture = Texture { source: Source::Array(array.clone()), sampler, integers: false };
        device.bind_texture(name, texture).expect("a texture");
    };
    given("a", plain);
    given("b", Sampler { filter: Filter::Linear, ..plain });
    given("c", Sampler { normalized: true, address: [AddressMode::Wrap; 3], ..plain });
    // The second texel; three quarters of the way from the first to the second; a quarter of the whole, once around.
    assert_eq!(launch(&mut device, "k", &[])[..3], [20f32, 17.5, 20.0].map(f32::to_bits));
}

#[test]
fn without_a_value_coordinates_are_as_the_host_says() {
    let device =
        load(&[UNIFIED, ".global .texref t; .global .texref n = { normalized_coords = 1 };"].concat());
    assert!(!device.initial_sampler("t").expect("a texture").normalized);
    assert!(device.initial_sampler("n").expect("a texture").normalized);
    assert!(device.initial_sampler("x").is_none());
}

#[test]
fn tex_variables_are_textures_that_all_kernels_share() {
    let entry = |name: &str| {
        format!(
            ".entry {name} {{ .reg .u32 %r<4>; .reg .f32 %f0; mov.f32 %f0, 0f3fc00000;
             tex.1d.v4.u32.f32 {{%r0,%r1,%r2,%r3}}, [t, {{%f0}}]; st.global.u32 [{name}_result], %r0; exit; }}\n"
        )
    };
    let variables = ".tex .u32 t;\n.global .u32 a_result;\n.global .u32 b_result;\n";
    let device = load(&[".version 1.4\n.target sm_13\n", variables, &entry("a"), &entry("b")].concat());
    device.bind_texture("t", texture(row(&device, 4))).expect("a texture");
    for name in ["a", "b"] {
        device.launch(&Launch::new(name, [1; 3], [1; 3], &[])).expect("it runs");
        let result = device.read_variable(&format!("{name}_result")).expect("a variable");
        assert_eq!(result, [20, 0, 0, 0], "{name}");
    }
}

#[test]
fn a_kernels_parameter_can_be_a_texture() {
    let mut device = load(
        &[UNIFIED, &kernel("k", ", .param .texref t", &(second("t") + "st.global.u32 [%o], %r0;"))].concat(),
    );
    let handle = device.texture_object(texture(row(&device, 4))).expect("a texture");
    assert_eq!(launch(&mut device, "k", &[handle])[0], 20);
}

#[test]
fn a_texture_over_memory_shows_that_memory_and_begins_at_a_multiple_of_16() {
    let fetch = "mov.u32 %r4, 2; tex.1d.v4.u32.s32 {%r0,%r1,%r2,%r3}, [t, {%r4}]; st.global.u32 [%o], %r0;";
    let store = "ld.param.u64 %d0, [b]; mov.u32 %r0, 99; st.global.u32 [%d0+8], %r0;";
    let kernels = [kernel("reads", "", fetch), kernel("writes", ", .param .u64 b", store)].concat();
    let mut device = load(&[UNIFIED, ".global .texref t;", &kernels].concat());
    let address = device.allocate(64).expect("memory");
    let format = Format::parse("u32x1").expect("a format");
    let over = |address, texels| Texture {
        source: Source::Linear { address, texels, format },
        sampler: Sampler::default(),
        integers: true,
    };
    device.bind_texture("t", over(address, 16)).expect("a texture");
    assert_eq!(launch(&mut device, "reads", &[])[0], 0);
    launch(&mut device, "writes", &[address]);
    assert_eq!(launch(&mut device, "reads", &[])[0], 99);
    let misaligned = TextureError::Misaligned { what: "address", value: address + 4, multiple: 16 };
    assert_eq!(device.bind_texture("t", over(address + 4, 4)), Err(misaligned));
    let outside = TextureError::NotAllocated { address, bytes: 68 };
    assert_eq!(device.bind_texture("t", over(address, 17)), Err(outside));
    device.free(address).expect("it was allocated");
    assert_eq!(fault(&mut device, "reads", &[]), BadTexture::Freed { name: "t".into() });
}

#[test]
fn wrong_uses_are_faults_that_name_what_was_used() {
    let two = "mov.f32 %f0, 0f00000000; tex.2d.v4.u32.f32 {%r0,%r1,%r2,%r3}, [t, {%f0,%f0}];";
    let handle = "ld.param.u64 %d0, [h];".to_owned() + &second("%d0");
    let at = |x: i32, ty: &str| format!("mov.u32 %r5, {x}; suld.b.1d.{ty}.trap %r6, [s, {{%r5}}];");
    let source = [
        UNIFIED,
        ".global .texref t; .global .surfref s;",
        &kernel("named", "", &second("t")),
        &kernel("two", "", two),
        &kernel("handle", ", .param .u64 h", &handle),
        &kernel("outside", "", &at(16, "b32")),
        &kernel("between", "", &at(2, "b32")),
        &kernel("surface", "", &at(0, "b32")),
    ]
    .concat();
    let mut device = load(&source);
    let name = String::from;
    assert_eq!(fault(&mut device, "named", &[]), BadTexture::Unbound { name: name("t") });
    assert_eq!(fault(&mut device, "surface", &[]), BadTexture::Unbound { name: name("s") });
    assert_eq!(fault(&mut device, "handle", &[42]), BadTexture::NoHandle { handle: 42, wanted: "a texture" });
    let array = row(&device, 4);
    let surface = device.surface_object(array.clone());
    let kind = fault(&mut device, "handle", &[surface]);
    assert_eq!(kind.to_string(), format!("`handle 0x{surface:x}` is a surface, not a texture"));
    device.bind_texture("t", texture(array.clone())).expect("a texture");
    let geometry = fault(&mut device, "two", &[]);
    assert_eq!(geometry, BadTexture::Geometry { name: name("t"), is: Geometry::D1, wanted: Geometry::D2 });
    device.bind_surface("s", array).expect("a surface");
    let outside = fault(&mut device, "outside", &[]);
    assert_eq!(outside, BadTexture::OutOfRange { name: name("s"), coordinates: vec![16], size: vec![16] });
    assert_eq!(outside.to_string(), "access of surface `s` at (16) is out of range: it has (16)");
    let between = fault(&mut device, "between", &[]);
    assert_eq!(between, BadTexture::Misaligned { name: name("s"), x: 2, bytes: 4 });
    let wrong = device.bind_surface("t", row(&device, 4));
    assert_eq!(wrong.map_err(|error| error.to_string()), Err("`t` is a .texref".to_owned()));
    let missing = device.bind_texture("x", texture(row(&device, 4)));
    assert_eq!(missing, Err(TextureError::NoVariable { name: name("x") }));
}

#[test]
fn samples_of_a_texel_are_fetched_by_their_number() {
    let body = "mov.u32 %r4, 2; mov.u32 %r5, 1; mov.u32 %r6, 0; mov.u32 %r7, 9;
        tex.2dms.v4.u32.s32 {%r0,%r1,%r2,%r3}, [t, {%r4,%r5,%r6,%r6}]; st.global.u32 [%o], %r0;
        tex.2dms.v4.u32.s32 {%r0,%r1,%r2,%r3}, [t, {%r7,%r5,%r6,%r6}]; st.global.u32 [%o+4], %r0;
        txq.num_samples.b32 %r8, [t]; st.global.u32 [%o+8], %r8;";
    let mut device = load(&[UNIFIED, ".global .texref t;", &kernel("k", "", body)].concat());
    let array = device
        .create_array(ArrayDescription { samples: 4, ..shape("u8x1", Geometry::D2Ms, [2, 1, 1], 1) })
        .expect("room");
    array.write(0, &[1, 2, 3, 4, 5, 6, 7, 8]).expect("as many");
    device.bind_texture("t", texture(array)).expect("a texture");
    assert_eq!(launch(&mut device, "k", &[])[..3], [6, 0, 4]);
}

#[test]
fn arrays_that_cannot_be_are_refused_with_the_reason() {
    let device = load(UNIFIED);
    let refused = |shape: ArrayDescription| device.create_array(shape).expect_err("it cannot be").to_string();
    let flat = shape("u8x1", Geometry::D2, [4, 4, 1], 1);
    assert_eq!(refused(ArrayDescription { size: [0, 4, 1], ..flat }), "width: 0 is not from 1 to 131072");
    assert_eq!(
        refused(ArrayDescription { size: [4, u32::MAX, 1], ..flat }),
        "height: 4294967295 is not from 1 to 65536"
    );
    assert_eq!(refused(ArrayDescription { levels: 9, ..flat }), "levels: 9 is not from 1 to 3");
    assert_eq!(
        refused(shape("u8x1", Geometry::Cube, [4, 5, 1], 6)),
        "a cube has square faces, six of them or a multiple: not 4 by 5 by 6"
    );
    let array = device.create_array(flat).expect("room");
    assert_eq!(array.write(0, &[0; 17]), Err(TextureError::TooMuchData { bytes: 16, given: 17 }));
    assert_eq!(array.read(1), Err(TextureError::NoLevel { level: 1, levels: 1 }));
    array.write(0, &[7; 3]).expect("fewer may be");
    assert_eq!(array.read(0).expect("a level")[..5], [7, 7, 7, 0, 0]);
}
