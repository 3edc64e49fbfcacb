// Relocatable code: externals, weak functions, separate compilation.
extern __device__ int elsewhere;
extern __constant__ float far_table[8];
extern __device__ int helper(int x, float y);
__device__ int defined_here = 4;
static __device__ int private_counter;
__device__ __attribute__((weak)) int replaceable(int x) { return x + 1; }
__device__ float exported(float x) { return x * far_table[private_counter++ & 7]; }
template <typename T> __device__ __noinline__ T generic_twice(T x) { return x + x; }
__device__ int (*hook)(int, float) = helper;

extern "C" __global__ void linked(int *d, float y) {
    extern __shared__ int scratch[];
    scratch[threadIdx.x] = helper(d[0], y) + elsewhere;
    __syncthreads();
    d[1] = replaceable(scratch[3]) + hook(d[2], y) + generic_twice(d[3]) + defined_here;
    d[4] = generic_twice(y) + exported(y);
}
