//! What a module means once it has been checked: its variables and functions, with everything about them
//! settled that the text leaves to rules (PTX ISA sections 5.1 to 5.4, 10.1 to 10.6, 11.1 to 11.6).
//!
//! Later stages (memory layout, execution) read this and the tree's statements; they need not know the rules
//! again. Nothing here is as large as a declared size: an array of a billion elements is one row.

use softwarp_isa::space::opaque::Member;
use softwarp_isa::{Opaque, StateSpace, Target, Type, Version};
use softwarp_syntax::Span;
use softwarp_syntax::tree::{DeclaredType, Linkage, Symbol};

/// A variable: an index into [`CheckedModule::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// A function: an index into [`CheckedModule::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FuncId(pub u32);

/// Whether the driver provides a function of this name: it is declared and defined by no module. The assembler
/// knows these names, and all that begin with `__cuda_syscall`.
pub fn is_provided(name: &str) -> bool {
    name.starts_with("__cuda_syscall") || PROVIDED.contains(&name)
}

/// The names, beside those of system calls: output, the heap and assertions, and what kernels use to launch kernels
/// and graphs.
const PROVIDED: &[&str] = &[
    "__assertfail",
    "__profile",
    "cnpCtxSynchronize",
    "cnpDeviceGetAttribute",
    "cnpDeviceGetName",
    "cnpEventCreate",
    "cnpEventDestroy",
    "cnpEventRecord",
    "cnpFuncGetAttribute",
    "cnpGetCacheConfig",
    "cnpGetDevice",
    "cnpGetDeviceCount",
    "cnpGetLastError",
    "cnpGetLimit",
    "cnpGetParameterBuffer",
    "cnpGetParameterBufferV2",
    "cnpGetSharedMemConfig",
    "cnpLaunchDevice",
    "cnpLaunchDeviceV2",
    "cnpSetLastError",
    "cnpStreamCreate",
    "cnpStreamDestroy",
    "cnpStreamWaitEvent",
    "cudaFabricOpErrorStatusCount",
    "cudaFabricOpErrorStatusGet",
    "cudaGraphKernelNodeSetEnabled",
    "cudaGraphKernelNodeSetGridDim",
    "cudaGraphKernelNodeSetParam",
    "cudaGraphKernelNodeUpdatesApply",
    "cudaGraphLaunch",
    "cudaGraphSetConditional",
    "cudaSubgridScheduleManageWarpSpecializedWorkspaceAndDependencies",
    "cudaSubgridSynchronousWorkspaceAdvanceWorkset",
    "cudaSubgridSynchronousWorkspaceCompleteAndFetchWorkItem",
    "cudaSubgridSynchronousWorkspaceGetWorksetUserData",
    "cudaSubgridSynchronousWorkspaceInitialize",
    "cudaSubgridWarpSpecializedWorkspaceAdvanceWorkset",
    "cudaSubgridWarpSpecializedWorkspaceCompleteWorkItem",
    "cudaSubgridWarpSpecializedWorkspaceFetchWorkItem",
    "cudaSubgridWarpSpecializedWorkspaceGetWorksetUserData",
    "cudaSubgridWarpSpecializedWorkspaceInitialize",
    "cudaSubgridWarpSpecializedWorkspaceWaitOnWorkItemDependencies",
    "free",
    "malloc",
    "vprintf",
];

/// What the module says about itself (sections 11.1.1 to 11.1.4), settled: where a directive is missing or
/// wrong, what the assembler would have assumed.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// `.version`
    pub version: Version,
    /// Where the number stands, if there is one.
    pub version_span: Option<Span>,
    /// The architecture that `.target` names; the one that was asked for if it names none.
    pub target: Target,
    /// The architecture to assemble for: the one that was asked for, else the module's.
    pub arch: Target,
    /// Where `.target` stands, if it does.
    pub target_span: Option<Span>,
    /// Textures and samplers are separate (`texmode_independent`).
    pub independent_textures: bool,
    /// `.f64` instructions become `.f32` ones (`map_f64_to_f32`).
    pub f64_as_f32: bool,
    /// `debug`
    pub debug: bool,
    /// Bits in an address: 32 or 64.
    pub address_bits: u32,
}

impl Header {
    /// Bytes in an address: 4 or 8.
    pub fn address_bytes(&self) -> u64 {
        u64::from(self.address_bits / 8)
    }
}

/// A checked module.
#[derive(Debug)]
pub struct CheckedModule {
    /// Version, target, address size.
    pub header: Header,
    /// Every variable: module scope, parameters and locals, in the order of their declarations.
    pub variables: Vec<Variable>,
    /// Every function, in the order of their first declarations.
    pub functions: Vec<Function>,
    /// `.alias`: further names of functions, each with the function that has the body. What calls or uses an alias
    /// names a function of its own in [`CheckedModule::functions`], defined but without a body.
    pub aliases: Vec<(Symbol, FuncId)>,
}

impl CheckedModule {
    /// Nothing but a header.
    pub(crate) fn empty(header: Header) -> CheckedModule {
        CheckedModule { header, variables: Vec::new(), functions: Vec::new(), aliases: Vec::new() }
    }

    /// A variable.
    pub fn variable(&self, id: VarId) -> &Variable {
        &self.variables[id.0 as usize]
    }

    /// A function.
    pub fn function(&self, id: FuncId) -> &Function {
        &self.functions[id.0 as usize]
    }
}

/// Where a variable is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableKind {
    /// At module scope.
    Module,
    /// In a function's body.
    Local,
    /// Input parameter of a kernel.
    KernelParameter,
    /// Input parameter of a device function.
    Parameter,
    /// Return parameter of a device function.
    Return,
}

/// A variable, or a family of them (`%r<10>`).
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name; of a family, what stands before `<`.
    pub name: Symbol,
    /// The state space.
    pub space: StateSpace,
    /// `.const[3]`
    pub bank: Option<u8>,
    /// The type of an element.
    pub ty: DeclaredType,
    /// Elements in a vector: 1 for a scalar, else 2, 4 or 8.
    pub vector: u8,
    /// Sizes of the array's dimensions, outermost first; none for a scalar. The outermost is 0 if the array is
    /// [`Variable::open`].
    pub dimensions: Box<[u64]>,
    /// An array without a size (`x[]`): another module, or the launch, gives it.
    pub open: bool,
    /// In bytes, a power of two: what `.align` says, at least what the type needs.
    pub alignment: u64,
    /// `<10>`: how many the family has.
    pub count: Option<u32>,
    /// What it holds at first; `None` for one without an initialiser.
    pub initialiser: Option<Box<Initialiser>>,
    /// `.extern` and the like.
    pub linkage: Option<Linkage>,
    /// `.attribute(…)`
    pub attributes: Attributes,
    /// `.ptr`, of a kernel's parameter.
    pub pointer: Option<Pointer>,
    /// Where it is declared.
    pub kind: VariableKind,
    /// The function that it belongs to, unless it is at module scope.
    pub function: Option<FuncId>,
    /// The declared name's place in the text.
    pub span: Span,
    /// The function that used it last; `None` while none has.
    pub user: Option<FuncId>,
}

impl Variable {
    /// The type, unless it is opaque.
    pub fn value_type(&self) -> Option<Type> {
        match self.ty {
            DeclaredType::Value(ty) => Some(ty),
            DeclaredType::Opaque(_) => None,
        }
    }

    /// The opaque type, if it is one.
    pub fn opaque(&self) -> Option<Opaque> {
        match self.ty {
            DeclaredType::Opaque(opaque) => Some(opaque),
            DeclaredType::Value(_) => None,
        }
    }

    /// The type with the array's dimensions, as people would write it: `` `.v4 .f32[2][]` ``. Of very many
    /// dimensions the first ones.
    pub fn described(&self) -> String {
        let mut text = String::from("`");
        if self.vector > 1 {
            text.push_str(&format!(".v{} ", self.vector));
        }
        match self.ty {
            DeclaredType::Value(ty) => text.push_str(&format!(".{ty}")),
            DeclaredType::Opaque(opaque) => text.push_str(&opaque.to_string()),
        }
        for (index, size) in self.dimensions.iter().take(8).enumerate() {
            match (index, self.open) {
                (0, true) => text.push_str("[]"),
                _ => text.push_str(&format!("[{size}]")),
            }
        }
        text.push('`');
        text
    }

    /// Whether it is an array.
    pub fn is_array(&self) -> bool {
        self.open || !self.dimensions.is_empty()
    }

    /// Bytes of one element (a vector counts as one): 0 for predicates.
    pub fn element_bytes(&self) -> u64 {
        match self.ty {
            DeclaredType::Value(Type::Pred) => 0,
            DeclaredType::Value(ty) => u64::from(ty.register_type().bits() / 8) * u64::from(self.vector),
            DeclaredType::Opaque(_) => 8,
        }
    }

    /// Bytes of the whole (of one of a family), exactly; 0 for an open array. `None` from 2^63 on.
    pub fn size(&self) -> Option<u64> {
        if self.open || self.dimensions.contains(&0) {
            return Some(0);
        }
        let size =
            self.dimensions.iter().try_fold(self.element_bytes(), |bytes, &size| bytes.checked_mul(size));
        size.filter(|&size| size < 1 << 63)
    }

    /// Bytes of the whole (of one of a family) as the assembler counts them; 0 for an open array. It counts bits
    /// in 64 bits, so huge sizes wrap: [`Variable::size`] is the truth.
    pub fn bytes(&self) -> u64 {
        if self.open {
            return 0;
        }
        const MOST: u64 = u64::MAX / 8;
        self.dimensions.iter().fold(self.element_bytes(), |bytes, &size| bytes.wrapping_mul(size)) & MOST
    }
}

/// `.attribute(.managed, .unified(1, 2))`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `.managed`
    pub managed: bool,
    /// `.unified(upper, lower)`. Rare, so it takes its room elsewhere.
    pub unified: Option<Box<(u64, u64)>>,
}

/// `.ptr .global .align 16`: what a kernel's parameter points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The space; generic without one.
    pub space: Option<StateSpace>,
    /// As written; 0 without one.
    pub alignment: u32,
}

/// What a variable holds at first: zero, but for this.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Initialiser {
    /// The bytes that are given, in order; no two runs touch. Where an address goes, a run has zeros.
    pub runs: Vec<Run>,
    /// Addresses to put over the bytes, in order.
    pub addresses: Vec<Address>,
    /// The members that are given of an opaque variable, in the order of the text.
    pub fields: Vec<Field>,
}

impl Initialiser {
    /// Drops what goes past the end of a variable of a given number of bytes.
    pub(crate) fn clip(&mut self, size: u64) {
        self.runs.retain(|run| run.at < size);
        if let Some(run) = self.runs.last_mut() {
            run.bytes.truncate(usize::try_from(size - run.at).unwrap_or(usize::MAX));
        }
    }

    /// Puts bytes behind everything that was put before.
    pub(crate) fn put(&mut self, at: u64, bytes: &[u8]) {
        match self.runs.last_mut() {
            Some(run) if run.end() == at => run.bytes.extend(bytes),
            _ => self.runs.push(Run { at, bytes: bytes.to_vec() }),
        }
    }
}

/// Bytes of a variable that follow one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where they begin, in bytes from the start of the variable.
    pub at: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Run {
    /// The offset behind the last byte.
    pub fn end(&self) -> u64 {
        self.at.saturating_add(self.bytes.len() as u64)
    }
}

/// A member of an opaque variable, as its initialiser gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Which element of an array, counted through all of its dimensions; 0 for a variable that is none.
    pub element: u64,
    /// The member.
    pub member: Member,
    /// What it holds. The assembler does not look whether that makes sense for the member.
    pub value: FieldValue,
}

/// What a member of an opaque variable holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// An integer's 64 bits. Floating-point numbers make no sense here but pass: the bits of them, 32 of a `0f…`
    /// literal, else 64.
    Number(u64),
    /// A word of [`softwarp_isa::space::opaque::FILTER_MODES`] or
    /// [`softwarp_isa::space::opaque::ADDRESS_MODES`].
    Word(&'static str),
}

/// What an address in an initialiser is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressee {
    /// A variable; of a family, that one.
    Variable(VarId, Option<u32>),
    /// A function.
    Function(FuncId),
}

/// An address in an initialiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Address {
    /// Where it goes, in bytes from the start of the variable.
    pub at: u64,
    /// How many bytes it takes there.
    pub size: u8,
    /// What the address is of.
    pub of: Addressee,
    /// Bytes added to it.
    pub offset: i64,
    /// Converted to a generic address.
    pub generic: bool,
    /// Only this byte of it: `0xff00(x)` stores the second. The mask as written.
    pub mask: Option<u64>,
}

/// An `.entry` or `.func`, with all of its declarations taken together.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: Symbol,
    /// Whether it is a kernel.
    pub entry: bool,
    /// `.extern` and the like.
    pub linkage: Option<Linkage>,
    /// Input parameters.
    pub parameters: Vec<VarId>,
    /// Return parameters.
    pub returns: Vec<VarId>,
    /// `.attribute(…)`
    pub attributes: Attributes,
    /// `.noreturn`
    pub noreturn: bool,
    /// The numbers of `.abi_preserve` and `.abi_preserve_control`.
    pub preserved: [Option<u64>; 2],
    /// Whether a body was seen.
    pub defined: bool,
    /// Variables of the body.
    pub locals: Vec<VarId>,
    /// Variables at module scope that its body uses, each once (at least in a row).
    pub uses: Vec<VarId>,
    /// Whether anything calls it or takes its address.
    pub referenced: bool,
    /// Functions that its body names, in the order of the text.
    pub calls: Vec<FuncId>,
    /// Whether its body calls through a register or a table of functions.
    pub calls_indirectly: bool,
    /// Whether its name stands in an initialiser, in a list of call targets, or in an instruction, other than as
    /// what a `call` names to be called: it may then be called from anywhere.
    pub address_taken: bool,
    /// The first instructions of its body with `.cta_group::1` and `.cta_group::2`.
    pub cta_groups: [Option<Span>; 2],
    /// Which item of the module has the body (or, without one, the first declaration).
    pub item: u32,
    /// The name's place in the text.
    pub span: Span,
}
