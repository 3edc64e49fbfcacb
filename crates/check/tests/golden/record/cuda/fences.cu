// Fences, volatile accesses, cache hints, libcu++ atomics with orders.
#include <cuda/atomic>

extern "C" __global__ void fences(volatile int *v, int *p) {
    p[0] = v[0];
    __threadfence();
    v[1] = p[1];
    __threadfence_block();
    p[2] = v[2];
    __threadfence_system();
    v[3] = 1;
}

extern "C" __global__ void hints(float4 *d, const float4 *s) {
    int i = threadIdx.x;
    __stcg(d + 5 * i, __ldcg(s + i));
    __stcs(d + 5 * i + 1, __ldcs(s + i));
    __stwb(d + 5 * i + 2, __ldca(s + i));
    __stwt(d + 5 * i + 3, __ldcv(s + i));
    d[5 * i + 4] = __ldg(s + i);
    float4 x = __ldlu(s + i);
    d[5 * i].x = x.x;
}

extern "C" __global__ void orders(int *p, unsigned long long *q) {
    cuda::atomic_ref<int, cuda::thread_scope_device> a(*p);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_system> b(*q);
    a.store(1, cuda::memory_order_release);
    int x = a.load(cuda::memory_order_acquire);
    x += a.fetch_add(2, cuda::memory_order_relaxed);
    x += a.fetch_min(2, cuda::memory_order_acq_rel);
    int e = 5;
    while (!a.compare_exchange_weak(e, x, cuda::memory_order_seq_cst)) {}
    b.fetch_xor(3);
    b.exchange(7, cuda::memory_order_acquire);
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_block);
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
}
