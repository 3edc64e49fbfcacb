//! Many copies in one call.

use crate::ffi::{In, Out};

crate::driver! {
    fn cuMemcpyBatchAsync / cuMemcpyBatchAsync_ptsz(to: In<u64>, from: In<u64>, sizes: In<usize>, count: usize, attributes: u64, indices: In<usize>, attribute_count: usize, failed: Out<usize>, stream: u64);
    fn cuMemcpyBatchAsync_v2 / cuMemcpyBatchAsync_v2_ptsz(to: In<u64>, from: In<u64>, sizes: In<usize>, count: usize, attributes: u64, indices: In<usize>, attribute_count: usize, stream: u64);
}
