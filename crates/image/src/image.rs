//! The result: variables and functions with their places.
//!
//! An object is a variable, or a family of them (`%r<10>`), of any state space: registers have no offset, all
//! others one that counts from the start of what they live in, which [`Object::offset`] explains.

use crate::contents::Contents;
use crate::window::Windows;
use softwarp_check::checked::{Attributes, Field, FuncId, Header, Pointer, VarId, VariableKind};
use softwarp_isa::{Opaque, StateSpace, Type};
use softwarp_syntax::tree::{DeclaredType, Linkage};
use softwarp_syntax::{Diagnostic, Span};

/// How many banks constant memory has: 0 is the module's own, the others are provided when it runs.
pub const BANKS: usize = 11;

/// Bytes of a bank of constant memory.
pub const BANK_BYTES: u64 = 0x1_0000;

/// An object: an index into [`Image::objects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

/// A function: an index into [`Image::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// How much memory something takes, and how it must be aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The size in bytes.
    pub bytes: u64,
    /// In bytes, a power of two.
    pub alignment: u64,
}

impl Default for Extent {
    fn default() -> Extent {
        Extent { bytes: 0, alignment: 1 }
    }
}

/// Modules, linked and laid out.
#[derive(Debug)]
pub struct Image {
    /// Version, target and address size: the first module's.
    pub header: Header,
    /// Where the state spaces are. A device that loads several images gives each its own windows for variables,
    /// constants and functions.
    pub windows: Windows,
    /// Every variable, module by module in the order of the text. What one module declares and another defines
    /// is one object, the definition's.
    pub objects: Vec<Object>,
    /// Every function, likewise.
    pub functions: Vec<Function>,
    /// What `.global` variables and handles take together.
    pub global: Extent,
    /// What the variables of each bank of `.const` take.
    pub constant: [Extent; BANKS],
    /// What `.local` variables at module scope take of each thread's memory, below all frames (PTX before 3.0).
    pub thread: Extent,
    /// What `.tex` variables take: one handle each.
    pub texture: Extent,
    /// What is odd about the modules together, and no error.
    pub warnings: Vec<Diagnostic>,
    /// Whether there are red zones between variables.
    pub red_zones: bool,
    pub(crate) names: Vec<UnitNames>,
}

/// What a module's ids came to.
#[derive(Debug)]
pub(crate) struct UnitNames {
    pub(crate) objects: Vec<ObjectId>,
    pub(crate) functions: Vec<FunctionId>,
}

impl Image {
    /// An object.
    pub fn object(&self, id: ObjectId) -> &Object {
        &self.objects[id.0 as usize]
    }

    /// A function.
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    /// What a module's variable came to.
    pub fn object_of(&self, unit: u32, variable: VarId) -> ObjectId {
        self.names[unit as usize].objects[variable.0 as usize]
    }

    /// What a module's function came to.
    pub fn function_of(&self, unit: u32, function: FuncId) -> FunctionId {
        self.names[unit as usize].functions[function.0 as usize]
    }

    /// The kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|function| function.entry)
    }
}

/// A variable, or a family of them, and its place.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its name; of a family, what stands before `<`.
    pub name: Box<str>,
    /// The module that defines it.
    pub unit: u32,
    /// Its name's place in that module.
    pub span: Span,
    /// Where it lives.
    pub space: StateSpace,
    /// Which bank of `.const`; 0 for everything else.
    pub bank: u8,
    /// The type of an element.
    pub ty: DeclaredType,
    /// Elements in a vector: 1 for a scalar, else 2, 4 or 8.
    pub vector: u8,
    /// Bytes of an element, a vector's components counted together; 0 for predicates.
    pub element: u64,
    /// Sizes of the array's dimensions, outermost first; none for a scalar. The outermost is 0 if the array is
    /// [`Object::open`].
    pub dimensions: Box<[u64]>,
    /// An array without a size: the launch, the driver or another module gives it.
    pub open: bool,
    /// In bytes, a power of two.
    pub alignment: u64,
    /// Bytes of the whole, of a family of one member; 0 if it is open, or a predicate.
    pub size: u64,
    /// `<10>`: how many the family has.
    pub count: Option<u32>,
    /// Where it begins: in `.global`, `.const` (its bank), `.tex` and `.shared` from the start of that memory;
    /// in `.local` from the start of its function's frame, at module scope from the start of the thread's
    /// memory; in `.param` from the start of its function's parameters, return values or, in a body, arguments.
    /// `None` for registers, for what is defined elsewhere, and for an open array of `.shared` that begins
    /// elsewhere in each kernel ([`Function::dynamic_offset`]).
    pub offset: Option<u64>,
    /// What it holds at first; `None` without an initialiser: zero in `.global` and `.const`, anything elsewhere.
    pub contents: Option<Contents>,
    /// The addresses in it, by offset.
    pub relocations: Vec<Relocation>,
    /// The members of an opaque variable that were given.
    pub fields: Vec<Field>,
    /// `.extern` and the like.
    pub linkage: Option<Linkage>,
    /// `.attribute(…)`
    pub attributes: Attributes,
    /// `.ptr`, of a kernel's parameter.
    pub pointer: Option<Pointer>,
    /// Where it is declared.
    pub kind: VariableKind,
    /// The function that it belongs to, unless it is at module scope.
    pub function: Option<FunctionId>,
}

impl Object {
    /// From one member of a family to the next; the size rounded up to the alignment.
    pub fn stride(&self) -> u64 {
        self.size.next_multiple_of(self.alignment)
    }

    /// Bytes of all members together.
    pub fn total(&self) -> u64 {
        match self.count {
            None => self.size,
            Some(0) => 0,
            Some(count) => self.stride().saturating_mul(u64::from(count) - 1).saturating_add(self.size),
        }
    }

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

    /// Whether it is declared at module scope.
    pub fn is_at_module_scope(&self) -> bool {
        self.kind == VariableKind::Module
    }

    /// What a kernel's pointer parameter points to is aligned to this: as `.ptr` says, else 4 (section 5.1.6.3).
    /// `None` without `.ptr`.
    pub fn pointed_alignment(&self) -> Option<u64> {
        let given = u64::from(self.pointer?.alignment);
        Some(if given == 0 { 4 } else { given })
    }

    /// An array of `.shared` whose size the launch gives. A kernel's lie over one another, each from
    /// [`Function::dynamic_offset`] on.
    pub fn is_dynamic_shared(&self) -> bool {
        self.space == StateSpace::Shared && self.open
    }
}

/// What an address is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// An object; of a family, that member.
    Object(ObjectId, Option<u32>),
    /// A function.
    Function(FunctionId),
}

/// How an address is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The generic address. In `.global` it is also the address in its own space.
    Generic,
    /// The address in the variable's own state space.
    Offset,
    /// The address of a function's first instruction.
    Function,
}

impl Kind {
    /// `generic`, `offset` or `function`.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Generic => "generic",
            Kind::Offset => "offset",
            Kind::Function => "function",
        }
    }
}

/// An address that goes into a variable once memory has been placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Where it goes, in bytes from the start of the variable.
    pub offset: u64,
    /// How many bytes it takes there.
    pub width: u8,
    /// What the address is of.
    pub target: Target,
    /// Bytes added to it.
    pub addend: i64,
    /// Whether it is generic, in a state space, or of a function.
    pub kind: Kind,
    /// Only this byte of it, 0 the lowest: `0xff00(x)` stores byte 1.
    pub byte: Option<u8>,
    /// Whether it is in the bytes already. In a whole program the places of constants in their bank are final, so
    /// their offsets are; addresses of everything else wait for the memory to be placed.
    pub applied: bool,
}

impl Function {
    /// Bytes of `.local` memory that a call of it takes at most if recursions go a given number of rounds deep.
    pub fn stack_at(&self, rounds: u64) -> u64 {
        self.stack.saturating_add(self.recursion.saturating_mul(rounds.saturating_sub(1)))
    }

    /// Where an array of `.shared` without size begins in a kernel: behind its other variables, at the next
    /// multiple of the array's own alignment, as an H200 has it.
    pub fn dynamic_offset(&self, array: &Object) -> u64 {
        self.shared.bytes.next_multiple_of(array.alignment)
    }
}

/// A kernel or device function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: Box<str>,
    /// The module that defines it.
    pub unit: u32,
    /// What that module calls it.
    pub id: FuncId,
    /// Its name's place in that module.
    pub span: Span,
    /// Whether it is a kernel.
    pub entry: bool,
    /// Whether there is a body.
    pub defined: bool,
    /// `.extern` and the like.
    pub linkage: Option<Linkage>,
    /// `.attribute(…)`
    pub attributes: Attributes,
    /// Input parameters, and what they take.
    pub parameters: Vec<ObjectId>,
    /// What the input parameters take together. A kernel's are passed in one block of this size.
    pub parameter_extent: Extent,
    /// Return parameters.
    pub returns: Vec<ObjectId>,
    /// The size and alignment of the return parameters together.
    pub return_extent: Extent,
    /// Variables of the body, of all state spaces.
    pub locals: Vec<ObjectId>,
    /// What the `.local` variables of one call take.
    pub frame: Extent,
    /// What the `.param` variables of the body, the arguments of its calls, take.
    pub arguments: Extent,
    /// Functions that it names, each once.
    pub calls: Vec<FunctionId>,
    /// Bytes of `.local` memory that a call of it takes at most, callees included, if every function of a
    /// recursion is active once.
    pub stack: u64,
    /// Bytes that every further round of its recursions takes at most.
    pub recursion: u64,
    /// Whether a call of it may lead to a call of a function that is still active.
    pub recursive: bool,
    /// Whether it, or something that it calls, calls through pointers. Every function whose address is taken
    /// then counts as called.
    pub indirect: bool,
    /// What the `.shared` variables that it can reach take, where they lie. Of kernels only.
    pub shared: Extent,
    /// Where the first of the arrays of `.shared` without size begins, if it can reach one. Of kernels only.
    pub dynamic_shared: Option<u64>,
    /// Bytes of that memory which are red zones: what it would take less without them. Of kernels only.
    pub shared_zones: u64,
    /// The `.shared` variables that it can reach; `None` if any may be among them. Of kernels only.
    pub shared_objects: Option<Vec<ObjectId>>,
}
