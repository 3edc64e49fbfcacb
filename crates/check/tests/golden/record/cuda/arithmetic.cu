// Arithmetic in every scalar type.
template <typename T>
__device__ T integer(T a, T b, T c) {
    T r = a * b + c;
    r ^= a / (b | 1);
    r += a % (b | 3);
    r -= (a << 3) | (b >> 2);
    r = a < b ? r & ~c : r | c;
    return a > c ? r + (a == b) : r - (b != c);
}

template <typename T>
__device__ T real(T a, T b, T c) {
    T r = a * b + c;
    r -= a / b;
    r = a < b ? r : -r;
    return a > c ? r + T(a >= b) : r - T(b != c);
}

#define INTEGER(name, type)                                                             \
    extern "C" __global__ void name(type *d, const type *a, const type *b, const type *c) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                  \
        d[i] = integer<type>(a[i], b[i], c[i]);                                         \
    }
#define REAL(name, type)                                                                \
    extern "C" __global__ void name(type *d, const type *a, const type *b, const type *c) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                  \
        d[i] = real<type>(a[i], b[i], c[i]);                                            \
    }
INTEGER(i8, signed char)
INTEGER(u8, unsigned char)
INTEGER(i16, short)
INTEGER(u16, unsigned short)
INTEGER(i32, int)
INTEGER(u32, unsigned)
INTEGER(i64, long long)
INTEGER(u64, unsigned long long)
REAL(f32, float)
REAL(f64, double)
