// Memory that one launch allocates, the next uses, and the last frees.
__device__ int* kept;
extern "C" __global__ void k(int* out, int step)
{
    int t = threadIdx.x;
    if (step == 0) {
        if (t == 0)
            kept = (int*)malloc(64 * sizeof(int));
        __syncthreads();
        kept[t] = t * t;
    } else if (step == 1) {
        out[t] = kept[63 - t];
    } else {
#if BUG == 1 // never
        out[t] += 1;
#elif BUG == 2 // and used again
        if (t == 0)
            free(kept);
        __syncthreads();
        out[t] += kept[t];
#elif BUG == 3 // one of two
        int* more = (int*)malloc(16);
        more[0] = out[t];
        out[t] = more[0];
        if (t != 5)
            free(more);
        if (t == 0)
            free(kept);
#else
        out[t] += kept[t];
        __syncthreads();
        if (t == 0)
            free(kept);
#endif
    }
}
