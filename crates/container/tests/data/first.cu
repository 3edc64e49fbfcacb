__device__ float twice(float x);

extern "C" __global__ void first(float *x) {
    x[threadIdx.x] = twice(x[threadIdx.x]) * 3.0f + 1.0f;
}
