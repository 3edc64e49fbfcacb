// Launch bounds, grid constants, restrict pointers, large and small parameters, templates.
struct Big { float values[64]; int n; };
struct Empty {};

extern "C" __global__ void __launch_bounds__(256, 2) bounded(float *d) { d[threadIdx.x] += 1; }
extern "C" __global__ void __launch_bounds__(128) bounded_once(float *d) { d[threadIdx.x] *= 2; }
extern "C" __global__ void __maxnreg__(64) registers(float *d) { d[threadIdx.x] -= 2; }
extern "C" __global__ void grid_constant(float *d, const __grid_constant__ Big big) {
    const float *p = big.values + (d[0] > 0 ? 3 : 7);
    d[threadIdx.x] = p[threadIdx.x & 31] + big.n;
}
extern "C" __global__ void by_value(float *d, Big big, Empty, char c, short s, bool b, double x, float3 v, uchar4 q) {
    d[threadIdx.x] = big.values[threadIdx.x & 63] + c + s + b + x + v.z + q.w;
}
extern "C" __global__ void restricted(float *__restrict__ d, const float *__restrict__ a, const float4 *__restrict__ b) {
    int i = threadIdx.x;
    float4 v = b[i];
    d[i] = a[i] + v.x * v.y + v.z * v.w;
}
extern "C" __global__ void nothing() {}

template <typename T, int N>
__global__ void templated(T *d, T x) {
#pragma unroll
    for (int i = 0; i < N; i++) d[threadIdx.x * N + i] = d[threadIdx.x * N + i] * x + T(i);
}
template __global__ void templated<float, 3>(float *, float);
template __global__ void templated<double, 2>(double *, double);
template __global__ void templated<long long, 4>(long long *, long long);
template __global__ void templated<unsigned char, 1>(unsigned char *, unsigned char);

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __launch_bounds__(256, 1, 4) cluster_bounded(float *d) { d[threadIdx.x] += 1; }
extern "C" __global__ void __cluster_dims__(4, 2, 1) cluster_fixed(float *d) { d[threadIdx.x] += 1; }
#endif
