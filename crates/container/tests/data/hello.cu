__global__ void hello(int *p) { p[threadIdx.x] = 1; }
int main() { hello<<<1, 32>>>(0); return 0; }
