// Integers: hashes, random numbers, packed bytes, 64-bit arithmetic, division and remainder.
// A line that begins with `//@` says how the kernel below it is launched; see README.md.

#define INDEX \
  ((((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * blockDim.z + threadIdx.z) * blockDim.y + threadIdx.y) * \
          blockDim.x + threadIdx.x

typedef unsigned long long u64;
typedef long long s64;

//@ lcg(u32, out, n) any alias shift=4
extern "C" __global__ void lcg(const unsigned *in, unsigned *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  unsigned x = in[i];
  for (int k = 0; k < 20; k++) x = x * 1664525u + 1013904223u;
  out[i] = x;
}

//@ xorshift_wide(u64, out, n) any shift=8
extern "C" __global__ void xorshift_wide(const u64 *in, u64 *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  u64 x = in[i] | 1;
  for (int k = 0; k < 9; k++) {
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
  }
  out[i] = x * 2685821657736338717ull;
}

//@ philox(out, n, 77) any
extern "C" __global__ void philox(uint4 *out, int n, unsigned key) {
  int i = INDEX;
  if (i >= n) return;
  unsigned c0 = i, c1 = 1, c2 = 2, c3 = 3, k0 = key, k1 = 5;
  for (int round = 0; round < 10; round++) {
    unsigned h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
    unsigned h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
    c0 = h1 ^ c1 ^ k0;
    c1 = l1;
    c2 = h0 ^ c3 ^ k1;
    c3 = l0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[i] = make_uint4(c0, c1, c2, c3);
}

__constant__ unsigned crc_table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                       0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

//@ crc32(u8, out, n, k) any shift=1
extern "C" __global__ void crc32(const unsigned char *in, unsigned *out, int n, int length) {
  int i = INDEX;
  if (i >= n) return;
  unsigned crc = ~0u;
  for (int k = 0; k < length; k++) {
    crc ^= in[i * 3 + k];
    crc = crc >> 4 ^ crc_table[crc & 15];
    crc = crc >> 4 ^ crc_table[crc & 15];
  }
  out[i] = ~crc;
}

__device__ unsigned rotate(unsigned x, int by) { return x << by | x >> (32 - by); }

//@ sha_rounds(u32, out, n) any
extern "C" __global__ void sha_rounds(const unsigned *in, unsigned *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  unsigned w[16], a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476, e = 0xc3d2e1f0;
  for (int k = 0; k < 16; k++) w[k] = in[i] * (k + 1) ^ i;
  for (int k = 0; k < 40; k++) {
    if (k >= 16) w[k & 15] = rotate(w[k + 13 & 15] ^ w[k + 8 & 15] ^ w[k + 2 & 15] ^ w[k & 15], 1);
    unsigned f = k < 20 ? (b & c) | (~b & d) : b ^ c ^ d;
    unsigned next = rotate(a, 5) + f + e + (k < 20 ? 0x5a827999 : 0x6ed9eba1) + w[k & 15];
    e = d;
    d = c;
    c = rotate(b, 30);
    b = a;
    a = next;
  }
  out[i] = a ^ b + c ^ d + e;
}

//@ murmur(u8, out, n, k) any
extern "C" __global__ void murmur(const unsigned char *in, unsigned *out, int n, int length) {
  int i = INDEX;
  if (i >= n) return;
  const unsigned char *data = in + i * 4;
  unsigned h = 0x9747b28c;
  int rest = length;
  for (; rest >= 4; rest -= 4, data += 4) {
    unsigned k = *(const unsigned *)data * 0xcc9e2d51u;
    h = __funnelshift_l(h ^ __funnelshift_l(k, k, 15) * 0x1b873593u, h ^ __funnelshift_l(k, k, 15) * 0x1b873593u, 13) * 5 +
        0xe6546b64u;
  }
  unsigned tail = 0;
  switch (rest) {
  case 3: tail ^= data[2] << 16;
  case 2: tail ^= data[1] << 8;
  case 1: tail ^= data[0]; h ^= tail * 0xcc9e2d51u;
  }
  h ^= length;
  h ^= h >> 16;
  h *= 0x85ebca6b;
  h ^= h >> 13;
  out[i] = h;
}

//@ wide_division(u64, u32, out, n) any shift=8
extern "C" __global__ void wide_division(const s64 *a, const s64 *b, s64 *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  s64 x = a[i], y = b[i] >> (i % 60) | 1;
  out[2 * i] = x / y + x % 1000003;
  out[2 * i + 1] = (u64)x % (u64)y ^ x / 7;
}

//@ division_by_constants(u32, out, n) any shift=4
extern "C" __global__ void division_by_constants(const int *in, int *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  int x = in[i];
  unsigned u = x;
  out[i] = x / 3 + x % 5 * 2 + x / -7 + x % 10 + x / 16 + x % 64 + u / 3 + u % 7 + u / 641 + u % 1000 + u / 0x80000001u;
}

//@ modulo_gather(u32, out, n) any shift=4
extern "C" __global__ void modulo_gather(const unsigned *in, unsigned *out, int n) {
  unsigned i = INDEX;
  if (i < n) out[i] = in[i % 7] + in[i / 3] + in[i % 100 * 5 % 61] + in[(i * 31 + 17) % n] + in[i % 16] + in[i / 16 * 16];
}

//@ scatter_permuted(u32, out, n) any
extern "C" __global__ void scatter_permuted(const unsigned *in, unsigned *out, int n) {
  unsigned i = INDEX;
  if (i < n) out[n - 1 - i] = in[i ^ 5] * 3;
}

//@ bit_tricks(u32, out, n) any alias shift=4
extern "C" __global__ void bit_tricks(const unsigned *in, unsigned *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  unsigned x = in[i], r = __popc(x) + __clz(x) * 3 + __ffs(x) * 5 + __brev(x);
  r ^= __byte_perm(x, r, 0x3715) + __funnelshift_r(x, r, x & 31);
  r += (x & -x) ^ (x & (x - 1)) ^ (x >> (r & 31)) ^ (int)x >> 7;
  x = (x & 0x55555555) << 1 | (x >> 1 & 0x55555555);
  out[i] = r + x;
}

//@ bit_tricks_wide(u64, out, n) any alias shift=8
extern "C" __global__ void bit_tricks_wide(const u64 *in, u64 *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  u64 x = in[i];
  u64 r = __popcll(x) + __clzll(x) * 3 + __ffsll(x) * 5 + __brevll(x);
  r ^= x >> (r & 63) ^ x << (x & 63) ^ (s64)x >> 9;
  r += __umul64hi(x, r) + __mul64hi((s64)x, (s64)r) * 3;
  out[i] = r;
}

//@ gcd(u32, u32, out, n) any shift=4
extern "C" __global__ void gcd(const unsigned *a, const unsigned *b, unsigned *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  unsigned x = a[i] % 5000 + 1, y = b[i] % 3000 + 1;
  while (y) {
    unsigned rest = x % y;
    x = y;
    y = rest;
  }
  out[i] = x;
}

//@ collatz(u32, out, n) any shift=4
extern "C" __global__ void collatz(const unsigned *in, int *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  u64 x = in[i] % 97 + 1;
  int steps = 0;
  while (x != 1) {
    x = x & 1 ? 3 * x + 1 : x >> 1;
    steps++;
  }
  out[i] = steps;
}

//@ power_mod(u32, out, n) any
extern "C" __global__ void power_mod(const unsigned *in, unsigned *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  unsigned base = in[i] % 10007, exponent = in[i] >> 20;
  u64 result = 1, factor = base;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) result = result * factor % 10007;
    factor = factor * factor % 10007;
  }
  out[i] = (unsigned)result;
}

//@ sieve(out, n) any
extern "C" __global__ void sieve(unsigned char *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  bool prime = i >= 2;
  for (int d = 2; d * d <= i && prime; d++)
    if (i % d == 0) prime = false;
  out[i] = prime;
}

//@ signed_bytes(u8, u8, out, n) any shift=1
extern "C" __global__ void signed_bytes(const signed char *a, const signed char *b, signed char *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  int sum = a[i] + b[i];
  out[i] = sum > 127 ? 127 : sum < -128 ? -128 : sum;
}

//@ short_products(u16, u16, out, n) any shift=2
extern "C" __global__ void short_products(const unsigned short *a, const short *b, short *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  unsigned short x = a[i];
  short y = b[i];
  out[i] = (short)((x * y >> 5) + (x >> 3) - (y >> 2) + (x % 10) * (y / 3));
}

//@ quantized_dot(u32, u32, out, n, k) any shift=4
extern "C" __global__ void quantized_dot(const int *a, const int *b, int *out, int n, int length) {
  int i = INDEX;
  if (i >= n) return;
  int sum = 0;
  for (int k = 0; k < length; k++) asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a[i + k]), "r"(b[k]));
  unsigned other;
  asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(other) : "r"(a[i]), "r"(b[i]), "r"(7));
  out[i] = sum ^ other;
}

//@ packed_halves(u32, u32, out, n) any
extern "C" __global__ void packed_halves(const unsigned *a, const unsigned *b, unsigned *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  out[i] = __vadd4(a[i], b[i]) ^ __vmaxs2(a[i], b[i]) ^ __vabsdiffu4(a[i], b[i]) + __vcmpgtu4(a[i], b[i]);
}

//@ min_max_clamp(u32, u32, out, n) any alias shift=4
extern "C" __global__ void min_max_clamp(const int *a, const int *b, int *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  int x = a[i], y = b[i];
  out[i] = max(min(x, y), -1000000) + abs(x >> 1) + (int)min((unsigned)x, (unsigned)y) + max(x, i) + (x > y ? x : -y);
}

//@ carry_chain(u32, u32, out, n) any
extern "C" __global__ void carry_chain(const unsigned *a, const unsigned *b, unsigned *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  unsigned x[4], y[4], sum[4];
  for (int k = 0; k < 4; k++) x[k] = a[4 * i + k], y[k] = b[4 * i + k];
  asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\taddc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
      : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]));
  for (int k = 0; k < 4; k++) out[4 * i + k] = sum[k];
}

//@ big_multiply(u32, u32, out, n) any
extern "C" __global__ void big_multiply(const unsigned *a, const unsigned *b, unsigned *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  unsigned product[8] = {};
  for (int k = 0; k < 4; k++) {
    u64 carry = 0;
    for (int m = 0; m < 4; m++) {
      u64 sum = (u64)a[4 * i + k] * b[4 * i + m] + product[k + m] + carry;
      product[k + m] = (unsigned)sum;
      carry = sum >> 32;
    }
    product[k + 4] = (unsigned)carry;
  }
  for (int k = 0; k < 8; k++) out[8 * i + k] = product[k];
}

//@ morton(out, w, h) 2d
extern "C" __global__ void morton(unsigned *out, int width, int height) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  unsigned code = 0;
  for (int bit = 0; bit < 12; bit++) code |= (x >> bit & 1) << 2 * bit | (y >> bit & 1) << (2 * bit + 1);
  out[y * width + x] = code;
}

//@ wide_products(u32, out) any
extern "C" __global__ void wide_products(const int *in, s64 *out) {
  int i = INDEX;
  s64 sum = (s64)in[i] * (int)threadIdx.y + (u64)threadIdx.z * blockDim.x;
  for (int k = 0; k < in[i] % 5; k++) sum += (s64)(int)threadIdx.z * in[k];
  sum += (s64)(int)threadIdx.y * 12345 + (u64)threadIdx.z * 54321u + (s64)(int)(threadIdx.x + threadIdx.y) * in[i];
  out[i] = sum;
}

//@ luhn_digits(u64, out, n) any
extern "C" __global__ void luhn_digits(const u64 *in, unsigned char *out, int n) {
  int i = INDEX;
  if (i >= n) return;
  u64 number = in[i];
  int sum = 0;
  for (bool twice = false; number; number /= 10, twice = !twice) {
    int digit = number % 10;
    if (twice) digit = digit > 4 ? 2 * digit - 9 : 2 * digit;
    sum += digit;
  }
  out[i] = sum % 10;
}
