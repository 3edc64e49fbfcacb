// Accesses out of bounds, to memory that is gone, and to what nobody wrote.
#include <cstdio>
__device__ int before_a[4], a[4], b[4], after_b[4];
__constant__ int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ __noinline__ int* address_of_local(int v)
{
    volatile int x[4];
    for (int i = 0; i < 4; i++)
        x[i] = v + i;
    return (int*)x;
}
__device__ __noinline__ int sum_of(const int* p, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += p[i];
    return sum;
}
extern __shared__ int dynamic[];
extern "C" __global__ void k(int* in, int* out, int n)
{
    int t = threadIdx.x;
#if BUG == 0
    int x[8];
    for (int i = 0; i < 8; i++)
        x[(i + n) & 7] = in[i] + t;
    int* heap = (int*)malloc(64);
    for (int i = 0; i < 16; i++)
        heap[i] = x[i & 7];
    dynamic[t] = heap[t & 15] + table[n & 7];
    __syncthreads();
    out[t] = dynamic[63 - t] + sum_of(x, 8);
    free(heap);
#elif BUG == 1
    out[t + 1] = in[t];
#elif BUG == 2
    out[t] = in[t - 1];
#elif BUG == 3
    __shared__ int s[64];
    s[t] = t;
    __syncthreads();
    out[t] = s[t + n];
#elif BUG == 4
    dynamic[t + n] = t;
    __syncthreads();
    out[t] = dynamic[t];
#elif BUG == 5
    int x[8];
    for (int i = 0; i < 8 + n; i++)
        x[i] = i;
    out[t] = sum_of(x, 8);
#elif BUG == 6
    out[t] = table[t + n];
#elif BUG == 7
    int* heap = (int*)malloc(64);
    for (int i = 0; i <= 16; i++)
        heap[i] = t;
    out[t] = heap[t & 15];
    free(heap);
#elif BUG == 8
    int* heap = (int*)malloc(64);
    heap[0] = t;
    free(heap);
    out[t] = heap[0];
#elif BUG == 9
    int* heap = (int*)malloc(64);
    heap[0] = in[t];
    out[t] = heap[0];
    free(heap);
    if (n)
        free(heap);
#elif BUG == 10
    int* heap = (int*)malloc(64);
    heap[0] = in[t];
    out[t] = heap[0];
#elif BUG == 11
    int* heap = (int*)malloc(64);
    heap[0] = in[t];
    out[t] = heap[n];
    free(heap);
#elif BUG == 12
    out[t] = sum_of(address_of_local(in[t]), 4);
#elif BUG == 13
    __shared__ int* shared_pointer;
    int mine[4];
    for (int i = 0; i < 4; i++)
        mine[i] = t + i * n;
    if (t == 0)
        shared_pointer = mine;
    __syncthreads();
    out[t] = sum_of(shared_pointer, 4) + sum_of(mine, 4);
#elif BUG == 14
    out[t] = *(int*)((char*)in + 4 * t + n);
#elif BUG == 15
    a[t & 3] = t;
    if (t == 0)
        a[4 * n] = 9;
    out[t] = 0;
#elif BUG == 16
    __shared__ int s[64];
    if (t < 48)
        s[t] = in[t];
    __syncthreads();
    out[t] = s[t];
#elif BUG == 17
    int x[8];
    for (int i = 0; i < 8 - n; i++)
        x[i] = in[i];
    out[t] = sum_of(x, 8);
#elif BUG == 18
    out[t] = out[t] + in[t];
#elif BUG == 19
    *(int*)(long long)(n - 1) = t;
#elif BUG == 20
    float4 v = *(float4*)(in + n + 4 * (t & 3));
    out[t] = (int)(v.x + v.w);
#elif BUG == 21
    __shared__ int first[4];
    __shared__ int second[4];
    if (t < 4) {
        first[t] = 0;
        second[t] = 1;
    }
    __syncthreads();
    if (t == 0)
        first[4 * n] = 2;
    __syncthreads();
    out[t] = first[t & 3] + second[t & 3];
#elif BUG == 22
    free((int*)in);
    out[t] = 0;
#elif BUG == 23
    dynamic[t] = in[t];
    __syncthreads();
    out[t] = dynamic[t] + dynamic[64 + t];
#elif BUG == 24
    b[t & 3] = t;
    out[t] = b[(t & 3) - n];
#elif BUG == 25
    out[t << 2] = in[t];
#elif BUG == 26
    int* heap = nullptr;
    if (t == 0)
        heap = (int*)malloc(256);
    __shared__ int* all;
    if (t == 0)
        all = heap;
    __syncthreads();
    all[t] = in[t];
    __syncthreads();
    out[t] = all[63 - t];
    __syncthreads();
    if (t == 0)
        free(all);
#elif BUG == 27
    __shared__ int* all;
    if (t == 0)
        all = (int*)malloc(256);
    __syncthreads();
    all[t] = in[t];
    __syncthreads();
    if (t == 0)
        free(all);
    out[t] = all[63 - t];
#endif
    (void)before_a, (void)after_b, (void)a, (void)b;
}
