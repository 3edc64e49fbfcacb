//! What is known of a kernel: its arguments, and the shapes that it can have.

/// The dimensions of a CTA and a grid that a kernel can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimensions {
    One,
    Two,
    Three,
    /// Any of them: the kernel numbers its threads itself.
    Any,
    /// One shape of CTAs, in a grid of two dimensions.
    Block([u32; 2]),
}

/// What a kernel's argument is.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A buffer of elements of a kind.
    Buffer(String),
    /// A number that depends on the shape: `n`, `w`, `h`, `d`, `s` or `k`.
    Size(char),
    Integer(i64),
    Float(f32),
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub name: String,
    /// The file that it is in, without its extension.
    pub file: String,
    pub arguments: Vec<Argument>,
    pub dimensions: Dimensions,
    /// The most threads of a CTA.
    pub most: u32,
    /// The number of threads of a CTA is a power of two.
    pub power_of_two: bool,
    /// It is a multiple of 32.
    pub warps: bool,
    /// Dynamic shared memory, in bytes for each thread.
    pub shared: u32,
    /// Its buffers may begin this many bytes later.
    pub shift: u64,
    /// Its output may be its first input.
    pub alias: bool,
    /// It is meant to fault.
    pub faults: bool,
}

impl Kernel {
    /// A kernel that numbers its threads itself, and has no other needs.
    pub fn of_any_shape(name: &str) -> Kernel {
        Kernel {
            name: name.to_owned(),
            file: String::new(),
            arguments: Vec::new(),
            dimensions: Dimensions::Any,
            most: 1024,
            power_of_two: false,
            warps: false,
            shared: 0,
            shift: 0,
            alias: false,
            faults: false,
        }
    }
}
