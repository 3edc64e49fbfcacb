// Calls: kept device functions, function pointers, recursion, structures by value, variadic printf, heap.
#include <cstdio>

struct Particle {
    float3 place, speed;
    char tag;
    double mass;
};

struct __align__(16) Packed {
    short a[5];
    long long b;
};

__device__ __noinline__ Particle advance(Particle p, float t) {
    p.place.x += t * p.speed.x;
    p.place.y += t * p.speed.y;
    p.mass *= 0.5;
    p.tag++;
    return p;
}

__device__ __noinline__ Packed pack(Packed p, const Packed &q) {
    p.a[2] += q.a[3];
    p.b ^= q.b;
    return p;
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ bool odd(unsigned n);
__device__ __noinline__ bool even(unsigned n) { return n == 0 || odd(n - 1); }
__device__ __noinline__ bool odd(unsigned n) { return n != 0 && even(n - 1); }

typedef float (*Operation)(float, float);
__device__ __noinline__ float plus_(float a, float b) { return a + b; }
__device__ __noinline__ float times(float a, float b) { return a * b; }
__device__ __noinline__ float power(float a, float b) { return powf(a, b); }
__device__ Operation operations[] = {plus_, times, power};

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    float side;
    __device__ Square(float side) : side(side) {}
    __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
    float radius;
    __device__ Circle(float radius) : radius(radius) {}
    __device__ float area() const override { return 3.14159265f * radius * radius; }
};

extern "C" __global__ void structures(Particle *p, Packed *q, Particle by_value, float t) {
    int i = threadIdx.x;
    p[i] = advance(i & 1 ? by_value : p[i], t);
    q[i] = pack(q[i], q[i + 1]);
}

extern "C" __global__ void recursion(int *d) {
    d[0] = fibonacci(d[0]);
    d[1] = even(d[1]);
}

extern "C" __global__ void pointers(float *d, int which) { d[threadIdx.x] = operations[which](d[0], d[1]); }

extern "C" __global__ void virtuals(float *d, bool round) {
    Shape *shape = round ? (Shape *)new Circle(d[0]) : (Shape *)new Square(d[0]);
    d[threadIdx.x] = shape->area();
    delete shape;
}

extern "C" __global__ void printing(int n, double x, const char *s) {
    printf("thread %d of %d: %s %f %llx\n", threadIdx.x, n, s, x, (unsigned long long)n);
    if (n < 0) {
        printf("negative\n");
        __trap();
    }
}

extern "C" __global__ void heap(int **out, int n) {
    int *p = (int *)malloc(n * sizeof(int));
    if (p) {
        memset(p, 7, n * sizeof(int));
        memcpy(p + 1, p, (n - 1) * sizeof(int));
        out[threadIdx.x] = p;
        if (n == 3) free(p);
    }
}
