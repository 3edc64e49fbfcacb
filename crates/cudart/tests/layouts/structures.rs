//! The structures of both crates, with their names in the headers.

use super::facts::{Field, Structure};
use cuda::driver::{graph, rows};
use cuda::entry as driver;
use cuda::image;
use cudart::driver as called;
use cudart::entry as runtime;

/// How much of a structure of the headers one here has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    /// The rest is reserved, or a later version has added it to a union.
    Beginning,
}

/// A structure here, and what it is in the headers.
pub struct Row {
    here: &'static str,
    size: usize,
    fields: &'static [(&'static str, usize, usize)],
    name: &'static str,
    majors: &'static [u32],
    part: Part,
}

const BOTH: &[u32] = &[12, 13];

/// Rows: a type, its names, the major versions, and how much of it is here.
macro_rules! rows {
    ($($type:ty: $($name:ident),+ in $majors:expr, $part:ident;)*) => {
        vec![$($(Row {
            here: stringify!($type),
            size: size_of::<$type>(),
            fields: <$type>::FIELDS,
            name: stringify!($name),
            majors: $majors,
            part: Part::$part,
        },)+)*]
    };
}

/// All structures.
pub fn here() -> Vec<Row> {
    rows! {
        runtime::array::ChannelFormat: cudaChannelFormatDesc in BOTH, Whole;
        runtime::array_copy::Parameters3D: cudaMemcpy3DParms in BOTH, Whole;
        runtime::array_copy::PeerParameters3D: cudaMemcpy3DPeerParms in BOTH, Whole;
        runtime::batch_copy::Operand: cudaMemcpy3DOperand in BOTH, Whole;
        runtime::batch_copy::Operation: cudaMemcpy3DBatchOp in BOTH, Whole;
        runtime::graph_kernel::RuntimeKernelParameters: cudaKernelNodeParams in BOTH, Whole;
        runtime::launch::FunctionAttributes: cudaFuncAttributes in BOTH, Whole;
        runtime::launch::RuntimeLaunchConfig: cudaLaunchConfig_t in BOTH, Whole;
        runtime::memory::Extent: cudaExtent in BOTH, Whole;
        runtime::memory::PitchedPointer: cudaPitchedPtr in BOTH, Whole;
        runtime::memory::PointerAttributes: cudaPointerAttributes in &[12], Whole;
        runtime::memory::PointerAttributes: cudaPointerAttributes in &[13], Beginning;
        runtime::texture::RuntimeResource12: cudaResourceDesc in &[12], Whole;
        runtime::texture::RuntimeResource: cudaResourceDesc in &[13], Whole;
        runtime::texture::RuntimeSampling: cudaTextureDesc in BOTH, Whole;
        called::array::Descriptor: CUDA_ARRAY3D_DESCRIPTOR in BOTH, Whole;
        called::graph_node::ConditionalParameters: CUDA_CONDITIONAL_NODE_PARAMS in BOTH, Whole;
        called::graph_node::FillParameters: CUDA_MEMSET_NODE_PARAMS, cudaMemsetParams in BOTH, Whole;
        called::graph_node::HostParameters: CUDA_HOST_NODE_PARAMS, cudaHostNodeParams in BOTH, Whole;
        called::graph_node::KernelParameters: CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v2 in BOTH, Whole;
        called::graph_node::NodeParameters: CUgraphNodeParams, cudaGraphNodeParams in BOTH, Whole;
        called::ipc::Ticket: cudaIpcMemHandle_t, cudaIpcEventHandle_t in BOTH, Whole;
        called::launch::LaunchConfig: CUlaunchConfig in BOTH, Whole;
        called::memory::Copy2D: CUDA_MEMCPY2D in BOTH, Whole;
        called::memory::Copy3D: CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER in BOTH, Whole;
        called::memory::Location: CUmemLocation, cudaMemLocation in BOTH, Whole;
        called::texture::Resource: CUDA_RESOURCE_DESC in BOTH, Whole;
        called::texture::Sampling: CUDA_TEXTURE_DESC in BOTH, Whole;
        called::texture::View: CUDA_RESOURCE_VIEW_DESC in BOTH, Whole;
        called::texture::ViewFields: cudaResourceViewDesc in &[12], Whole;
        called::texture::ViewFields: cudaResourceViewDesc in &[13], Beginning;
        driver::array::Descriptor: CUDA_ARRAY_DESCRIPTOR in BOTH, Whole;
        driver::array::Descriptor3D: CUDA_ARRAY3D_DESCRIPTOR in BOTH, Whole;
        driver::array::MemoryRequirements: CUDA_ARRAY_MEMORY_REQUIREMENTS, cudaArrayMemoryRequirements in BOTH, Whole;
        driver::array::SparseProperties: CUDA_ARRAY_SPARSE_PROPERTIES, cudaArraySparseProperties in BOTH, Whole;
        driver::context::CreateParameters: CUctxCreateParams in BOTH, Whole;
        driver::copy_rows::Copy2D: CUDA_MEMCPY2D in BOTH, Whole;
        driver::device_properties::DeviceResource: CUdevResource in BOTH, Whole;
        driver::graph_any::ChildParameters: CUDA_CHILD_GRAPH_NODE_PARAMS in &[13], Whole;
        driver::graph_any::NodeParameters: CUgraphNodeParams in BOTH, Whole;
        driver::graph_condition::ConditionalParameters: CUDA_CONDITIONAL_NODE_PARAMS in BOTH, Whole;
        driver::graph_exec::InstantiateParameters: CUDA_GRAPH_INSTANTIATE_PARAMS, cudaGraphInstantiateParams in BOTH, Whole;
        driver::graph_exec::UpdateResult: CUgraphExecUpdateResultInfo, cudaGraphExecUpdateResultInfo in BOTH, Whole;
        driver::graph_kernel::KernelParametersV1: CUDA_KERNEL_NODE_PARAMS_v1 in BOTH, Whole;
        driver::graph_kernel::KernelParameters: CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v2 in BOTH, Whole;
        driver::graph_kernel::KernelParameters: CUDA_KERNEL_NODE_PARAMS_v3 in BOTH, Whole;
        driver::graph_memory::AllocateParameters: CUDA_MEM_ALLOC_NODE_PARAMS, cudaMemAllocNodeParams in BOTH, Whole;
        driver::graph_node::FillParameters: CUDA_MEMSET_NODE_PARAMS in BOTH, Whole;
        driver::graph_node::HostParameters: CUDA_HOST_NODE_PARAMS in BOTH, Whole;
        driver::graph_operation::OperationParameters: CUDA_BATCH_MEM_OP_NODE_PARAMS in BOTH, Whole;
        driver::ipc::Ticket: CUipcMemHandle, CUipcEventHandle in BOTH, Whole;
        driver::launch::LaunchConfig: CUlaunchConfig in BOTH, Whole;
        driver::launch::LaunchAttribute: CUlaunchAttribute, cudaLaunchAttribute in BOTH, Whole;
        driver::memory_batch::CopyAttributes: CUmemcpyAttributes, cudaMemcpyAttributes in BOTH, Whole;
        driver::pool::Access: CUmemAccessDesc, cudaMemAccessDesc in BOTH, Whole;
        driver::pool::Location: CUmemLocation in BOTH, Whole;
        driver::pool::PoolProperties: CUmemPoolProps, cudaMemPoolProps in BOTH, Whole;
        driver::virtual_memory::Properties: CUmemAllocationProp in BOTH, Whole;
        graph::EdgeData: CUgraphEdgeData, cudaGraphEdgeData in BOTH, Whole;
        rows::Copy3D: CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER in BOTH, Whole;
        image::Resource: CUDA_RESOURCE_DESC in BOTH, Whole;
        image::Sampling: CUDA_TEXTURE_DESC in BOTH, Whole;
        image::View: CUDA_RESOURCE_VIEW_DESC in BOTH, Whole;
    }
}

impl Row {
    /// Compares it with each layout that the headers have of it.
    pub fn check(&self, all: &[Structure]) {
        let is_of = |it: &&Structure| self.majors.iter().any(|major| it.versions.has_major(*major));
        let named: Vec<&Structure> = all.iter().filter(|it| it.name == self.name).filter(is_of).collect();
        assert!(!named.is_empty(), "no {}", self.name);
        for there in named {
            let what = format!("{} for {} {:?}", self.here, self.name, there.versions);
            match self.part {
                Part::Whole => assert_eq!(self.size, there.size, "{what}"),
                Part::Beginning => assert!(self.size < there.size, "{what}"),
            }
            for field in there.fields.iter().filter(|it| !it.is_reserved() && it.offset < self.size) {
                assert!(self.has_place_for(field), "{what}: {}", field.name);
            }
        }
    }

    /// Whether a field of the headers is one here, a part of one, or some that follow each other.
    fn has_place_for(&self, field: &Field) -> bool {
        let here = || self.fields.iter().map(|&(_, offset, size)| (offset, offset + size));
        let is_part = here().any(|(from, to)| from <= field.offset && field.end() <= to);
        let begins = here().any(|(from, _)| from == field.offset);
        is_part || begins && here().any(|(_, to)| to == field.end())
    }
}
