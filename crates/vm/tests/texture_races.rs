//! What the sanitizers say about textures and surfaces.

use softwarp_vm::device::{Device, Launch, LoadOptions};
use softwarp_vm::fault::Use::{Read, Write};
use softwarp_vm::sanitize::FindingKind::{Race, StaleTexture, Uninitialised};
use softwarp_vm::sanitize::{Finding, Sanitize};
use softwarp_vm::texture::array::ArrayDescription;
use softwarp_vm::texture::format::Format;
use softwarp_vm::texture::sampler::{Filter, Sampler};
use softwarp_vm::texture::{Source, Texture};

/// What is found in a kernel of this body, with 64 threads, a surface `s` of 64 words, a texture `t` of the same array and
/// a texture `l` of the memory at `%m`, whose second half was never written.
fn found(body: &str) -> Vec<Finding> {
    let source = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.global .surfref s;\n.global .texref t;\n.global .texref l;
        .visible .entry k(.param .u64 m)\n{{
        .reg .pred %p<4>; .reg .b32 %r<16>, %t; .reg .b64 %m, %d<4>; .reg .f32 %f<8>;
        ld.param.u64 %m, [m]; mov.u32 %t, %tid.x; mul.lo.u32 %r0, %t, 4; xor.b32 %r1, %r0, 128; mov.u32 %r2, 0;
        cvt.rn.f32.u32 %f0, %t; mov.f32 %f1, 0f00000000;
        {body} ret; }}"
    );
    let load = Device::load(&[&source], LoadOptions::default());
    let device = load.unwrap_or_else(|error| panic!("{error:?}"));
    let format = Format::parse("f32x1").expect("a format");
    let array = device.create_array(ArrayDescription::plane(format, 64, 1)).expect("room");
    device.bind_surface("s", array.clone()).expect("a surface");
    let sampler = Sampler { filter: Filter::Linear, ..Sampler::default() };
    device.bind_texture("t", Texture { sampler, ..Texture::from(&array) }).expect("a texture");
    let memory = device.allocate_uninitialised(512).expect("memory");
    device.write(memory, &[1; 256]).expect("inside");
    let linear = Source::Linear { address: memory, texels: 128, format };
    device.bind_texture("l", linear.into()).expect("a texture");
    let arguments = [memory.to_le_bytes().to_vec()];
    let launch = Launch { sanitize: Sanitize::ALL, ..Launch::new("k", [1; 3], [64, 1, 1], &arguments) };
    device.launch(&launch).unwrap_or_else(|error| panic!("{error}")).findings
}

#[test]
fn surface_accesses_of_threads_race_unless_a_barrier_is_between() {
    let body = |between: &str| {
        format!(
            "sust.b.2d.b32.trap [s, {{%r0, %r2}}], {{%t}}; {between}
            suld.b.2d.b32.trap {{%r3}}, [s, {{%r1, %r2}}];"
        )
    };
    assert_eq!(found(&body("bar.sync 0;")), []);
    let races = found(&body(""));
    assert!(
        races.iter().any(|it| matches!(it.kind, Race { first: Read, second: Write, across: false, .. })),
        "{races:?}"
    );
    let words = races[0].to_string();
    assert!(words.contains("4 bytes, ") && words.contains(" bytes into `s`"), "{words}");
}

#[test]
fn threads_may_store_the_same_to_a_surface_or_reduce_there() {
    assert_eq!(found("sust.b.2d.b32.trap [s, {%r2, %r2}], {%r2};"), []);
    assert_eq!(found("sured.b.2d.add.u32.trap [s, {%r2, %r2}], %t;"), []);
    let races = found("sust.b.2d.b32.trap [s, {%r2, %r2}], {%t};");
    assert!(matches!(races[0].kind, Race { first: Write, second: Write, across: false, .. }));
}

#[test]
fn a_texture_may_not_see_what_its_launch_has_written() {
    // Between texels 0 and 1, of which only the second is written.
    let body = |x: u32| {
        format!(
            "setp.eq.u32 %p0, %t, 0; mov.u32 %r4, {x}; @%p0 sust.b.2d.b32.trap [s, {{%r4, %r2}}], {{%r2}}; bar.sync 0;
            mov.f32 %f0, 0f3f800000; tex.2d.v4.f32.f32 {{%f2, %f3, %f4, %f5}}, [t, {{%f0, %f1}}];"
        )
    };
    let stale = found(&body(4));
    assert_eq!(stale.iter().map(|it| &it.kind).collect::<Vec<_>>(), [&StaleTexture]);
    assert!(stale[0].other.is_some(), "where it was written");
    assert_eq!(found(&body(8)), [], "another texel");
}

#[test]
fn textures_of_memory_are_looked_at_as_memory_is() {
    let read = "tex.1d.v4.f32.s32 {%f2, %f3, %f4, %f5}, [l, {%r5}];";
    assert_eq!(found(&format!("mov.u32 %r5, %t; {read}")), []);
    let unwritten = found(&format!("add.u32 %r5, %t, 1; {read}"));
    assert_eq!(unwritten.iter().map(|it| &it.kind).collect::<Vec<_>>(), [&Uninitialised]);
    let stale =
        found(&format!("mad.wide.u32 %d0, %t, 4, %m; st.global.u32 [%d0], %t; mov.u32 %r5, %t; {read}"));
    assert_eq!(stale[0].kind, StaleTexture);
}
