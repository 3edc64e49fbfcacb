// Loops and arithmetic in plain C.
#define KERNEL __attribute__((nvptx_kernel))
KERNEL void saxpy(float *y, const float *x, float a, int n) {
    for (int i = __nvvm_read_ptx_sreg_tid_x(); i < n; i += __nvvm_read_ptx_sreg_ntid_x()) y[i] += a * x[i];
}
KERNEL void collatz(unsigned long *d) {
    unsigned long x = d[__nvvm_read_ptx_sreg_tid_x()], steps = 0;
    while (x != 1) { x = x & 1 ? 3 * x + 1 : x / 2; steps++; }
    d[__nvvm_read_ptx_sreg_tid_x()] = steps;
}
KERNEL void wide(__int128 *d, unsigned __int128 a, int n) { *d = (__int128)(a >> n) * 7 - (__int128)a; }
KERNEL void floats(double *d, float f, _Float16 h, int n) {
    d[0] = __builtin_sqrt(d[1]) + __builtin_floorf(f) + (double)h * n;
    d[2] = __builtin_fma(d[0], d[1], 0.1) / 3;
    d[3] = (long)d[0] + (unsigned char)f + (short)d[1];
}
