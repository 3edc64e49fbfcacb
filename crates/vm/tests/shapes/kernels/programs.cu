// Control flow, calls, own memory, structures, memory orders.
// A line that begins with `//@` says how the kernel below it is launched; see README.md.

#define INDEX \
  ((((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * blockDim.z + threadIdx.z) * blockDim.y + threadIdx.y) * \
          blockDim.x + threadIdx.x
#define LOCAL ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x)
#define THREADS (blockDim.x * blockDim.y * blockDim.z)

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

//@ recursion(u32, out, n) any
extern "C" __global__ void recursion(const unsigned *in, int *out, int n) {
  int i = INDEX;
  if (i < n) out[i] = fibonacci(in[i] % 7);
}

__device__ __noinline__ void divide(int a, int b, int *quotient, int *rest) {
  *quotient = a / b;
  *rest = a % b;
}

//@ out_parameters(u32, out, n) any shift=4
extern "C" __global__ void out_parameters(const int *in, int *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  int quotient = threadIdx.x, rest = threadIdx.y;
  divide(in[i], (int)(threadIdx.x + 2), &quotient, &rest);
  out[i] = quotient * 3 + rest;
}

struct Particle {
  float position[3], velocity[3];
  int age;
  short kind, flags;
};

__device__ __noinline__ void advance(Particle &p, float dt) {
  for (int k = 0; k < 3; k++) {
    p.position[k] += p.velocity[k] * dt;
    if (p.position[k] < 0 || p.position[k] > 1) p.velocity[k] = -p.velocity[k], p.flags |= 1 << k;
  }
  p.age++;
}

//@ particles(f32, out, n) any
extern "C" __global__ void particles(const float *in, Particle *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  Particle p = {};
  for (int k = 0; k < 3; k++) p.position[k] = in[3 * i + k], p.velocity[k] = in[3 * i + k + 1];
  p.kind = threadIdx.x;
  for (int step = 0; step < 4; step++) advance(p, 0.1f);
  out[i] = p;
}

struct Vector {
  double x, y, z;
  __device__ Vector operator+(const Vector &o) const { return {x + o.x, y + o.y, z + o.z}; }
  __device__ Vector operator*(double s) const { return {x * s, y * s, z * s}; }
};

__device__ __noinline__ Vector cross(Vector a, Vector b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

//@ struct_by_value(f64, out, n) any
extern "C" __global__ void struct_by_value(const double *in, Vector *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  Vector a = {in[i], in[i + 1], 1}, b = {0.5, in[i + 2], (double)threadIdx.y};
  out[i] = cross(a, b) + a * 0.5;
}

//@ local_histogram(u8, out, n, k) any shift=1
extern "C" __global__ void local_histogram(const unsigned char *in, unsigned *out, int n, int length) {
  int i = INDEX;
  if (i >= n) return;
  unsigned short counts[16] = {};
  for (int k = 0; k < length; k++) counts[in[i + k] & 15]++;
  unsigned most = 0;
  for (int k = 0; k < 16; k++) most = max(most, counts[k] * 16u + k);
  out[i] = most;
}

//@ local_stack(u32, out, n) any
extern "C" __global__ void local_stack(const unsigned *in, int *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  int stack[32], top = 0, sum = 0;
  stack[top++] = in[i] % 30 + 1;
  while (top > 0) {
    int node = stack[--top];
    sum += node;
    if (node < 40 && top < 30) {
      if (node % 3 == 0) stack[top++] = node * 2 + 1;
      if (node % 5 < 2) stack[top++] = node * 2 + 2;
    }
  }
  out[i] = sum;
}

//@ local_address(u32, out, n) any
extern "C" __global__ void local_address(const unsigned *in, unsigned *out, int n) {
  int i = INDEX;
  unsigned mine[4] = {in[i], threadIdx.x, threadIdx.y, threadIdx.z};
  unsigned *volatile at = &mine[in[0] & 3];
  *at += i;
  unsigned *second = at;
  if (i < n) out[i] = *second + mine[1] * 3 + mine[in[i] & 3];
}

//@ switches(u32, out, n) any alias shift=4
extern "C" __global__ void switches(const unsigned *in, unsigned *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  unsigned x = in[i], r = 0;
  for (int k = 0; k < 4; k++, x /= 11)
    switch (x % 11) {
    case 0: r += 1; break;
    case 1: r ^= 0x55; break;
    case 2: r = r * 3;
    case 3: r = r + x; break;
    case 4: r = ~r; break;
    case 5: r >>= 2; break;
    case 7: r += threadIdx.x; break;
    case 9: continue;
    default: r -= k; break;
    }
  out[i] = r;
}

typedef float (*Function)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ float square(float x) { return x * x; }
__device__ float inverse(float x) { return x == 0 ? 0 : 1 / x; }
__device__ Function functions[3] = {twice, square, inverse};

//@ function_pointers(f32, u32, out, n) any
extern "C" __global__ void function_pointers(const float *in, const unsigned *which, float *out, int n) {
  int i = INDEX;
  if (i < n) out[i] = functions[which[i] % 3](in[i]) + functions[blockIdx.x % 3](0.5f);
}

struct Shape {
  __device__ virtual float area() const = 0;
};
struct Circle : Shape {
  float r;
  __device__ Circle(float r) : r(r) {}
  __device__ float area() const override { return 3.14159265f * r * r; }
};
struct Box : Shape {
  float a, b;
  __device__ Box(float a, float b) : a(a), b(b) {}
  __device__ float area() const override { return a * b; }
};

//@ virtual_calls(f32, out, n) any
extern "C" __global__ void virtual_calls(const float *in, float *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  Circle circle(in[i]);
  Box box(in[i], threadIdx.x);
  const Shape *shape = in[i] > 0 ? (const Shape *)&circle : &box;
  out[i] = shape->area();
}

//@ early_returns(u32, out, n) any
extern "C" __global__ void early_returns(const unsigned *in, unsigned *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  unsigned x = in[i];
  out[i] = 1;
  if (x % 3 == 0) return;
  out[i] = 2;
  for (int k = 0; k < 10; k++) {
    if (x % 17 == 0) return;
    x = x * 5 + 1;
    out[i] = x;
  }
}

//@ nested_loops(u32, out, n) any
extern "C" __global__ void nested_loops(const unsigned *in, unsigned *out, int n) {
  unsigned i = INDEX;
  if (i >= n) return;
  unsigned sum = 0, x = in[i];
  for (unsigned a = 0; a < threadIdx.x % 4 + 1; a++)
    for (unsigned b = 0; b <= (x & 3); b++) {
      if (b * a > 5) break;
      for (unsigned c = threadIdx.y % 3; c < 4; c++) {
        if ((x >> c & 1) == 0) continue;
        sum += a * 100 + b * 10 + c;
        if (sum % 29 == 7) goto done;
      }
    }
done:
  out[i] = sum;
}

//@ string_search(u8, out, n) any shift=1
extern "C" __global__ void string_search(const char *text, unsigned char *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  const char pattern[] = {3, 1, 2};
  int matched = 0;
  while (matched < 3 && (text[i + matched] & 3) == (pattern[matched] & 3)) matched++;
  out[i] = matched;
}

//@ binary_search(sorted, u32, out, n) any
extern "C" __global__ void binary_search(const unsigned *keys, const unsigned *wanted, int *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  unsigned key = wanted[i] % (n * 8);
  int low = 0, high = n;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (keys[middle] < key) low = middle + 1;
    else high = middle;
  }
  out[i] = low;
}

//@ queue_append(u32, out, zero, n) any
extern "C" __global__ void queue_append(const unsigned *in, unsigned *found, unsigned *counters, int n) {
  int i = INDEX;
  if (i < n && in[i] % 4 == 0) {
    atomicAdd(&counters[0], 1);
    atomicOr(&found[i / 32], 1u << i % 32);
    atomicAnd(&found[2048 + i / 32], ~(1u << i % 32));
  }
}

//@ atomics_wide(u64, zero, n) any
extern "C" __global__ void atomics_wide(const unsigned long long *in, unsigned long long *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  atomicAdd(&out[in[i] % 5], in[i]);
  atomicMax(&out[8 + in[i] % 3], in[i]);
  atomicXor((unsigned *)out + 64 + i % 7, (unsigned)in[i]);
  atomicInc((unsigned *)out + 96, 1000000);
}

//@ cas_own_word(u32, zero, n) any
extern "C" __global__ void cas_own_word(const unsigned *in, unsigned *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  unsigned seen = out[i], expected;
  do {
    expected = seen;
    seen = atomicCAS(&out[i], expected, expected + in[i] % 5 + 1);
  } while (seen != expected || (out[i] < 12));
}

//@ volatile_words(u32, out, n) any
extern "C" __global__ void volatile_words(const volatile unsigned *in, volatile unsigned *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  out[i] = in[i];
  __threadfence();
  out[i] = out[i] + in[i] * 2;
  __threadfence_block();
  out[i] = out[i] ^ in[0];
}

extern __shared__ unsigned char dynamic_bytes[];

//@ dynamic_shared(u32, out, n) any shared=8
extern "C" __global__ void dynamic_shared(const unsigned *in, unsigned *out, int n) {
  unsigned *words = (unsigned *)dynamic_bytes;
  unsigned short *shorts = (unsigned short *)(words + THREADS);
  int i = INDEX, t = LOCAL;
  words[t] = in[i];
  shorts[t] = in[i] >> 5;
  __syncthreads();
  unsigned other = (t * 7 + 3) % THREADS;
  if (i < n) out[i] = words[other] + shorts[THREADS - 1 - t];
}

//@ shared_structs(f32, out, n) any max=512
extern "C" __global__ void shared_structs(const float *in, float *out, int n) {
  struct Entry {
    float value;
    unsigned char tag;
    unsigned short count;
  };
  __shared__ Entry entries[512];
  int i = INDEX, t = LOCAL;
  entries[t] = {in[i], (unsigned char)threadIdx.x, (unsigned short)(threadIdx.y * 3)};
  __syncthreads();
  const Entry &next = entries[(t + 1) % THREADS];
  if (i < n) out[i] = next.value + next.tag * 2 + next.count;
}

//@ vector_copies(f32, out, n) any
extern "C" __global__ void vector_copies(const float4 *in, float4 *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  float4 a = in[i];
  float2 b = ((const float2 *)in)[i];
  out[2 * i] = make_float4(a.w, a.z, b.x, b.y);
  ((float2 *)out)[4 * i + 2] = make_float2(a.x, b.x);
  ((float2 *)out)[4 * i + 3] = make_float2(a.y, (float)i);
}

//@ vector_bytes(u8x4, out, n) any
extern "C" __global__ void vector_bytes(const uchar4 *in, short2 *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  uchar4 p = in[i];
  out[2 * i] = make_short2(p.x - p.y, p.z * 3);
  out[2 * i + 1] = make_short2(p.w, (signed char)p.x);
}

union Word {
  float f;
  unsigned u;
  unsigned char b[4];
};

//@ unions(f32, out, n) any shift=4
extern "C" __global__ void unions(const float *in, unsigned *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  Word word;
  word.f = in[i];
  unsigned char kept = word.b[0];
  word.b[0] = word.b[3];
  word.b[threadIdx.x & 3] ^= kept;
  out[i] = word.u;
}

//@ struct_of_arrays(f32, out, n, k) any
extern "C" __global__ void struct_of_arrays(const float *fields, float *out, int n, int count) {
  int i = INDEX;
  if (i >= n) return;
  float values[8], sum = 0;
  for (int k = 0; k < 8; k++) values[k] = fields[k * n + i];
  for (int k = 0; k < count; k++) {
    sum += values[k & 7];
    values[k * 3 & 7] = sum;
  }
  for (int k = 0; k < 8; k++) out[k * n + i] = values[k];
}

//@ array_of_structs(f32, n) any
extern "C" __global__ void array_of_structs(Particle *all, int n) {
  int i = INDEX;
  if (i >= n) return;
  all[i].position[1] += all[i].velocity[2];
  all[i].age = i;
  all[i].flags ^= all[i].kind;
}

__constant__ unsigned long long wide_table[8] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
__constant__ signed char byte_table[32] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10};

//@ constants(u32, out, n) any
extern "C" __global__ void constants(const unsigned *in, unsigned long long *out, int n) {
  int i = INDEX;
  if (i < n) out[i] = wide_table[in[i] & 7] * byte_table[threadIdx.x & 31] + wide_table[blockIdx.x & 7];
}

__device__ unsigned global_counter[64];

//@ global_variables(u32, out, n) any
extern "C" __global__ void global_variables(const unsigned *in, unsigned *out, int n) {
  int i = INDEX;
  if (i < n) atomicAdd(&global_counter[in[i] & 63], 0);
  if (i < n) out[i] = global_counter[i & 63] + in[i];
}

//@ past_the_end(u32, out, 65530) any faults
extern "C" __global__ void past_the_end(const unsigned *in, unsigned *out, int from) {
  unsigned i = INDEX;
  out[i] = in[from + i / 3];
}

//@ misaligned(u32, out, n) any faults
extern "C" __global__ void misaligned(const unsigned *in, unsigned *out, int n) {
  unsigned i = INDEX;
  if (i < n) out[i] = *(const unsigned *)((const char *)in + (i % 23 == 22 ? 2 : 4) * i);
}

//@ traps(u32, out, n) any faults
extern "C" __global__ void traps(const unsigned *in, unsigned *out, int n) {
  unsigned i = INDEX;
  if (i < n) out[i] = in[i];
  if (i < n && in[i] % 41 == 7) __trap();
}
