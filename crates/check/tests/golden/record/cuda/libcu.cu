// libcu++'s pipelines and barriers, as users of CUTLASS-like code meet them.
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cuda/ptx>

extern "C" __global__ void staged(int *d, const int *s, int n) {
    __shared__ int buffer[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int i = 0, k = 0; i < n; i++, k ^= 1) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, buffer[k], s + 128 * i, cuda::aligned_size_t<16>(512), pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        d[128 * i + threadIdx.x] = buffer[k][threadIdx.x] * 3;
        pipe.consumer_release();
    }
}

extern "C" __global__ void arrive(int *d) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    auto token = barrier.arrive();
    d[threadIdx.x] = 1;
    barrier.wait(std::move(token));
    barrier.arrive_and_wait();
}
