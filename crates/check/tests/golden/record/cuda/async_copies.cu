// cp.async, mbarrier, bulk copies, prefetches (sm_90 and later).
extern "C" __global__ void cp_async(float4 *d, const float4 *s) {
    __shared__ float4 tile[256];
    unsigned place = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(place), "l"(s + threadIdx.x));
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 4, %2;" :: "r"(place), "l"(s), "r"(threadIdx.x & 4));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 0;");
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    d[threadIdx.x] = tile[threadIdx.x ^ 1];
}

extern "C" __global__ void barriers(int *d, const int *s, unsigned bytes) {
    __shared__ __align__(8) unsigned long long barrier;
    __shared__ __align__(128) int tile[1024];
    unsigned b = (unsigned)__cvta_generic_to_shared(&barrier), t = (unsigned)__cvta_generic_to_shared(tile);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(b), "r"(1));
        asm volatile("fence.mbarrier_init.release.cluster;");
        asm volatile("fence.proxy.async.shared::cta;");
        asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 state, [%0], %1; }" :: "r"(b), "r"(bytes));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(t), "l"(s), "r"(bytes), "r"(b) : "memory");
    }
    asm volatile("{\n\t.reg .pred done;\n"
                 "wait_%=:\n\t"
                 "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1, %2;\n\t"
                 "@!done bra wait_%=;\n\t}" :: "r"(b), "r"(0), "r"(1000) : "memory");
    d[threadIdx.x] = tile[threadIdx.x];
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(d), "r"(t), "r"(bytes) : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" :: "l"(d), "r"(t), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group.read 0;");
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(b));
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" :: "l"(s), "r"(bytes));
    asm volatile("prefetch.global.L2 [%0];" :: "l"(s));
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" :: "l"(s));
    asm volatile("discard.global.L2 [%0], 128;" :: "l"(d));
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 0.5;" : "=l"(policy));
    int x;
    asm volatile("ld.global.L2::cache_hint.s32 %0, [%1], %2;" : "=r"(x) : "l"(s), "l"(policy));
    d[1] = x;
    asm volatile("griddepcontrol.wait;");
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("setmaxnreg.inc.sync.aligned.u32 152;");
    asm volatile("bar.sync 1, 128;");
    asm volatile("barrier.cluster.arrive.release.aligned;");
    asm volatile("barrier.cluster.wait.acquire.aligned;");
    unsigned remote, rank;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(remote) : "r"(t));
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" :: "r"(remote), "r"(rank), "r"(b));
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" :: "r"(remote), "r"(rank), "r"(b));
}
