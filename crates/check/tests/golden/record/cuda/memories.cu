// Constant, managed, device and local memory; initialisers of all kinds.
struct Row { char name[5]; short code; float weight; const int *next; };
__constant__ float coefficients[16] = {1, 0.5f, 0.25f, -3e-5f};
__constant__ int table[4][3] = {{1, 2, 3}, {4}, {7, 8, 9}};
__constant__ Row rows[2] = {{"ab", 3, 1.5f, table[1]}, {"cdef", -4, -0.0f, nullptr}};
__managed__ int managed = 17;
__managed__ double managed_array[100];
__device__ unsigned long long counter = 0x123456789abcdefull;
__device__ const char *const names[] = {"zero", "one", "two"};
__device__ double infinities[] = {1.0 / 0.0, -1.0 / 0.0};
__device__ unsigned char bytes[7] = {1, 2, 3};
__device__ int numbers[4];
__device__ int *pointer_into = numbers + 2;
__device__ __align__(128) float aligned[33];
static __device__ long long hidden = -1;
__device__ bool flag = true;

extern "C" __global__ void memories(float *d, int i, const char **s) {
    float local[20];
    for (int k = 0; k < 20; k++) local[k] = d[k] * coefficients[k & 15];
    d[0] = local[i % 20] + table[i & 3][i % 3] + rows[i & 1].weight + rows[i & 1].name[i % 5];
    d[1] = managed + managed_array[i] + infinities[i & 1] + bytes[i % 7] + *pointer_into + aligned[i % 33];
    if (rows[1].next == table[1]) d[2] = 2;
    *s = names[i % 3];
    atomicAdd(&counter, (unsigned long long)hidden++);
    flag = !flag;
    managed = i;
}
