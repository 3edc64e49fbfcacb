// Tensor memory and the fifth generation of tensor cores (sm_100a).
extern "C" __global__ void tcgen05(float *d, unsigned long long a, unsigned long long b, unsigned idesc) {
    __shared__ unsigned address;
    __shared__ __align__(8) unsigned long long barrier;
    unsigned place = (unsigned)__cvta_generic_to_shared(&address), bar = (unsigned)__cvta_generic_to_shared(&barrier);
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" :: "r"(place), "r"(128) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    __syncthreads();
    unsigned tmem = address;
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0;\n"
                 "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }" :: "r"(tmem), "l"(a), "l"(b), "r"(idesc), "r"(1));
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0;\n"
                 "tcgen05.mma.cta_group::1.kind::f8f6f4 [%0], [%1], %2, %3, {%4, %4, %4, %4}, p; }"
                 :: "r"(tmem), "r"(tmem + 64), "l"(b), "r"(idesc), "r"(0));
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0;\n"
                 "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%0], %1, %2, %3, [%4], [%5], p; }"
                 :: "r"(tmem), "l"(a), "l"(b), "r"(idesc), "r"(tmem + 32), "r"(tmem + 48), "r"(1));
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(bar));
    asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" :: "r"(tmem), "l"(a));
    asm volatile("tcgen05.shift.cta_group::1.down [%0];" :: "r"(tmem));
    asm volatile("tcgen05.fence::before_thread_sync;");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;");
    unsigned r[4];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(tmem));
    asm volatile("tcgen05.ld.sync.aligned.16x256b.x1.pack::16b.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(tmem));
    asm volatile("tcgen05.wait::ld.sync.aligned;");
    asm volatile("tcgen05.st.sync.aligned.16x64b.x1.b32 [%0], {%1};" :: "r"(tmem), "r"(r[0]));
    asm volatile("tcgen05.wait::st.sync.aligned;");
    d[threadIdx.x] = r[0] + r[1] + r[2] + r[3];
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" :: "r"(tmem), "r"(128));
}

extern "C" __global__ void packed(float2 *d, const float2 *s) {
    unsigned long long a = *(const unsigned long long *)s, b = *(const unsigned long long *)(s + 1), r;
    asm("fma.rn.f32x2 %0, %1, %2, %1;" : "=l"(r) : "l"(a), "l"(b));
    asm("add.rz.ftz.f32x2 %0, %0, %1;" : "+l"(r) : "l"(b));
    *(unsigned long long *)d = r;
    unsigned x, y;
    asm("redux.sync.min.abs.NaN.f32 %0, %1, 0xffffffff;" : "=f"(((float *)d)[2]) : "f"(((const float *)s)[0]));
    asm("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.b32 %1, 1, 0, p; }" : "=r"(x), "=r"(y));
    d[3].x = x + y;
}
