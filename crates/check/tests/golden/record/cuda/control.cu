// Control flow: a dense switch, loops with exits, selections, gotos.
extern "C" __global__ void jump_table(int *d, int n) {
    int x = d[threadIdx.x];
    switch (n) {
    case 0: x += 3; break;
    case 1: x *= x; break;
    case 2: x = x / 7; __syncthreads(); break;
    case 3: x ^= d[5]; d[6] = x; break;
    case 4: x <<= d[7]; break;
    case 5: x = -x; d[8] = x; break;
    case 6: x %= 13; break;
    case 7: x |= d[9]; atomicAdd(d, x); break;
    case 9: x = __popc(x); break;
    case 11: x = d[x]; break;
    default: x = 0;
    }
    d[threadIdx.x] = x;
}

extern "C" __global__ void loops(float *d, int n, float limit) {
    float sum = 0;
    for (int i = 0; i < n; i++) {
        if (d[i] < 0) continue;
        for (int j = i; j < n; j += 2) {
            sum += d[i] * d[j];
            if (sum > limit) goto out;
        }
        while (sum > 1) sum *= 0.5f;
    }
out:
    do { sum -= 1; } while (sum > 100);
#pragma unroll 4
    for (int i = 0; i < 16; i++) d[i] += sum;
#pragma unroll 1
    for (int i = 0; i < 16; i++) d[i] *= sum;
}

extern "C" __global__ void divergent(int *d) {
    int t = threadIdx.x;
    if (t & 1) { if (t & 2) d[t] = 1; else d[t] = 2; }
    else { if (t < 7) return; d[t] = t > 20 ? d[t + 1] : d[t - 1]; }
}
