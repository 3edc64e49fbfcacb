// Bit tricks, dot products and SIMD in a word.
extern "C" __global__ void bits(unsigned *d, unsigned x, unsigned y, unsigned long long z, int n) {
    int i = 0;
    d[i++] = __popc(x); d[i++] = __popcll(z); d[i++] = __clz(x); d[i++] = __clzll(z); d[i++] = __ffs(x);
    d[i++] = __ffsll(z); d[i++] = __brev(x); d[i++] = __brevll(z) >> 5; d[i++] = __byte_perm(x, y, n);
    d[i++] = __funnelshift_l(x, y, n); d[i++] = __funnelshift_rc(x, y, n); d[i++] = __mulhi(x, y); d[i++] = __umulhi(x, y);
    d[i++] = __mul24(x, y); d[i++] = __umul24(x, y); d[i++] = __sad(x, y, 3); d[i++] = __usad(x, y, 4u); d[i++] = __hadd((int)x, (int)y);
    d[i++] = __urhadd(x, y); d[i++] = __fns(x, 3, n); d[i++] = (x >> n) & ((1u << (n & 7)) - 1); d[i++] = x << 13 | x >> 19;
    d[i++] = min((int)x, (int)y) + max(x, y) + abs((int)x); d[i++] = (x & y) | (~x & z); d[i++] = z >> 32;
}

extern "C" __global__ void dots(int *d, int a, int b, int c) {
    d[0] = __dp4a(a, b, c);
    d[1] = __dp4a((unsigned)a, (unsigned)b, (unsigned)c);
    d[2] = __dp2a_lo(make_short2(a, b), make_char4(1, 2, 3, c), c);
    d[3] = __dp2a_hi((unsigned)a, (unsigned)b, (unsigned)c);
}

extern "C" __global__ void video(unsigned *d, unsigned a, unsigned b) {
    int i = 0;
    d[i++] = __vadd2(a, b); d[i++] = __vaddss4(a, b); d[i++] = __vsub4(a, b); d[i++] = __vabsdiffu4(a, b);
    d[i++] = __vavgu4(a, b); d[i++] = __vmaxs2(a, b); d[i++] = __vminu4(a, b); d[i++] = __vcmpgtu4(a, b);
    d[i++] = __vseteq2(a, b); d[i++] = __vsads4(a, b); d[i++] = __viaddmax_s32(a, b, 4); d[i++] = __vimin3_u32(a, b, 7);
    d[i++] = __viaddmin_s16x2_relu(a, b, 9); d[i++] = __vimax_s32_relu(a, b);
}
