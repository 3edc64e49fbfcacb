//! Launches of kernels, and tensor maps for them.

use super::{Done, Driver, Function, call};
use crate::error::DriverError;
use crate::job;
use crate::raw::{LaunchAttribute, LaunchConfig, TensorMapObject};
use std::ffi::c_void;
use std::ptr::null_mut;

/// The most bytes of a kernel's parameters, and so the most parameters.
const MOST_PARAMETERS: usize = 1 << 15;
/// The most dimensions of a tensor map that are passed on; there are five.
const MOST_RANK: usize = 8;

/// How a kernel is launched.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// All CTAs are there at once.
    pub cooperative: bool,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
}

impl Driver {
    /// A tensor map of a tensor at an address.
    pub fn tensor_map(&self, map: &job::TensorMap, address: u64) -> Done<[u8; 128]> {
        let rank = map.dims.len();
        if rank > MOST_RANK {
            return Err(DriverError::Unusable(format!("a tensor map of {rank} dimensions")));
        }
        let mut object = TensorMapObject([0; 128]);
        let (dims, strides) = (padded(&map.dims), padded(&map.strides));
        let steps = padded(&map.element_strides);
        let (to, rank) = (&raw mut object, rank as u32);
        let &job::TensorMap { element, interleave, swizzle, promotion, fill, .. } = map;
        let (dims, strides, steps) = (dims.as_ptr(), strides.as_ptr(), steps.as_ptr());
        match &map.access {
            job::Access::Tiled { box_dims } => {
                let sizes = padded(box_dims);
                call!(
                    self,
                    cuTensorMapEncodeTiled(
                        to,
                        element,
                        rank,
                        address,
                        dims,
                        strides,
                        sizes.as_ptr(),
                        steps,
                        interleave,
                        swizzle,
                        promotion,
                        fill,
                    )
                )?;
            }
            job::Access::Im2col { lower, upper, channels, pixels } => {
                let (lower, upper) = (padded(lower), padded(upper));
                call!(
                    self,
                    cuTensorMapEncodeIm2col(
                        to,
                        element,
                        rank,
                        address,
                        dims,
                        strides,
                        lower.as_ptr(),
                        upper.as_ptr(),
                        *channels,
                        *pixels,
                        steps,
                        interleave,
                        swizzle,
                        promotion,
                        fill,
                    )
                )?;
            }
            job::Access::Wide { mode, lower, upper, channels, pixels } => {
                call!(
                    self,
                    cuTensorMapEncodeIm2colWide(
                        to, element, rank, address, dims, strides, *lower, *upper, *channels, *pixels, steps,
                        interleave, *mode, swizzle, promotion, fill,
                    )
                )?;
            }
        }
        Ok(object.0)
    }

    /// Launches a kernel. It runs on after this.
    pub fn launch(&self, function: &Function<'_>, shape: &Shape, arguments: &[Vec<u8>]) -> Done<()> {
        let cluster = shape.cluster.map_or(1, |[x, y, z]| x.saturating_mul(y).saturating_mul(z));
        if shape.shared > 0 {
            // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            let bytes = i32::try_from(shape.shared).unwrap_or(i32::MAX);
            call!(self, cuFuncSetAttribute(function.0, 8, bytes))?;
        }
        if cluster > 8 {
            // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            call!(self, cuFuncSetAttribute(function.0, 14, 1))?;
        }
        // The driver reads as many parameters, and as many bytes of each, as the kernel has: at most this many of either,
        // whatever was given.
        let nothing = vec![0u8; MOST_PARAMETERS];
        let mut held: Vec<Vec<u8>> = arguments.to_vec();
        for argument in &mut held {
            argument.resize(argument.len().max(MOST_PARAMETERS), 0);
        }
        let mut parameters: Vec<*mut c_void> =
            held.iter_mut().map(|argument| argument.as_mut_ptr().cast()).collect();
        parameters.resize(parameters.len().max(MOST_PARAMETERS), nothing.as_ptr().cast_mut().cast());
        let attributes = attributes(shape);
        let [x, y, z] = shape.grid;
        let [block_x, block_y, block_z] = shape.block;
        if attributes.is_empty() {
            return call!(
                self,
                cuLaunchKernel(
                    function.0,
                    x,
                    y,
                    z,
                    block_x,
                    block_y,
                    block_z,
                    shape.shared,
                    null_mut(),
                    parameters.as_mut_ptr(),
                    null_mut(),
                )
            );
        }
        let config = LaunchConfig {
            grid: shape.grid,
            block: shape.block,
            shared: shape.shared,
            stream: null_mut(),
            attributes: attributes.as_ptr(),
            count: attributes.len() as u32,
        };
        call!(self, cuLaunchKernelEx(&raw const config, function.0, parameters.as_mut_ptr(), null_mut()))
    }
}

/// A list as long as the driver may read: as many numbers as there are dimensions, or fewer.
fn padded<T: Copy + Default>(list: &[T]) -> [T; MOST_RANK] {
    let mut all = [T::default(); MOST_RANK];
    all.iter_mut().zip(list).for_each(|(to, from)| *to = *from);
    all
}

/// The attributes of a launch.
fn attributes(shape: &Shape) -> Vec<LaunchAttribute> {
    let mut attributes = Vec::new();
    if let Some([x, y, z]) = shape.cluster {
        let mut value = [0; 16];
        value[..3].copy_from_slice(&[x, y, z]);
        // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        attributes.push(LaunchAttribute { id: 4, value, ..LaunchAttribute::default() });
    }
    if shape.cooperative {
        let mut value = [0; 16];
        value[0] = 1;
        // CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        attributes.push(LaunchAttribute { id: 2, value, ..LaunchAttribute::default() });
    }
    attributes
}
