//! Which kernels are compiled without being asked to: those for which it pays.

use softwarp_check::resolve_references;
use softwarp_image::{FunctionId, Unit, lay_out};
use softwarp_jit::{Shape, Wanted, compile};
use softwarp_lower::{Fidelity, Lowering, lower};
use softwarp_syntax::parse;

/// Whether this CPU has code at the level that the environment asks for. On others nothing is compiled.
fn has_code() -> bool {
    #[cfg(target_arch = "x86_64")]
    return softwarp_num::Level::current() != softwarp_num::Level::Baseline
        && std::is_x86_feature_detected!("popcnt");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether each kernel of a module is compiled, and whether it is when asked about its profit.
fn compiled(source: &str) -> Vec<(String, [bool; 2])> {
    let parsed = parse(source);
    let module = &parsed.module;
    let (checked, references, _) = resolve_references(module, source, softwarp_check::Options::default());
    let linked = [Unit { module, checked: &checked }];
    let image = lay_out(&linked, softwarp_image::Options::default()).expect("it fits");
    let units = [Lowering { module, source, checked: &checked, references: &references }];
    let kernels = image.functions.iter().enumerate().filter(|(_, one)| one.entry && one.defined);
    kernels
        .map(|(index, one)| {
            let program =
                lower(&units, &image, FunctionId(index as u32), Fidelity::PTXAS).expect("it can run");
            let is_compiled = |profitable| {
                let wanted = Wanted { masked: false, profitable };
                compile(&program.functions[0], Shape::of([256, 1, 1]), wanted).is_some()
            };
            (one.name.to_string(), [false, true].map(is_compiled))
        })
        .collect()
}

#[test]
fn kernels_of_the_benchmarks_are_compiled_by_themselves() {
    // Streams, trees with barriers, atomics, matrices: compiled code is many times as fast for each.
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/kernels/suite.ptx");
    let kernels = compiled(&std::fs::read_to_string(path).expect("the kernels of the benchmarks"));
    assert!(kernels.len() > 20);
    let expected = [has_code(); 2];
    let others: Vec<_> = kernels.iter().filter(|(_, compiled)| *compiled != expected).collect();
    assert!(others.is_empty(), "compiled, and when asked about its profit: {others:?}");
}

#[test]
fn kernels_that_leave_compiled_code_often_are_interpreted() {
    let kernel = |operation: &str| {
        format!(
            ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k()
{{
    .reg .pred %p; .reg .b32 %r1;
    mov.u32 %r1, 0;
L:  {operation}
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p, %r1, 1000;
    @%p bra L;
    ret;
}}
"
        )
    };
    let can = has_code();
    let of = |operation: &str| compiled(&kernel(operation))[0].1;
    assert_eq!(of(""), [can, can]);
    assert_eq!(of("bar.sync 0;"), [can, can]);
    assert_eq!(of("fence.acq_rel.gpu;"), [can, can]);
    assert_eq!(of("nanosleep.u32 20;"), [can, false]);
}
