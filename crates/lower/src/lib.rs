//! Lowers checked PTX modules to the intermediate representation: a kernel and everything that it can call.
//!
//! A function is lowered in one walk over its statements (`function.rs`). Each instruction becomes operations over
//! virtual registers: `builder.rs` appends them, and a file for each kind of instruction says which. What a mnemonic
//! means is looked up once for a module (`form.rs`). Then come the passes over a whole function: copy propagation
//! (`forward.rs`) and register allocation by linear scan over live ranges (`allocate.rs`). What ptxas does to a program
//! is in `ptxas/`, each pass switchable ([`Fidelity`]).
//!
//! What cannot be executed is refused here, by name and place, all of it at once: a program that is lowered does not
//! stop at an instruction that is not supported.
//!
//! ```
//! use softwarp_image::{FunctionId, Unit};
//! use softwarp_lower::{Fidelity, Lowering, lower};
//!
//! let source = ".version 8.0\n.target sm_90\n.address_size 64\n\
//!     .visible .entry k(.param .u64 out) {\n\
//!     .reg .b64 %rd1; .reg .b32 %r1;\n\
//!     ld.param.u64 %rd1, [out];\n\
//!     mov.u32 %r1, %tid.x;\n\
//!     st.global.u32 [%rd1], %r1;\n\
//!     ret;\n}\n";
//! let parsed = softwarp_syntax::parse(source);
//! let (checked, references, _) = softwarp_check::resolve_references(&parsed.module, source, softwarp_check::Options::default());
//! let unit = Unit { module: &parsed.module, checked: &checked };
//! let image = softwarp_image::lay_out(&[unit], softwarp_image::Options::default()).expect("it fits");
//! let unit = Lowering { module: &parsed.module, source, checked: &checked, references: &references };
//! let program = lower(&[unit], &image, FunctionId(0), Fidelity::PTXAS).expect("all of it is supported");
//! // The launch fills the rows of the parameter and of %tid.x.
//! assert_eq!(program.functions[0].ops[2].to_string(), "st [global d0], r0, bytes=4");
//! ```

mod address;
mod allocate;
mod asynchronous;
mod builder;
mod call;
mod cluster;
mod code;
mod control;
mod defined;
mod form;
mod forward;
mod function;
mod group;
mod matrix;
mod memory;
mod moves;
mod multimem;
mod number_map;
mod operand;
mod parameter;
mod ptxas;
mod registers;
mod scopes;
mod session;
mod special;
mod tensor_core;
mod texture;
mod video;
mod virtuals;
mod warp;

pub use session::{Fidelity, Lowering, Options, Unsupported};
pub use special::find as special_register;

use session::{Session, UnitNames};
use softwarp_image::{FunctionId, Image};
use softwarp_ir::{Function, Program};
use std::cell::OnceCell;

/// Lowers a kernel and everything that it can call.
pub fn lower(
    units: &[Lowering<'_>],
    image: &Image,
    kernel: FunctionId,
    options: impl Into<Options>,
) -> Result<Program, Vec<Unsupported>> {
    let mut session = Session {
        units,
        image,
        windows: image.windows,
        kernel,
        options: options.into(),
        names: units.iter().map(UnitNames::new).collect(),
        of_function: vec![None; image.functions.len()],
        reached: Vec::new(),
        calls_indirectly: false,
        all_tables: false,
        edges: 0,
        unsupported: Vec::new(),
        most_passed: OnceCell::new(),
    };
    session.reach(kernel);
    let mut functions: Vec<Function> = Vec::new();
    while let Some(&function) = session.reached.get(functions.len()) {
        let function = function::lower(&mut session, function);
        functions.push(function);
    }
    // What one function leaves undefined, another may use.
    let undefined = |code: &Function| code.registers.as_ref().is_some_and(|table| !table.origins.is_empty());
    if functions.len() > 1 && session.unsupported.is_empty() && functions.iter().any(undefined) {
        session.all_tables = true;
        for code in functions.iter_mut().filter(|code| code.registers.is_none()) {
            *code = function::lower(&mut session, code.function);
        }
    }
    let Session { of_function, mut unsupported, .. } = session;
    if unsupported.is_empty() {
        return Ok(Program { functions, of_function });
    }
    unsupported.sort_by_key(|one| (one.unit, one.span));
    Err(unsupported)
}
