//! Many copies in one call, in the order of a stream.

use super::array_copy::{Side, memory_type, planes, texel, times};
use super::copy::copy;
use super::memory::{Extent, PitchedPointer};
use crate::code::{Code, Done, ensure};
use crate::context::ensure_context;
use crate::driver::batch_copy::*;
use crate::driver::memory::{Copy3D, cuMemcpy3DAsync_v2};
use crate::ffi::{In, Out, zeroed};

crate::c_struct! {
    /// `cudaMemcpy3DOperand`. The words are a union: an address, the texels of a row, the rows of a plane, and a hint; or
    /// an array and a position.
    Operand { kind: u32, words: [u64; 4], }
}

crate::c_struct! {
    /// `cudaMemcpy3DBatchOp`.
    Operation { src: Operand, dst: Operand, extent: Extent, order: u32, flags: u32, }
}

/// `cudaMemcpy3DOperandType`.
const POINTER: u32 = 1;
const ARRAY: u32 = 2;

/// `cudaMemcpyKind`: the driver finds out by the address.
const DEFAULT: i32 = 4;

impl Operand {
    fn array(&self) -> u64 {
        if self.kind == ARRAY { self.words[0] } else { 0 }
    }

    /// A side of a copy. Without lengths, rows and planes follow each other without a gap.
    fn side(&self, extent: Extent, texel: usize) -> Result<Side, Code> {
        let [first, x, y, z] = self.words;
        match self.kind {
            ARRAY => {
                let position = [x, y, z].map(|it| it as usize);
                Ok(Side { array: first, position, memory: zeroed() })
            }
            POINTER => {
                let row = if x == 0 { extent.width } else { x as usize };
                let rows = if y == 0 { extent.height } else { y as usize };
                let pitch = times(row, texel)?;
                let memory = PitchedPointer { pointer: first, pitch, xsize: pitch, ysize: rows };
                Ok(Side { array: 0, position: [0; 3], memory })
            }
            _ => Err(Code::INVALID_VALUE),
        }
    }
}

impl Operation {
    fn to_driver(self) -> Result<Copy3D, Code> {
        ensure((1..=3).contains(&self.order) && self.flags <= 1, Code::INVALID_VALUE)?;
        let texel = texel(self.src.array())?.max(texel(self.dst.array())?);
        let (src, dst) = (self.src.side(self.extent, texel)?, self.dst.side(self.extent, texel)?);
        planes(src, dst, self.extent, (memory_type::UNIFIED, memory_type::UNIFIED))
    }
}

/// Copies planes, as often as there are operations. The null stream takes none.
fn copy_all(operations: In<Operation>, count: usize, failed: Out<usize>, flags: u64, stream: u64) -> Done {
    ensure(count != 0 && !operations.is_null(), Code::INVALID_VALUE)?;
    ensure(flags == 0 && stream != 0, Code::INVALID_VALUE)?;
    ensure_context()?;
    let copies: Result<Vec<Copy3D>, Code> = (0..count)
        .map(|index| {
            let copy = operations.get_at(index).and_then(Operation::to_driver);
            copy.inspect_err(|_| failed.set_if_any(index))
        })
        .collect();
    for (index, copy) in copies?.iter().enumerate() {
        cuMemcpy3DAsync_v2(In::of(copy), stream).inspect_err(|_| failed.set_if_any(index))?;
    }
    Ok(())
}

crate::entries! {
    /// Many copies of bytes.
    fn cudaMemcpyBatchAsync / cudaMemcpyBatchAsync_ptsz(
        to: In<u64>, from: In<u64>, sizes: In<usize>, count: usize, attributes: u64, indices: In<usize>,
        attribute_count: usize, stream: u64,
    ) {
        ensure_context()?;
        cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes, indices, attribute_count, stream)
    }

    /// Many copies of bytes. The index of one that failed is written.
    fn v12_cudaMemcpyBatchAsync / v12_cudaMemcpyBatchAsync_ptsz(
        to: In<u64>, from: In<u64>, sizes: In<usize>, count: usize, attributes: u64, indices: In<usize>,
        attribute_count: usize, failed: Out<usize>, stream: u64,
    ) {
        ensure_context()?;
        cuMemcpyBatchAsync(to, from, sizes, count, attributes, indices, attribute_count, failed, stream)
    }

    /// Many copies of planes.
    fn cudaMemcpy3DBatchAsync / cudaMemcpy3DBatchAsync_ptsz(count: usize, operations: In<Operation>, flags: u64, stream: u64) {
        copy_all(operations, count, Out::NULL, flags, stream)
    }

    /// Many copies of planes. The index of one that failed is written.
    fn v12_cudaMemcpy3DBatchAsync / v12_cudaMemcpy3DBatchAsync_ptsz(
        count: usize, operations: In<Operation>, failed: Out<usize>, flags: u64, stream: u64,
    ) {
        copy_all(operations, count, failed, flags, stream)
    }

    /// A copy of planes with attributes.
    fn cudaMemcpy3DWithAttributesAsync / cudaMemcpy3DWithAttributesAsync_ptsz(operation: In<Operation>, flags: u64, stream: u64) {
        ensure(flags == 0, Code::INVALID_VALUE)?;
        ensure_context()?;
        cuMemcpy3DAsync_v2(In::of(&operation.get()?.to_driver()?), stream)
    }

    /// A copy of bytes with attributes, which change nothing here: memory is read in the order of the stream.
    fn cudaMemcpyWithAttributesAsync / cudaMemcpyWithAttributesAsync_ptsz(
        to: u64, from: u64, bytes: usize, attributes: u64, stream: u64,
    ) {
        ensure(attributes != 0, Code::INVALID_VALUE)?;
        copy(to, from, bytes, DEFAULT, Some(stream))
    }
}
