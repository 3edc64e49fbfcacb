// Asynchronous copies and mbarriers by their instructions.
#pragma once
typedef unsigned long long u64;
__device__ inline unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ inline void copy4(void* to, const void* from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(smem(to)), "l"(from) : "memory");
}
__device__ inline void copy16(void* to, const void* from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(smem(to)), "l"(from) : "memory");
}
__device__ inline void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ inline void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

__device__ inline void mbar_init(u64* bar, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(bar)), "r"(count) : "memory");
}
__device__ inline void mbar_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ inline void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ inline void mbar_arrive(u64* bar)
{
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(smem(bar)) : "memory");
}
__device__ inline void mbar_arrive_relaxed(u64* bar)
{
    asm volatile("{ .reg .b64 s; mbarrier.arrive.relaxed.cta.shared::cta.b64 s, [%0]; }" ::"r"(smem(bar)) : "memory");
}
__device__ inline void mbar_expect(u64* bar, unsigned bytes)
{
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1; }" ::"r"(smem(bar)), "r"(bytes) : "memory");
}
__device__ inline bool mbar_try(u64* bar, int parity)
{
    int done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(smem(bar)), "r"(parity) : "memory");
    return done;
}
__device__ inline bool mbar_try_relaxed(u64* bar, int parity)
{
    int done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(smem(bar)), "r"(parity) : "memory");
    return done;
}
__device__ inline void mbar_wait(u64* bar, int parity) { while (!mbar_try(bar, parity)) {} }
__device__ inline void bulk_load(void* to, const void* from, unsigned bytes, u64* bar)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(smem(to)), "l"(from), "r"(bytes), "r"(smem(bar)) : "memory");
}
__device__ inline void bulk_store(void* to, const void* from, unsigned bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(smem(from)), "r"(bytes) : "memory");
}
__device__ inline void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ inline void bulk_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); }
template <int N> __device__ inline void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory"); }
