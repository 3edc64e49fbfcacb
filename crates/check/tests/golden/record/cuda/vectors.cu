// Vector types and conversions between scalars.
extern "C" __global__ void vectors(char4 *c, uchar2 *u, short4 *s, int2 *i2, int4 *i4, float2 *f, double2 *g, longlong2 *l, ushort3 *t) {
    int n = threadIdx.x;
    char4 a = c[n];
    i4[n] = make_int4(a.x, a.y, a.z, a.w);
    u[n] = make_uchar2(i2[n].x, i2[n].y);
    s[n] = make_short4(f[n].x, f[n].y, g[n].x, g[n].y);
    l[n] = make_longlong2(g[n].x, f[n].y);
    g[n] = make_double2(l[n].x, (unsigned long long)l[n].y);
    f[n] = make_float2((unsigned char)i2[n].x, (signed char)i2[n].y);
    t[n] = make_ushort3(s[n].x, (unsigned short)f[n].x, (unsigned)g[n].x);
}

extern "C" __global__ void pointers(int *d, const void *p) {
    __shared__ int cell;
    __shared__ __align__(16) char buffer[64];
    int local;
    int *q = threadIdx.x & 1 ? &cell : threadIdx.x & 2 ? &local : d;
    *q = 5;
    d[1] = __isGlobal(p) + __isShared(p) + __isConstant(p) + __isLocal(p);
    d[2] = (int)__cvta_generic_to_shared(buffer + 4);
    d[3] = *q + *(int *)(buffer + 8);
    d[4] = (int)(size_t)__cvta_generic_to_global(d);
}
