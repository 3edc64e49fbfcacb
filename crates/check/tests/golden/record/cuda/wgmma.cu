// Warpgroup matrices (sm_90a).
extern "C" __global__ void wgmma(float *d, unsigned long long a, unsigned long long b, unsigned *r) {
    float f[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    float g[4] = {0, 0, 0, 0};
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, -1, 0, 1; }"
                 : "+f"(g[0]), "+f"(g[1]), "+f"(g[2]), "+f"(g[3]) : "l"(a), "l"(b), "r"(1));
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e5m2 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1;"
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]), "+f"(f[4]), "+f"(f[5]), "+f"(f[6]), "+f"(f[7]) : "l"(a), "l"(b));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
                 : "+f"(g[0]), "+f"(g[1]), "+f"(g[2]), "+f"(g[3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(b));
    int s[4] = {0, 0, 0, 0};
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8.satfinite {%0, %1, %2, %3}, %4, %5, 1;"
                 : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3]) : "l"(a), "l"(b));
    asm volatile("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, %6, 0, 1, 1, 1, 0, 0;"
                 : "+f"(g[0]), "+f"(g[1]), "+f"(g[2]), "+f"(g[3]) : "l"(a), "l"(b), "r"(r[4]));
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;");
    d[threadIdx.x] = f[0] + f[7] + g[0] + g[3] + s[1];
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
}
