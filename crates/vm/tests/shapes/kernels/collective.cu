// Reductions, scans, sorts, histograms, votes and shuffles.
// A line that begins with `//@` says how the kernel below it is launched; see README.md.

__device__ unsigned thread_index() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
__device__ unsigned block_size() { return blockDim.x * blockDim.y * blockDim.z; }
__device__ unsigned block_index() { return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
__device__ unsigned blocks() { return gridDim.x * gridDim.y * gridDim.z; }

//@ histogram_global(u8, zero, n) any shift=4
extern "C" __global__ void histogram_global(const unsigned char *in, unsigned *bins, int n) {
  for (int i = block_index() * block_size() + thread_index(); i < n; i += block_size() * blocks()) atomicAdd(&bins[in[i]], 1u);
}

//@ histogram_shared(u8, zero, n) any
extern "C" __global__ void histogram_shared(const unsigned char *in, unsigned *bins, int n) {
  __shared__ unsigned counts[256];
  for (unsigned i = thread_index(); i < 256; i += block_size()) counts[i] = 0;
  __syncthreads();
  for (int i = block_index() * block_size() + thread_index(); i < n; i += block_size() * blocks()) atomicAdd(&counts[in[i]], 1u);
  __syncthreads();
  for (unsigned i = thread_index(); i < 256; i += block_size())
    if (counts[i]) atomicAdd(&bins[i], counts[i]);
}

//@ histogram_packed(u32, zero, n) 1d max=256
extern "C" __global__ void histogram_packed(const unsigned *in, unsigned *bins, int n) {
  __shared__ unsigned char counts[16][256];
  for (int bin = 0; bin < 16; bin++) counts[bin][threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    for (int k = 0; k < 8; k++) counts[in[i] >> 4 * k & 15][threadIdx.x]++;
  __syncthreads();
  if (threadIdx.x < 16) {
    unsigned sum = 0;
    for (unsigned i = 0; i < blockDim.x; i++) sum += counts[threadIdx.x][i];
    atomicAdd(&bins[threadIdx.x], sum);
  }
}

//@ reduce_shared(u32, zero, n) any pow2
extern "C" __global__ void reduce_shared(const unsigned *in, unsigned *out, int n) {
  __shared__ unsigned part[1024];
  unsigned t = thread_index(), at = block_index() * block_size() + t;
  part[t] = at < n ? in[at] : 0;
  __syncthreads();
  for (unsigned s = block_size() / 2; s > 0; s >>= 1) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) atomicAdd(out, part[0]);
}

//@ reduce_interleaved(f32, out, n) any
extern "C" __global__ void reduce_interleaved(const float *in, float *out, int n) {
  __shared__ float part[1024];
  unsigned t = thread_index(), size = block_size(), at = block_index() * size + t;
  part[t] = at < n ? in[at] : 0.0f;
  __syncthreads();
  for (unsigned s = 1; s < size; s *= 2) {
    if (t % (2 * s) == 0 && t + s < size) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) out[block_index()] = part[0];
}

//@ reduce_shuffle(f32, out, n) warps
extern "C" __global__ void reduce_shuffle(const float *in, float *out, int n) {
  __shared__ float parts[32];
  unsigned t = thread_index(), at = block_index() * block_size() + t;
  float value = at < n ? in[at] : 0.0f;
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  if (t % 32 == 0) parts[t / 32] = value;
  __syncthreads();
  if (t < 32) {
    value = t < block_size() / 32 ? parts[t] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    if (t == 0) out[block_index()] = value;
  }
}

//@ reduce_max_index(f32, out, n) any
extern "C" __global__ void reduce_max_index(const float *in, int2 *out, int n) {
  __shared__ float values[1024];
  __shared__ int places[1024];
  unsigned t = thread_index(), size = block_size();
  float best = -1e30f;
  int place = -1;
  for (int i = block_index() * size + t; i < n; i += size * blocks())
    if (in[i] > best) best = in[i], place = i;
  values[t] = best;
  places[t] = place;
  __syncthreads();
  for (unsigned count = size; count > 1;) {
    unsigned half = (count + 1) / 2;
    if (t < count / 2 && values[t + half] > values[t]) {
      values[t] = values[t + half];
      places[t] = places[t + half];
    }
    __syncthreads();
    count = half;
  }
  if (t == 0) out[block_index()] = make_int2(places[0], __float_as_int(values[0]));
}

//@ reduce_redux(u32, zero, n) warps
extern "C" __global__ void reduce_redux(const unsigned *in, unsigned *out, int n) {
  unsigned at = block_index() * block_size() + thread_index();
  unsigned value = at < n ? in[at] : 0;
  unsigned sum = __reduce_add_sync(0xffffffffu, value & 0xffff), most = __reduce_max_sync(0xffffffffu, value);
  int least = __reduce_min_sync(0xffffffffu, (int)value);
  unsigned bits = __reduce_xor_sync(0xffffffffu, value);
  if (thread_index() % 32 == 0) {
    atomicAdd(&out[0], sum);
    atomicMax(&out[1], most);
    atomicMin((int *)&out[2], least);
    atomicXor(&out[3], bits);
  }
}

//@ reduce_integers_as_floats(u32, zero, n) any
extern "C" __global__ void reduce_integers_as_floats(const unsigned *in, float *out, int n) {
  unsigned at = block_index() * block_size() + thread_index();
  if (at < n) atomicAdd(&out[in[at] % 7], (float)(in[at] >> 28));
}

//@ scan_hillis(u32, out, n) any
extern "C" __global__ void scan_hillis(const unsigned *in, unsigned *out, int n) {
  __shared__ unsigned sums[2][1024];
  unsigned t = thread_index(), size = block_size(), at = block_index() * size + t;
  int from = 0;
  sums[0][t] = at < n ? in[at] : 0;
  __syncthreads();
  for (unsigned offset = 1; offset < size; offset *= 2) {
    sums[1 - from][t] = sums[from][t] + (t >= offset ? sums[from][t - offset] : 0);
    from = 1 - from;
    __syncthreads();
  }
  if (at < n) out[at] = sums[from][t];
}

//@ scan_blelloch(u32, out, n) 1d pow2
extern "C" __global__ void scan_blelloch(const unsigned *in, unsigned *out, int n) {
  __shared__ unsigned sums[2048];
  int t = threadIdx.x, size = 2 * blockDim.x, base = blockIdx.x * size;
  sums[2 * t] = base + 2 * t < n ? in[base + 2 * t] : 0;
  sums[2 * t + 1] = base + 2 * t + 1 < n ? in[base + 2 * t + 1] : 0;
  int offset = 1;
  for (int d = size / 2; d > 0; d /= 2, offset *= 2) {
    __syncthreads();
    if (t < d) sums[offset * (2 * t + 2) - 1] += sums[offset * (2 * t + 1) - 1];
  }
  if (t == 0) sums[size - 1] = 0;
  for (int d = 1; d < size; d *= 2) {
    offset /= 2;
    __syncthreads();
    if (t < d) {
      int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
      unsigned kept = sums[left];
      sums[left] = sums[right];
      sums[right] += kept;
    }
  }
  __syncthreads();
  if (base + 2 * t < n) out[base + 2 * t] = sums[2 * t];
  if (base + 2 * t + 1 < n) out[base + 2 * t + 1] = sums[2 * t + 1];
}

//@ scan_warps(u32, out, n) warps
extern "C" __global__ void scan_warps(const int *in, int *out, int n) {
  __shared__ int totals[32];
  int t = thread_index(), lane = t & 31, warp = t >> 5, at = block_index() * block_size() + t;
  int sum = at < n ? in[at] : 0;
  for (int offset = 1; offset < 32; offset <<= 1) {
    int other = __shfl_up_sync(0xffffffffu, sum, offset);
    if (lane >= offset) sum += other;
  }
  if (lane == 31) totals[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    int total = lane < block_size() / 32 ? totals[lane] : 0;
    for (int offset = 1; offset < 32; offset <<= 1) {
      int other = __shfl_up_sync(0xffffffffu, total, offset);
      if (lane >= offset) total += other;
    }
    totals[lane] = total;
  }
  __syncthreads();
  if (warp > 0) sum += totals[warp - 1];
  if (at < n) out[at] = sum;
}

//@ scan_by_key(u32, f32, out, n) 1d
extern "C" __global__ void scan_by_key(const unsigned *keys, const float *values, float *out, int n) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= n) return;
  unsigned key = keys[at] & 1;
  float sum = 0;
  int from = at;
  while (from > 0 && (keys[from - 1] & 1) == key) from--;
  for (; from <= at; from++) sum += values[from];
  out[at] = sum;
}

//@ softmax_rows(f32, out, k) any
extern "C" __global__ void softmax_rows(const float *in, float *out, int columns) {
  __shared__ float part[1024];
  int t = thread_index(), size = block_size(), row = block_index();
  float most = -1e30f;
  for (int i = t; i < columns; i += size) most = fmaxf(most, in[row * columns + i]);
  part[t] = most;
  __syncthreads();
  for (int i = 0; i < min(size, columns); i++) most = fmaxf(most, part[i]);
  __syncthreads();
  float sum = 0;
  for (int i = t; i < columns; i += size) sum += expf(in[row * columns + i] - most);
  part[t] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < min(size, columns); i++) sum += part[i];
  for (int i = t; i < columns; i += size) out[row * columns + i] = expf(in[row * columns + i] - most) / sum;
}

//@ softmax_online(f32, out, n, k) any
extern "C" __global__ void softmax_online(const float *in, float *out, int n, int columns) {
  int row = block_index() * block_size() + thread_index();
  if (row >= n) return;
  float most = -INFINITY, sum = 0;
  for (int i = 0; i < columns; i++) {
    float x = in[row * columns + i], next = fmaxf(most, x);
    sum = sum * __expf(most - next) + __expf(x - next);
    most = next;
  }
  for (int i = 0; i < columns; i++) out[row * columns + i] = __expf(in[row * columns + i] - most) / sum;
}

//@ layer_norm(f32, f32, out, k) warps
extern "C" __global__ void layer_norm(const float *in, const float *weight, float *out, int columns) {
  __shared__ float sums[32], squares[32];
  int t = thread_index(), size = block_size(), row = block_index(), warps = size / 32;
  float sum = 0, square = 0;
  for (int i = t; i < columns; i += size) {
    float x = in[row * columns + i];
    sum += x;
    square += x * x;
  }
  for (int offset = 16; offset; offset >>= 1) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    square += __shfl_xor_sync(0xffffffffu, square, offset);
  }
  if (t % 32 == 0) sums[t / 32] = sum, squares[t / 32] = square;
  __syncthreads();
  sum = square = 0;
  for (int i = 0; i < warps; i++) sum += sums[i], square += squares[i];
  float mean = sum / columns, scale = rsqrtf(square / columns - mean * mean + 1e-5f);
  for (int i = t; i < columns; i += size) out[row * columns + i] = (in[row * columns + i] - mean) * scale * weight[i];
}

//@ bitonic_shared(u32, out) any pow2
extern "C" __global__ void bitonic_shared(const unsigned *in, unsigned *out) {
  __shared__ unsigned keys[1024];
  unsigned t = thread_index(), size = block_size(), base = block_index() * size;
  keys[t] = in[base + t];
  for (unsigned k = 2; k <= size; k *= 2)
    for (unsigned j = k / 2; j > 0; j /= 2) {
      __syncthreads();
      unsigned other = t ^ j;
      if (other > t) {
        bool up = (t & k) == 0;
        unsigned a = keys[t], b = keys[other];
        if ((a > b) == up) keys[t] = b, keys[other] = a;
      }
    }
  __syncthreads();
  out[base + t] = keys[t];
}

//@ bitonic_warp(u32, out) warps
extern "C" __global__ void bitonic_warp(const int *in, int *out) {
  int t = thread_index(), lane = t & 31, at = block_index() * block_size() + t;
  int key = in[at];
  for (int k = 2; k <= 32; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      int other = __shfl_xor_sync(0xffffffffu, key, j);
      bool up = (lane & k) == 0, low = (lane & j) == 0;
      key = up == low ? min(key, other) : max(key, other);
    }
  out[at] = key;
}

//@ odd_even_sort(i16, out) any max=256
extern "C" __global__ void odd_even_sort(const short *in, short *out) {
  __shared__ short keys[256];
  int t = thread_index(), size = block_size(), base = block_index() * size;
  keys[t] = in[base + t];
  __syncthreads();
  for (int pass = 0; pass < min(size, 40); pass++) {
    int i = 2 * t + (pass & 1);
    if (i + 1 < size && keys[i] > keys[i + 1]) {
      short kept = keys[i];
      keys[i] = keys[i + 1];
      keys[i + 1] = kept;
    }
    __syncthreads();
  }
  out[base + t] = keys[t];
}

//@ merge_path(sorted, sorted, out, n) any
extern "C" __global__ void merge_path(const unsigned *a, const unsigned *b, unsigned *out, int n) {
  int diagonal = block_index() * block_size() + thread_index();
  if (diagonal >= 2 * n) return;
  int low = max(0, diagonal - n), high = min(diagonal, n);
  while (low < high) {
    int middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle]) low = middle + 1;
    else high = middle;
  }
  int i = low, j = diagonal - low;
  out[diagonal] = j >= n || (i < n && a[i] <= b[j]) ? a[i] : b[j];
}

//@ radix_split(u32, out, n, 3) 1d
extern "C" __global__ void radix_split(const unsigned *in, unsigned *out, int n, int bit) {
  __shared__ unsigned zeros[1024];
  int t = threadIdx.x, base = blockIdx.x * blockDim.x;
  int count = min((int)blockDim.x, n - base);
  unsigned key = t < count ? in[base + t] : 0xffffffffu;
  unsigned is_zero = t < count && !(key >> bit & 1);
  zeros[t] = is_zero;
  __syncthreads();
  for (unsigned offset = 1; offset < blockDim.x; offset *= 2) {
    unsigned more = t >= offset ? zeros[t - offset] : 0;
    __syncthreads();
    zeros[t] += more;
    __syncthreads();
  }
  unsigned total = zeros[blockDim.x - 1];
  unsigned place = is_zero ? zeros[t] - 1 : total + t - zeros[t];
  if (t < count) out[base + place] = key;
}

//@ radix_count(u32, zero, n, 8) any
extern "C" __global__ void radix_count(const unsigned *in, unsigned *counts, int n, int shift) {
  __shared__ unsigned digits[16];
  unsigned t = thread_index();
  if (t < 16) digits[t] = 0;
  if (block_size() < 16 && t == 0)
    for (int i = 0; i < 16; i++) digits[i] = 0;
  __syncthreads();
  unsigned at = block_index() * block_size() + t;
  if (at < n) atomicAdd(&digits[in[at] >> shift & 15], 1);
  __syncthreads();
  for (unsigned i = t; i < 16; i += block_size()) counts[block_index() * 16 + i] = digits[i];
}

//@ compact_ballot(u32, out, n) 1d
extern "C" __global__ void compact_ballot(const unsigned *in, unsigned *out, int n) {
  __shared__ unsigned starts[33];
  int at = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  bool keep = at < n && in[at] % 3 != 0;
  unsigned ballot = __ballot_sync(__activemask(), keep);
  if (lane == 0) starts[warp + 1] = __popc(ballot);
  __syncthreads();
  if (threadIdx.x == 0) {
    starts[0] = 0;
    for (int i = 1; i <= (blockDim.x + 31) / 32; i++) starts[i] += starts[i - 1];
  }
  __syncthreads();
  if (keep) out[blockIdx.x * blockDim.x + starts[warp] + __popc(ballot & ((1u << lane) - 1))] = in[at];
}

//@ votes(u32, out, n) any
extern "C" __global__ void votes(const unsigned *in, unsigned *out, int n) {
  unsigned at = block_index() * block_size() + thread_index();
  unsigned all = __activemask();
  unsigned value = in[at];
  unsigned result = __ballot_sync(all, value & 1);
  result += __any_sync(all, value % 5 == 0) ? 3 : 0;
  result ^= __all_sync(all, value > 9) ? 0x500 : 0;
  if (value & 2) {
    unsigned here = __activemask();
    result += __popc(__ballot_sync(here, value & 4)) * 77;
  }
  if (at < n) out[at] = result;
}

//@ matches(u32, out, n) any
extern "C" __global__ void matches(const unsigned *in, unsigned *out, int n) {
  unsigned at = block_index() * block_size() + thread_index();
  unsigned all = __activemask(), value = in[at] % 5;
  unsigned same = __match_any_sync(all, value);
  int pred;
  unsigned every = __match_all_sync(all, at / 64, &pred);
  unsigned long long wide = __match_any_sync(all, (unsigned long long)value << 33);
  int leader = __ffs(same) - 1;
  if (at < n) out[at] = same ^ every * 3 ^ pred << 31 ^ (unsigned)wide * 5 ^ leader;
}

//@ shuffle_groups(u32, out, n) warps
extern "C" __global__ void shuffle_groups(const unsigned *in, unsigned *out, int n) {
  unsigned at = block_index() * block_size() + thread_index(), value = in[at], lane = thread_index() % 32;
  unsigned result = __shfl_sync(0xffffffffu, value, 3, 8);
  result += __shfl_up_sync(0xffffffffu, value, 2, 16) * 3;
  result ^= __shfl_down_sync(0xffffffffu, value, 1, 4);
  result += __shfl_xor_sync(0xffffffffu, result, 5, 32);
  result ^= __shfl_sync(0xffffffffu, result, (lane * 7 + value) & 31);
  double wide = __shfl_xor_sync(0xffffffffu, (double)result, 1);
  if (at < n) out[at] = result + (unsigned)(wide / 3);
}

//@ shuffle_tiles(f32, out, n) warps
extern "C" __global__ void shuffle_tiles(const float *in, float *out, int n) {
  unsigned at = block_index() * block_size() + thread_index(), lane = thread_index() % 32;
  unsigned group = 0xfu << (lane & ~3u);
  float sum = in[at];
  if (lane & 4) {
    for (int i = 1; i < 4; i *= 2) sum += __shfl_xor_sync(group, sum, i, 4);
  } else {
    for (int i = 1; i < 4; i *= 2) sum *= __shfl_xor_sync(group, sum, i, 4);
  }
  __syncwarp();
  sum += __shfl_down_sync(0xffffffffu, sum, 4);
  if (at < n) out[at] = sum;
}

//@ barrier_counts(u32, out) any
extern "C" __global__ void barrier_counts(const unsigned *in, unsigned *out) {
  unsigned at = block_index() * block_size() + thread_index(), value = in[at];
  unsigned count = __syncthreads_count(value & 1);
  unsigned any = __syncthreads_or(value % 97 == 0), all = __syncthreads_and(value > 50);
  out[at] = count | any << 16 | all << 17;
}

//@ dot_product(f32, f32, out, n) warps
extern "C" __global__ void dot_product(const float4 *a, const float4 *b, float *out, int n) {
  __shared__ float parts[32];
  float sum = 0;
  for (int i = block_index() * block_size() + thread_index(); i < n; i += block_size() * blocks()) {
    float4 x = a[i], y = b[i];
    sum += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(~0u, sum, offset);
  if ((thread_index() & 31) == 0) parts[thread_index() / 32] = sum;
  __syncthreads();
  if (thread_index() == 0) {
    for (int i = 1; i < block_size() / 32; i++) sum += parts[i];
    out[block_index()] = sum;
  }
}

//@ segment_sums(rows, f32, out, n) any
extern "C" __global__ void segment_sums(const int *rows, const float *in, float *out, int n) {
  int row = block_index() * block_size() + thread_index();
  if (row < n) {
    float sum = 0;
    for (int i = rows[row]; i < rows[row + 1]; i++) sum += in[i];
    out[row] = sum;
  }
}

//@ spmv_csr(rows, u32, f32, f32, out, n) any shift=4
extern "C" __global__ void spmv_csr(const int *rows, const unsigned *columns, const float *values, const float *x, float *y,
                                    int n) {
  int row = block_index() * block_size() + thread_index();
  if (row >= n) return;
  float sum = 0;
  for (int i = rows[row]; i < rows[row + 1]; i++) sum += values[i] * x[columns[i] % n];
  y[row] = sum;
}

//@ spmv_vector(rows, u32, f32, f32, out, n) warps
extern "C" __global__ void spmv_vector(const int *rows, const unsigned *columns, const float *values, const float *x, float *y,
                                       int n) {
  int thread = block_index() * block_size() + thread_index(), row = thread / 32, lane = thread % 32;
  if (row >= n) return;
  float sum = 0;
  for (int i = rows[row] + lane; i < rows[row + 1]; i += 32) sum += values[i] * x[columns[i] % n];
  for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (lane == 0) y[row] = sum;
}

//@ bfs_step(rows, u32, u32, zero, n) any
extern "C" __global__ void bfs_step(const int *rows, const unsigned *edges, const unsigned *frontier, unsigned *levels, int n) {
  int node = block_index() * block_size() + thread_index();
  if (node < n && frontier[node] % 4 == 0)
    for (int edge = rows[node]; edge < rows[node + 1]; edge++) {
      unsigned next = edges[edge] % n;
      if (frontier[next] % 4 != 0) levels[next] = 7;
    }
}
