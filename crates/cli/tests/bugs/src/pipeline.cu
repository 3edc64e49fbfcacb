// libcu++ pipelines and barriers, and cooperative groups' memcpy_async.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* in, int* out)
{
    __shared__ __align__(16) int s[2][64];
    auto block = cg::this_thread_block();
    int t = threadIdx.x;
#if BUG <= 1
    cg::memcpy_async(block, s[0], in, sizeof(int) * 64);
#if BUG == 0
    cg::wait(block);
#endif
    out[t] = s[0][t ^ 1];
#elif BUG <= 4
    auto pipe = cuda::make_pipeline();
    for (int i = 0; i < 2; i++) {
        pipe.producer_acquire();
        cuda::memcpy_async(&s[i][t], &in[64 * i + t], sizeof(int), pipe);
        pipe.producer_commit();
    }
    int sum = 0;
    for (int i = 0; i < 2; i++) {
#if BUG == 3
        cuda::pipeline_consumer_wait_prior<2>(pipe);
#elif BUG == 4
        if (i == 0) cuda::pipeline_consumer_wait_prior<1>(pipe);
        else cuda::pipeline_consumer_wait_prior<0>(pipe);
#else
        if (i == 0) cuda::pipeline_consumer_wait_prior<1>(pipe);
        else cuda::pipeline_consumer_wait_prior<0>(pipe);
        __syncthreads();
#endif
        sum += s[i][t ^ 32];
        pipe.consumer_release();
    }
    out[t] = sum;
#else
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ barrier bar;
    if (t == 0)
        init(&bar, 64);
#if BUG != 6
    __syncthreads();
#endif
    s[0][t] = in[t];
#if BUG == 7
    (void)bar.arrive();
#else
    bar.arrive_and_wait();
#endif
    out[t] = s[0][63 - t];
#endif
}
