//! Tensor maps (driver API: "Tensor Map Object Management").

use crate::code::{Code, Done, ensure};
use crate::driver::driver;
use crate::ffi::{In, Out};
use softwarp::tensor::object::{SIZE, encode};
use softwarp::tensor::{
    Access, Description, Element, Fill, Interleave, Map, Promotion, Swizzle, Target, WideMode,
};

/// What all functions take, in their order.
struct Common {
    element: u32,
    rank: u32,
    address: u64,
    dims: In<u64>,
    strides: In<u64>,
    element_strides: In<u32>,
    interleave: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
}

/// The targets whose rules hold, of which one is enough: a GPU that has features of its own has them here, and maps are made
/// for code for newer ones if that is loaded.
fn targets() -> Result<Vec<Target>, Code> {
    let config = &driver()?.config;
    let newer = ["sm_100a", "sm_120a"].into_iter().filter(|_| config.takes_newer);
    Ok([config.arch].into_iter().chain(newer.filter_map(Target::from_name)).collect())
}

impl Common {
    /// The number of dimensions.
    fn rank(&self) -> Result<usize, Code> {
        ensure((1..=5).contains(&self.rank), Code::INVALID_VALUE)?;
        Ok(self.rank as usize)
    }

    fn describe(&self, access: Access) -> Result<Description, Code> {
        let rank = self.rank()?;
        let bad = Code::INVALID_VALUE;
        ensure(!self.strides.is_null(), bad)?;
        Ok(Description {
            element: Element::from_driver(self.element).ok_or(bad)?,
            address: self.address,
            dims: self.dims.all(rank)?,
            strides: self.strides.all(rank - 1)?,
            element_strides: self.element_strides.all(rank)?,
            interleave: Interleave::from_driver(self.interleave).ok_or(bad)?,
            swizzle: Swizzle::from_driver(self.swizzle).filter(|&it| it != Swizzle::B96).ok_or(bad)?,
            promotion: Promotion::from_driver(self.promotion).ok_or(bad)?,
            fill: Fill::from_driver(self.fill).ok_or(bad)?,
            access,
        })
    }
}

/// Checks a description and writes the map.
fn write(to: Out<[u8; SIZE]>, description: &Description) -> Done {
    let map = targets()?.into_iter().find_map(|target| Map::new(description, target).ok());
    let map = map.ok_or(Code::INVALID_VALUE)?;
    to.set(encode(&map))
}

crate::entries! {
    /// A tensor map for boxes.
    fn cuTensorMapEncodeTiled(
        to: Out<[u8; SIZE]>, element: u32, rank: u32, address: u64, dims: In<u64>, strides: In<u64>,
        box_dims: In<u32>, element_strides: In<u32>, interleave: u32, swizzle: u32, promotion: u32, fill: u32,
    ) {
        driver()?;
        to.required()?;
        let common = Common {
            element, rank, address, dims, strides, element_strides, interleave, swizzle, promotion, fill,
        };
        let box_dims = box_dims.all(common.rank()?)?;
        write(to, &common.describe(Access::Tiled { box_dims })?)
    }

    /// A tensor map for columns of pixels.
    fn cuTensorMapEncodeIm2col(
        to: Out<[u8; SIZE]>, element: u32, rank: u32, address: u64, dims: In<u64>, strides: In<u64>,
        lower: In<i32>, upper: In<i32>, channels: u32, pixels: u32, element_strides: In<u32>, interleave: u32,
        swizzle: u32, promotion: u32, fill: u32,
    ) {
        driver()?;
        to.required()?;
        let common = Common {
            element, rank, address, dims, strides, element_strides, interleave, swizzle, promotion, fill,
        };
        let corners = common.rank()?.checked_sub(2).filter(|&it| it != 0).ok_or(Code::INVALID_VALUE)?;
        let (lower, upper) = (lower.all(corners)?, upper.all(corners)?);
        write(to, &common.describe(Access::Im2col { lower, upper, channels, pixels })?)
    }

    /// A tensor map for columns of pixels along W.
    fn cuTensorMapEncodeIm2colWide(
        to: Out<[u8; SIZE]>, element: u32, rank: u32, address: u64, dims: In<u64>, strides: In<u64>,
        lower: i32, upper: i32, channels: u32, pixels: u32, element_strides: In<u32>, interleave: u32, mode: u32,
        swizzle: u32, promotion: u32, fill: u32,
    ) {
        driver()?;
        to.required()?;
        let common = Common {
            element, rank, address, dims, strides, element_strides, interleave, swizzle, promotion, fill,
        };
        let mode = WideMode::from_driver(mode).ok_or(Code::INVALID_VALUE)?;
        write(to, &common.describe(Access::Wide { mode, lower, upper, channels, pixels })?)
    }

    /// Gives a tensor map another address.
    fn cuTensorMapReplaceAddress(map: Out<[u8; SIZE]>, address: u64) {
        let targets = targets()?;
        map.required()?;
        ensure(address != 0, Code::INVALID_VALUE)?;
        let object = map.get()?;
        let old = targets.into_iter().find_map(|target| Map::from_object(&object, target).ok());
        let old = old.ok_or(Code::INVALID_VALUE)?;
        write(map, &Description { address, ..old.describe() })
    }
}
