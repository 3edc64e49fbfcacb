// Matrices, stencils, images: kernels over two and three dimensions.
// A line that begins with `//@` says how the kernel below it is launched; see README.md.

//@ matmul_guarded(f32, f32, out, h, w, k) 2d shift=4
extern "C" __global__ void matmul_guarded(const float *a, const float *b, float *c, int rows, int cols, int inner) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows && col < cols) {
    float sum = 0.0f;
    for (int k = 0; k < inner; k++) sum += a[row * inner + k] * b[k * cols + col];
    c[row * cols + col] = sum;
  }
}

//@ matmul_square(f32, f32, out, s) 2d shift=4
extern "C" __global__ void matmul_square(const float *a, const float *b, float *c, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n && col < n) {
    float s = 0;
    for (int k = 0; k < n; ++k) s += a[row * n + k] * b[k * n + col];
    c[row * n + col] = s;
  }
}

//@ matmul_wide_index(f64, f64, out, h, w, k) 2d shift=8
extern "C" __global__ void matmul_wide_index(const double *a, const double *b, double *c, long long rows, long long cols,
                                             long long inner) {
  for (long long row = blockIdx.y * (long long)blockDim.y + threadIdx.y; row < rows; row += (long long)blockDim.y * gridDim.y)
    for (long long col = blockIdx.x * (long long)blockDim.x + threadIdx.x; col < cols; col += (long long)blockDim.x * gridDim.x) {
      double sum = 1.0;
      for (long long k = 0; k < inner; k++) sum = fma(a[row * inner + k], b[k * cols + col], sum);
      c[row * cols + col] = sum;
    }
}

template <int TILE> __device__ void tiled(const float *a, const float *b, float *c, int rows, int cols, int inner) {
  __shared__ float left[TILE][TILE], right[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int from = 0; from < inner; from += TILE) {
    int across = from + threadIdx.x, down = from + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < rows && across < inner ? a[row * inner + across] : 0.0f;
    right[threadIdx.y][threadIdx.x] = down < inner && col < cols ? b[down * cols + col] : 0.0f;
    __syncthreads();
    for (int k = 0; k < TILE; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  if (row < rows && col < cols) c[row * cols + col] = sum;
}

//@ matmul_tiled16(f32, f32, out, h, w, k) block=16,16 shift=4
extern "C" __global__ void matmul_tiled16(const float *a, const float *b, float *c, int rows, int cols, int inner) {
  tiled<16>(a, b, c, rows, cols, inner);
}

//@ matmul_tiled32(f32, f32, out, h, w, k) block=32,32 shift=4
extern "C" __global__ void matmul_tiled32(const float *a, const float *b, float *c, int rows, int cols, int inner) {
  tiled<32>(a, b, c, rows, cols, inner);
}

//@ matmul_tiled8(f32, f32, out, h, w, k) block=8,8 shift=4
extern "C" __global__ void matmul_tiled8(const float *a, const float *b, float *c, int rows, int cols, int inner) {
  tiled<8>(a, b, c, rows, cols, inner);
}

//@ matmul_register_tile(f32, f32, out, h, w, k) 2d
extern "C" __global__ void matmul_register_tile(const float *a, const float *b, float *c, int rows, int cols, int inner) {
  int row = (blockIdx.y * blockDim.y + threadIdx.y) * 2, col = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
  float sum[2][2] = {};
  for (int k = 0; k < inner; k++)
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 2; j++)
        if (row + i < rows && col + j < cols) sum[i][j] += a[(row + i) * inner + k] * b[k * cols + col + j];
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      if (row + i < rows && col + j < cols) c[(row + i) * cols + col + j] = sum[i][j];
}

//@ matvec(f32, f32, out, n, k) any shift=4
extern "C" __global__ void matvec(const float *a, const float *x, float *y, int n, int inner) {
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int row = block * (blockDim.x * blockDim.y * blockDim.z) + thread;
  if (row >= n) return;
  float sum = 0.0f;
  for (int k = 0; k < inner; k++) sum += a[row * inner + k] * x[k];
  y[row] = sum;
}

//@ transpose_naive(u32, out, w, h) 2d shift=4
extern "C" __global__ void transpose_naive(const unsigned *in, unsigned *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[x * height + y] = in[y * width + x];
}

//@ transpose_tiled(u32, out, w, h) block=32,8 shift=4
extern "C" __global__ void transpose_tiled(const unsigned *in, unsigned *out, int width, int height) {
  __shared__ unsigned tile[32][33];
  for (int down = threadIdx.y; down < 32; down += blockDim.y) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + down;
    if (x < width && y < height) tile[down][threadIdx.x] = in[y * width + x];
  }
  __syncthreads();
  for (int down = threadIdx.y; down < 32; down += blockDim.y) {
    int x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + down;
    if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][down];
  }
}

//@ transpose_bytes(u8, out, w, h) 2d shift=1
extern "C" __global__ void transpose_bytes(const unsigned char *in, unsigned char *out, unsigned width, unsigned height) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[x * height + y] = in[y * width + x];
}

//@ stencil_five(f32, out, w, h) 2d shift=4
extern "C" __global__ void stencil_five(const float *in, float *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int at = y * width + x;
  float middle = in[at];
  float left = x > 0 ? in[at - 1] : middle, right = x + 1 < width ? in[at + 1] : middle;
  float up = y > 0 ? in[at - width] : middle, down = y + 1 < height ? in[at + width] : middle;
  out[at] = 0.2f * (left + right + up + down + middle);
}

//@ stencil_nine_wrap(u32, out, w, h) 2d shift=4
extern "C" __global__ void stencil_nine_wrap(const unsigned *in, unsigned *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  unsigned alive = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) {
      if (dx == 0 && dy == 0) continue;
      alive += in[((y + dy + height) % height) * width + (x + dx + width) % width] & 1;
    }
  out[y * width + x] = alive == 3 || (alive == 2 && (in[y * width + x] & 1));
}

//@ stencil_seven(f32, out, w, h, d) 3d shift=4
extern "C" __global__ void stencil_seven(const float *in, float *out, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  int at = (z * ny + y) * nx + x;
  float sum = -6.0f * in[at];
  if (x > 0) sum += in[at - 1];
  if (x < nx - 1) sum += in[at + 1];
  if (y > 0) sum += in[at - nx];
  if (y < ny - 1) sum += in[at + nx];
  if (z > 0) sum += in[at - nx * ny];
  if (z < nz - 1) sum += in[at + nx * ny];
  out[at] = in[at] + 0.1f * sum;
}

//@ stencil_march(f32, out, w, h, k) 2d
extern "C" __global__ void stencil_march(const float *in, float *out, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  int plane = nx * ny, at = y * nx + x;
  float behind = in[at], here = in[at + plane];
  for (int z = 1; z + 1 < nz; z++) {
    float ahead = in[at + (z + 1) * plane];
    out[at + z * plane] = behind + ahead - 2.0f * here;
    behind = here;
    here = ahead;
  }
}

//@ halo_tile(f32, out, n) 1d max=256 shift=4
extern "C" __global__ void halo_tile(const float *in, float *out, int n) {
  __shared__ float tile[256 + 6];
  int at = blockIdx.x * blockDim.x + threadIdx.x, local = threadIdx.x + 3;
  tile[local] = at < n ? in[at] : 0.0f;
  if (threadIdx.x < 3) {
    tile[threadIdx.x] = at >= 3 && at - 3 < n ? in[at - 3] : 0.0f;
    int beyond = blockIdx.x * blockDim.x + blockDim.x + threadIdx.x;
    tile[threadIdx.x + blockDim.x + 3] = beyond < n ? in[beyond] : 0.0f;
  }
  if (blockDim.x < 3 && threadIdx.x == 0)
    for (int i = blockDim.x; i < 3; i++) {
      int before = (int)(blockIdx.x * blockDim.x) - 3 + i, beyond = blockIdx.x * blockDim.x + blockDim.x + i;
      tile[i] = before >= 0 && before < n ? in[before] : 0.0f;
      tile[i + blockDim.x + 3] = beyond < n ? in[beyond] : 0.0f;
    }
  __syncthreads();
  float sum = 0.0f;
  for (int i = -3; i <= 3; i++) sum += tile[local + i] * (float)(4 - abs(i));
  if (at < n) out[at] = sum;
}

__constant__ float filter[5][5] = {{1, 4, 6, 4, 1}, {4, 16, 24, 16, 4}, {6, 24, 36, 24, 6}, {4, 16, 24, 16, 4}, {1, 4, 6, 4, 1}};

//@ convolve_constant(f32, out, w, h) 2d shift=4
extern "C" __global__ void convolve_constant(const float *in, float *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0.0f;
  for (int j = 0; j < 5; j++)
    for (int i = 0; i < 5; i++) {
      int sx = min(max(x + i - 2, 0), width - 1), sy = min(max(y + j - 2, 0), height - 1);
      sum += filter[j][i] * in[sy * width + sx];
    }
  out[y * width + x] = sum / 256.0f;
}

//@ convolve_row(f32, f32, out, n, k) 1d shift=4
extern "C" __global__ void convolve_row(const float *in, const float *taps, float *out, int n, int length) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= n) return;
  float sum = 0.0f;
  for (int k = 0; k < length; k++) {
    int from = at + k - length / 2;
    if (from < 0 || from >= n) continue;
    sum += taps[k] * in[from];
  }
  out[at] = sum;
}

//@ convolve_channels(u8, out, w, h) 2d shift=1
extern "C" __global__ void convolve_channels(const unsigned char *in, unsigned char *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  for (int channel = 0; channel < 3; channel++) {
    int sum = 0, count = 0;
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++)
        if (x + dx >= 0 && x + dx < width && y + dy >= 0 && y + dy < height) {
          sum += in[((y + dy) * width + x + dx) * 3 + channel];
          count++;
        }
    out[(y * width + x) * 3 + channel] = sum / count;
  }
}

//@ grey_bytes(u8, out, w, h) 2d shift=1
extern "C" __global__ void grey_bytes(const unsigned char *rgb, unsigned char *grey, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) {
    int at = y * width + x;
    unsigned char r = rgb[3 * at], g = rgb[3 * at + 1], b = rgb[3 * at + 2];
    grey[at] = (unsigned char)(0.21f * r + 0.71f * g + 0.07f * b);
  }
}

//@ grey_fixed(u8x4, out, n) 1d
extern "C" __global__ void grey_fixed(const uchar4 *in, unsigned char *out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    uchar4 p = in[i];
    out[i] = (p.x * 77 + p.y * 150 + p.z * 29 + 128) >> 8;
  }
}

//@ bilinear(f32, out, w, h) 2d shift=4
extern "C" __global__ void bilinear(const float *in, float *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float fx = (x + 0.5f) * 0.7f - 0.5f, fy = (y + 0.5f) * 0.6f - 0.5f;
  int x0 = (int)floorf(fx), y0 = (int)floorf(fy);
  float ax = fx - x0, ay = fy - y0;
  int xa = min(max(x0, 0), width - 1), xb = min(max(x0 + 1, 0), width - 1);
  int ya = min(max(y0, 0), height - 1), yb = min(max(y0 + 1, 0), height - 1);
  float top = in[ya * width + xa] * (1 - ax) + in[ya * width + xb] * ax;
  float bottom = in[yb * width + xa] * (1 - ax) + in[yb * width + xb] * ax;
  out[y * width + x] = top * (1 - ay) + bottom * ay;
}

//@ median3(f32, out, w, h) 2d shift=4
extern "C" __global__ void median3(const float *in, float *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float window[9];
  int count = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) {
      int sx = x + dx, sy = y + dy;
      if (sx >= 0 && sx < width && sy >= 0 && sy < height) window[count++] = in[sy * width + sx];
    }
  for (int i = 1; i < count; i++) {
    float value = window[i];
    int j = i - 1;
    while (j >= 0 && window[j] > value) {
      window[j + 1] = window[j];
      j--;
    }
    window[j + 1] = value;
  }
  out[y * width + x] = window[count / 2];
}

//@ volume_index(out, w, h, d) 3d
extern "C" __global__ void volume_index(unsigned *out, unsigned nx, unsigned ny, unsigned nz) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < nx && y < ny && z < nz)
    out[(size_t)z * nx * ny + (size_t)y * nx + x] = x | y << 10 | z << 20;
}

//@ every_index(out) any
extern "C" __global__ void every_index(uint4 *out) {
  unsigned lane, warp;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
  unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned at = block * (blockDim.x * blockDim.y * blockDim.z) + thread;
  out[at] = make_uint4(threadIdx.x | threadIdx.y << 10 | threadIdx.z << 20, blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16,
                       thread / warpSize == warp, thread % warpSize == lane);
}

//@ index_by_division(u32, out, n, w, h) any
extern "C" __global__ void index_by_division(const unsigned *in, unsigned *out, int n, int width, int height) {
  int threads = blockDim.x * blockDim.y * blockDim.z;
  int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  int at = (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) * threads + thread;
  if (at >= n) return;
  int x = at % width, y = at / width % height, z = at / (width * height);
  out[at] = in[(z * 7 + y) % 13 * 64 + x % 64] + x * 3 + y * 5 + z * 7;
}

//@ batched_add(f32, f32, out, w, h, d) 3d alias shift=4
extern "C" __global__ void batched_add(const float *a, const float *b, float *c, int width, int height, int batches) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int batch = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < width && y < height && batch < batches) {
    int at = batch * width * height + y * width + x;
    c[at] = a[at] + b[at] * (float)(batch + 1);
  }
}

//@ gaussian_separable(f32, out, w, h) block=16,16 shift=4
extern "C" __global__ void gaussian_separable(const float *in, float *out, int width, int height) {
  __shared__ float rows[20][20], columns[20][16];
  int x0 = blockIdx.x * 16 - 2, y0 = blockIdx.y * 16 - 2;
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 400; i += 256) {
    int x = x0 + i % 20, y = y0 + i / 20;
    rows[i / 20][i % 20] = x >= 0 && x < width && y >= 0 && y < height ? in[y * width + x] : 0.0f;
  }
  __syncthreads();
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 320; i += 256) {
    float *row = rows[i / 16] + i % 16;
    columns[i / 16][i % 16] = row[0] + 4 * row[1] + 6 * row[2] + 4 * row[3] + row[4];
  }
  __syncthreads();
  int x = x0 + 2 + threadIdx.x, y = y0 + 2 + threadIdx.y;
  float sum = 0;
  for (int i = 0; i < 5; i++) sum += columns[threadIdx.y + i][threadIdx.x] * (i == 2 ? 6 : i % 2 ? 4 : 1);
  if (x < width && y < height) out[y * width + x] = sum / 256;
}
