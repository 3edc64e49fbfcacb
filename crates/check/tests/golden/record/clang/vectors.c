// Vector extensions and atomics.
#define KERNEL __attribute__((nvptx_kernel))
typedef float f4 __attribute__((ext_vector_type(4)));
typedef unsigned char b16 __attribute__((ext_vector_type(16)));
KERNEL void vectors(f4 *d, b16 *b, int *n) {
    d[0] = d[1].wzyx * d[2] + 1;
    b[0] = (b[1] & b[2]) + (b16)3;
    n[0] = __atomic_fetch_add(n + 1, 5, __ATOMIC_ACQ_REL);
    n[2] = __atomic_load_n(n + 3, __ATOMIC_ACQUIRE);
    __atomic_store_n(n + 4, 1, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    n[5] = __builtin_popcount(n[6]) + __builtin_clz(n[7]) + __builtin_bswap32(n[8]);
    __asm__ volatile("membar.cta;" ::: "memory");
    __asm__("bfe.u32 %0, %1, 3, 5;" : "=r"(n[9]) : "r"(n[10]));
}
