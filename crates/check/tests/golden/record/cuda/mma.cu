// Inline assembly: mma, ldmatrix, stmatrix, movmatrix.
extern "C" __global__ void half_mma(float *d, const unsigned *a) {
    __shared__ __align__(16) unsigned tile[256];
    tile[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    unsigned place = (unsigned)__cvta_generic_to_shared(tile + 4 * threadIdx.x), r[4], t[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(place));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2+16];"
                 : "=r"(t[0]), "=r"(t[1]) : "r"(place));
    float f[4] = {0, 0, 0, 0};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(r[0]), "r"(r[1]), "r"(t[0]));
    int s[2] = {0, 0};
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(s[0]), "+r"(s[1]) : "r"(r[2]), "r"(t[1]));
    asm volatile("mma.sync.aligned.m8n8k32.row.col.satfinite.s32.u4.s4.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(s[0]), "+r"(s[1]) : "r"(r[3]), "r"(t[0]));
    unsigned m;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(m) : "r"(r[0]));
    d[threadIdx.x] = f[0] + f[1] + f[2] + f[3] + s[0] + s[1] + m;
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(t[0]), "r"(t[1]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(t[0]), "r"(t[1]));
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%0, %1, %2, %3}, %8, 0x1;"
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
                 : "r"(r[0]), "r"(r[1]), "r"(t[0]), "r"(t[1]), "r"(m));
    d[threadIdx.x] += f[0] + f[2];
#endif
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(t[0]), "r"(t[1]));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared::cta.b16 [%0], {%1, %2};" :: "r"(place), "r"(r[0]), "r"(r[1]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" :: "r"(place), "r"(r[0]) : "memory");
    double a64[2] = {1, 2}, b64 = 3, c64[4] = {0, 0, 0, 0};
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+d"(c64[0]), "+d"(c64[1]), "+d"(c64[2]), "+d"(c64[3]) : "d"(a64[0]), "d"(a64[1]), "d"(b64));
    d[threadIdx.x] += f[0] + c64[1];
#endif
}
