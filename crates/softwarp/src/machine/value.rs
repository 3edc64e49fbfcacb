//! What goes to a machine and comes back: elements, buffers of them, arguments of kernels, sizes of grids.

use super::{Error, vm};
use crate::tensor::Map;
use crate::tensor::object::encode;
use std::marker::PhantomData;

/// What memory of a device can hold elements of.
pub trait Element: Copy {
    /// Its bytes.
    const BYTES: usize;
    /// Appends it, least significant byte first.
    fn put(self, bytes: &mut Vec<u8>);
    /// Reads it from that many bytes; zeros for those that are not there.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! elements {
    ($($element:ty),*) => {$(
        impl Element for $element {
            const BYTES: usize = size_of::<$element>();
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> $element {
                let mut exactly = [0; size_of::<$element>()];
                exactly.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                <$element>::from_le_bytes(exactly)
            }
        }

        impl From<$element> for Argument {
            fn from(value: $element) -> Argument {
                Argument::Bytes(value.to_le_bytes().to_vec())
            }
        }
    )*};
}

elements!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// The bytes of elements.
pub(super) fn bytes_of<T: Element>(elements: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(elements.len() * T::BYTES);
    elements.iter().for_each(|element| element.put(&mut bytes));
    bytes
}

/// Elements from bytes.
pub(super) fn elements_of<T: Element>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks(T::BYTES).map(T::get).collect()
}

/// An argument of a kernel: numbers, buffers, handles and tensor maps become one by `into()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// An address, as wide as the module's.
    Address(u64),
    /// The bytes of a parameter.
    Bytes(Vec<u8>),
}

impl Argument {
    /// A struct of a given number of bytes, with members at these places and zeros elsewhere.
    ///
    /// ```
    /// use softwarp::machine::Argument;
    ///
    /// let pair = Argument::packed(12, &[(0, 7u32.into()), (8, 1.0f32.into())])?;
    /// assert_eq!(pair, Argument::Bytes(vec![7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 63]));
    /// # Ok::<(), softwarp::machine::Error>(())
    /// ```
    pub fn packed(bytes: usize, members: &[(usize, Argument)]) -> Result<Argument, Error> {
        let mut whole = vec![0; bytes];
        for (at, member) in members {
            let member = match member {
                Argument::Bytes(bytes) => bytes.clone(),
                Argument::Address(address) => address.to_le_bytes().to_vec(),
            };
            let room = whole.get_mut(*at..at.saturating_add(member.len()));
            room.ok_or(Error::Member { at: *at, bytes })?.copy_from_slice(&member);
        }
        Ok(Argument::Bytes(whole))
    }

    /// Its bytes as those of a parameter: an address has four where the parameter has, in a module of 32 bits.
    fn fit(&self, narrow: bool) -> Vec<u8> {
        match self {
            Argument::Bytes(bytes) => bytes.clone(),
            Argument::Address(address) => match u32::try_from(*address) {
                Ok(address) if narrow => address.to_le_bytes().to_vec(),
                _ => address.to_le_bytes().to_vec(),
            },
        }
    }
}

/// The bytes of a kernel's arguments.
pub(super) fn fit(module: &vm::device::Module, kernel: &str, arguments: &[Argument]) -> Vec<Vec<u8>> {
    let image = &module.image;
    let named = image.functions.iter().find(|function| function.entry && &*function.name == kernel);
    let parameters = named.map_or(&[][..], |function| &function.parameters);
    let narrow = |index: usize| parameters.get(index).is_some_and(|&id| image.object(id).total() == 4);
    arguments.iter().enumerate().map(|(index, argument)| argument.fit(narrow(index))).collect()
}

impl From<&Map> for Argument {
    fn from(map: &Map) -> Argument {
        Argument::Bytes(encode(map).to_vec())
    }
}

impl<T> From<&Buffer<T>> for Argument {
    fn from(buffer: &Buffer<T>) -> Argument {
        Argument::Address(buffer.address)
    }
}

/// What stands for a texture, a surface or a sampler in a kernel's registers: an argument of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(pub(super) u64);

impl Handle {
    /// The number itself.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl From<Handle> for Argument {
    fn from(handle: Handle) -> Argument {
        handle.0.into()
    }
}

/// Memory of a device that holds elements of one type.
#[derive(Debug)]
pub struct Buffer<T> {
    pub(super) address: u64,
    pub(super) length: usize,
    pub(super) of: PhantomData<T>,
}

impl<T> Buffer<T> {
    /// Its first address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// Sizes in up to three dimensions: `4`, `(4, 2)` or `(4, 2, 1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub [u32; 3]);

impl From<u32> for Size {
    fn from(x: u32) -> Size {
        Size([x, 1, 1])
    }
}

impl From<(u32, u32)> for Size {
    fn from((x, y): (u32, u32)) -> Size {
        Size([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Size {
    fn from((x, y, z): (u32, u32, u32)) -> Size {
        Size([x, y, z])
    }
}

impl From<[u32; 3]> for Size {
    fn from(sizes: [u32; 3]) -> Size {
        Size(sizes)
    }
}
