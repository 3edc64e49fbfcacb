// Records what the host code of CUDA's cuda_fp8.h, cuda_fp6.h and cuda_fp4.h computes for PTX cvt forms.
//
// usage: g++ -O3 -march=native -std=c++17 -pthread -I CUDA_INCLUDE [-I CCCL_INCLUDE] cuda_headers.cpp -o cuda_headers
//        ./cuda_headers OUTDIR [THREADS]        (writes OUTDIR/sums.jsonl and OUTDIR/samples.jsonl; minutes)
//        gzip -9n OUTDIR/sums.jsonl OUTDIR/samples.jsonl
// CUDA_INCLUDE holds cuda_fp8.h; CCCL_INCLUDE holds nv/target, which cuda_fp8.hpp includes.
//
// A line of sums.jsonl is {"form", "n", "sums"}: the n inputs are cut into 64 equal chunks, in order; a chunk's sum is, mod 2^64, the
// sum of mix(out ^ mix(idx)). idx is the bit pattern of the source; for two f32 sources a = idx, b = idx*2654435761 + 0x9E3779B9.
// a, or the upper half of a packed source, makes the high element of the result.
//
// The functions here convert one element; a pair is put together from two results. For f32 the function is called on all 2^32
// inputs, and the program stops unless the results depend only on the upper 16 bits and on whether the lower 16 are all zero; that
// table of 2^17 codes then stands for the function when the sums are made.
#include <cuda_fp8.h>
#include <cuda_fp6.h>
#include <cuda_fp4.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>
using std::string;
using std::vector;

static inline uint64_t mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}
static float f32(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
static uint32_t bits(double d) { float f = (float)d; uint32_t u; memcpy(&u, &f, 4); return u; }
static __half_raw f16(unsigned u) { __half_raw h; h.x = (unsigned short)u; return h; }
static __nv_bfloat16_raw bf16(unsigned u) { __nv_bfloat16_raw h; h.x = (unsigned short)u; return h; }

static int threads = 2;
template <class F> static void parallel(unsigned n, F f) {  // f(k) for k in 0..n
    vector<std::thread> t;
    for (int w = 0; w < threads; w++) t.emplace_back([=] { for (unsigned k = w; k < n; k += threads) f(k); });
    for (auto &x : t) x.join();
}

enum Src { F32, F16X2, BF16X2, CODE };
struct Form {
    string name;
    Src src;
    int shift;               // bits of an element: of the result (down), of the source (up)
    vector<uint8_t> code;    // down: F32: by key(); F16X2, BF16X2: by the 16-bit pattern
    vector<uint16_t> wide;   // up: by code
    vector<uint64_t> sums;
    uint64_t n() const { return src != CODE ? 1ull << 32 : 1ull << 2 * shift; }
    uint64_t out(uint32_t idx) const;
};
static vector<Form> forms;

static inline uint32_t second(uint32_t a) { return a * 2654435761u + 0x9E3779B9u; }
static inline uint32_t key(uint32_t x) { return x >> 16 << 1 | ((x & 0xffff) != 0); }
uint64_t Form::out(uint32_t i) const {
    if (src == F32) return (uint64_t)code[key(i)] << shift | code[key(second(i))];
    if (src == CODE) return (uint64_t)wide[i >> shift] << 16 | wide[i & ((1u << shift) - 1)];
    return (uint64_t)code[i >> 16] << shift | code[i & 0xffff];
}

template <class F> static void down32(const string &name, int shift, F f) {
    Form r{name, F32, shift, vector<uint8_t>(1 << 17), {}, vector<uint64_t>(64)};
    uint8_t *t = r.code.data();
    parallel(1 << 16, [=](unsigned hi) {
        uint32_t x = hi << 16;
        uint8_t zero = f(f32(x)), rest = f(f32(x | 1));
        unsigned bad = 0;
        for (unsigned lo = 1; lo < 1 << 16; lo++) bad += f(f32(x | lo)) != rest;
        if (bad) { fprintf(stderr, "%s: block %04x is not of the expected shape\n", name.c_str(), hi); exit(1); }
        t[2 * hi] = zero, t[2 * hi + 1] = rest;
    });
    fprintf(stderr, "%s\n", name.c_str());
    forms.push_back(r);
}
template <class F> static void down16(const string &name, Src src, int shift, F f) {
    Form r{name, src, shift, vector<uint8_t>(1 << 16), {}, vector<uint64_t>(64)};
    for (unsigned x = 0; x < 1 << 16; x++) r.code[x] = f(x);
    forms.push_back(r);
}
template <class F> static void up(const string &name, int shift, F f) {
    Form r{name, CODE, shift, {}, vector<uint16_t>(1 << shift), vector<uint64_t>(64)};
    for (unsigned x = 0; x < 1u << shift; x++) r.wide[x] = f(x);
    forms.push_back(r);
}

template <__nv_fp8_interpretation_t T> static void fp8(const string &t) {
    string p = "cvt.rn.satfinite." + t;
    down32(p + ".f32", 8, [](float x) { return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, T); });
    down16(p + ".f16x2", F16X2, 8, [](unsigned x) { return __nv_cvt_halfraw_to_fp8(f16(x), __NV_SATFINITE, T); });
    down16(p + ".bf16x2", BF16X2, 8, [](unsigned x) { return __nv_cvt_bfloat16raw_to_fp8(bf16(x), __NV_SATFINITE, T); });
    up("cvt.rn.f16x2." + t, 8, [](unsigned x) { return __nv_cvt_fp8_to_halfraw(x, T).x; });
    up("cvt.rn.bf16x2." + t, 8, [](unsigned x) { return __nv_cvt_fp8_to_bf16raw(x, T).x; });
}
template <__nv_fp6_interpretation_t T> static void fp6(const string &t) {
    auto rounded = [&](const char *r, auto mode) {
        constexpr cudaRoundMode M = decltype(mode)::value;
        string p = string("cvt.") + r + ".satfinite." + t;
        down32(p + ".f32", 8, [](float x) { return __nv_cvt_float_to_fp6(x, T, M); });
        down16(p + ".f16x2", F16X2, 8, [](unsigned x) { return __nv_cvt_halfraw_to_fp6(f16(x), T, M); });
        down16(p + ".bf16x2", BF16X2, 8, [](unsigned x) { return __nv_cvt_bfloat16raw_to_fp6(bf16(x), T, M); });
    };
    rounded("rn", std::integral_constant<cudaRoundMode, cudaRoundNearest>());
    rounded("rz", std::integral_constant<cudaRoundMode, cudaRoundZero>());
    up("cvt.rn.f16x2." + t, 8, [](unsigned x) { return __nv_cvt_fp6_to_halfraw(x, T).x; });
    up("cvt.rn.bf16x2." + t, 8, [](unsigned x) { return __nv_cvt_fp6_to_bf16raw(x, T).x; });
}
template <cudaRoundMode M> static void fp4(const char *r) {
    string p = string("cvt.") + r + ".satfinite.e2m1x2";
    down32(p + ".f32", 4, [](float x) { return __nv_cvt_float_to_fp4(x, __NV_E2M1, M); });
    down16(p + ".f16x2", F16X2, 4, [](unsigned x) { return __nv_cvt_halfraw_to_fp4(f16(x), __NV_E2M1, M); });
    down16(p + ".bf16x2", BF16X2, 4, [](unsigned x) { return __nv_cvt_bfloat16raw_to_fp4(bf16(x), __NV_E2M1, M); });
}
template <cudaRoundMode M, __nv_saturation_t S> static void scale(const char *r) {
    string p = string("cvt.") + r + (S == __NV_SATFINITE ? ".satfinite" : "");
    if (M != cudaRoundNearest) {
        down32(p + ".ue8m0x2.f32", 8, [](float x) { return __nv_cvt_float_to_e8m0(x, S, M); });
        down16(p + ".ue8m0x2.bf16x2", BF16X2, 8, [](unsigned x) { return __nv_cvt_bfloat16raw_to_e8m0(bf16(x), S, M); });
    }
    down32(p + ".ue5m3x2.f32", 8, [](float x) { return __nv_cvt_float_to_ue5m3(x, S, M); });
    down16(p + ".ue5m3x2.f16x2", F16X2, 8, [](unsigned x) { return __nv_cvt_halfraw_to_ue5m3(f16(x), S, M); });
    down16(p + ".ue5m3x2.bf16x2", BF16X2, 8, [](unsigned x) { return __nv_cvt_bfloat16raw_to_ue5m3(bf16(x), S, M); });
}

// Sums of all the forms that read the same kind of source, a tile of inputs at a time.
static void sum(Src src) {
    const unsigned TILE = 1 << 14;
    vector<Form *> fs;
    for (auto &f : forms) if (f.src == src) fs.push_back(&f);
    parallel(64, [&](unsigned chunk) {
        vector<uint64_t> m(TILE), s(fs.size());
        vector<uint32_t> k(TILE);
        vector<uint8_t> low(TILE);
        for (uint64_t at = (uint64_t)chunk << 26; at < (uint64_t)(chunk + 1) << 26; at += TILE) {
            uint32_t i0 = (uint32_t)at;
            for (unsigned i = 0; i < TILE; i++) m[i] = mix(i0 + i);
            if (src == F32) for (unsigned i = 0; i < TILE; i++) k[i] = key(second(i0 + i));
            for (size_t j = 0; j < fs.size(); j++) {
                const uint8_t *t = fs[j]->code.data(), *l = low.data();
                uint64_t high, total = 0;
                if (src == F32) {
                    for (unsigned i = 0; i < TILE; i++) low[i] = t[k[i]];
                    high = (uint64_t)t[key(i0 + 1)] << fs[j]->shift;
                } else {
                    l = t + (i0 & 0xffff);
                    high = (uint64_t)t[i0 >> 16] << fs[j]->shift;
                }
                for (unsigned i = 0; i < TILE; i++) total += mix((high | l[i]) ^ m[i]);
                total += mix(fs[j]->out(i0) ^ m[0]) - mix((high | l[0]) ^ m[0]);  // the one input with zero lower bits
                s[j] += total;
            }
        }
        for (size_t j = 0; j < fs.size(); j++) fs[j]->sums[chunk] = s[j];
    });
    fprintf(stderr, "summed %zu forms\n", fs.size());
}

// Telling inputs: those of the hardware's samples, and the limits, ties and subnormals of the narrow formats.
static vector<uint32_t> specials(const Form &f) {
    vector<uint32_t> v{0x00000000, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                       0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x7fffffff, 0xffffffff};
    for (double x : {0.5, 1.5, 2.5, 0.25, 0.75, 1.25, 1.75, 3.5, 5.0, 6.0, 7.0, 7.5, 26.0, 28.0, 30.0, 31.0, 240.0, 247.0, 248.0, 448.0, 463.9, 464.0,
                     464.1, 480.0, 57344.0, 61439.0, 61440.0, 61441.0, 65504.0, 65519.99, 65520.0, 65536.0, 3.389e38, 127.5, 128.5, 254.5, 255.5, 256.5,
                     32767.5, 65535.5, 2147483520.0, 2147483648.0, 4294967040.0, 4294967296.0, 9.223372e18, 1.8446744e19, 1e30, 6.1035156e-05,
                     6.0975552e-05, 5.9604645e-08, 2.9802322e-08, 2.9802326e-08, 8.9406967e-08, 0.0009765625, 0.0019531250, 0.001953126, 0.015625,
                     0.0146484375, 1.52587890625e-05, 7.62939453125e-06, 0.1, 0.3, 3.14159265})
        v.push_back(bits(x)), v.push_back(bits(-x));
    for (uint32_t k : {0x1000, 0x0fff, 0x1001, 0x3000, 0x8000, 0x7fff, 0x8001, 0x18000, 0x80000, 0x80001, 0x7ffff, 0x180000, 0x100000, 0x200000})
        v.push_back(0x3f800000 + k);
    vector<uint32_t> edge;
    for (double x : {7.625, 7.75, 8.0, 0.0625, 0.125, 0.1875, 0.9375, 0.96875, 29.0, 32.0, 0.03125, 0.09375, 0.21875, 0.234375, 0.25, 0.375, 0.75, 1.25,
                     1.75, 2.5, 3.5, 5.0, 6.0, 7.0, 114688.0, 118784.0, 122880.0, 131072.0, 0x1p-18, 0x1p-17, 0x1.8p-17, 0x1.cp-15, 0x1.ep-15, 0x1p-14,
                     0x1.1p-14, 0x1.3p-14, 0x1p-127, 0x1p-126, 0x1.8p-126, 0x1p126, 0x1.8p126, 0x1p127, 0x1.8p127, 0x1p-9, 0x1p-10, 0x1p-16, 57344.0})
        edge.push_back(bits(x));
    if (f.src == F32) {
        for (uint32_t e : edge) for (uint32_t d : {0u, 1u, ~0u}) v.push_back(e + d), v.push_back((e + d) | 0x80000000);
    } else if (f.src == CODE) {
        v.clear();
        if (f.shift == 4) for (uint32_t x = 0; x < 256; x++) v.push_back(x);
        else for (uint32_t x = 0; x < 256; x++) v.push_back(x << 8 | (255 - x));
    } else {
        v = {0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffff, 0xffffff, 0x1000001, 0x1000003, 0x7fffffff, 0x80000000, 0x80000001,
             0xffffffff, 0xffffff80, 0xffffff7f, 0xffff8000, 0xffff7fff, 0x3c003c00, 0x7c00fc00, 0x7e000001, 0x7bff0400, 0x12345678, 0x5f8060a0, 0x57005701};
        std::set<uint32_t> h{0x7c00, 0x7c01, 0x7e00, 0xfc00, 0x8000, 1, 0x3ff, 0x400, 0x7bff, 0x3c00, 0xbc00, 0x7f80, 0x7fc0, 0xff80, 0x7f7f, 0x3f80, 0x4f7f, 0x477f};
        for (uint32_t x = 0; x < 65536; x += 1111) h.insert(x);
        for (uint32_t e : edge) {
            uint32_t x = e >> 16;
            if (f.src == F16X2) {  // exact in f16 where its exponent allows; the others are left out
                int ex = (int)(e >> 23) - 127;
                if (ex < -14 || ex > 15) continue;
                x = (uint32_t)(ex + 15) << 10 | (e >> 13 & 0x3ff);
            }
            for (uint32_t d : {0u, 1u, ~0u}) h.insert((x + d) & 0xffff);
        }
        vector<uint32_t> w(h.begin(), h.end());
        for (size_t i = 0; i < w.size(); i++) v.push_back(w[i] << 16 | (w[(i * 37 + 11) % w.size()] ^ 0x8000));
    }
    vector<uint32_t> r;
    std::set<uint32_t> seen;
    for (uint32_t x : v) if (seen.insert(x).second) r.push_back(x);
    return r;
}

int main(int argc, char **argv) {
    if (argc < 2) { fprintf(stderr, "usage: %s OUTDIR [THREADS]\n", argv[0]); return 2; }
    if (argc > 2) threads = atoi(argv[2]);
    fp8<__NV_E4M3>("e4m3x2");
    fp8<__NV_E5M2>("e5m2x2");
    fp6<__NV_E2M3>("e2m3x2");
    fp6<__NV_E3M2>("e3m2x2");
    fp4<cudaRoundNearest>("rn");
    fp4<cudaRoundZero>("rz");
    up("cvt.rn.f16x2.e2m1x2", 4, [](unsigned x) { return __nv_cvt_fp4_to_halfraw(x, __NV_E2M1).x; });
    up("cvt.rn.bf16x2.e2m1x2", 4, [](unsigned x) { return __nv_cvt_fp4_to_bf16raw(x, __NV_E2M1).x; });
    scale<cudaRoundNearest, __NV_NOSAT>("rn");
    scale<cudaRoundNearest, __NV_SATFINITE>("rn");
    scale<cudaRoundZero, __NV_NOSAT>("rz");
    scale<cudaRoundZero, __NV_SATFINITE>("rz");
    scale<cudaRoundPosInf, __NV_NOSAT>("rp");
    scale<cudaRoundPosInf, __NV_SATFINITE>("rp");
    up("cvt.rn.f16x2.ue5m3x2", 8, [](unsigned x) { return __nv_cvt_ue5m3_to_halfraw(x).x; });
    up("cvt.rn.bf16x2.ue5m3x2", 8, [](unsigned x) { return __nv_cvt_ue5m3_to_bf16raw(x).x; });
    up("cvt.rn.bf16x2.ue8m0x2", 8, [](unsigned x) { return __nv_cvt_e8m0_to_bf16raw(x).x; });

    sum(F32), sum(F16X2), sum(BF16X2);
    for (auto &f : forms)
        if (f.src == CODE) for (uint64_t i = 0; i < f.n(); i++) f.sums[i * 64 / f.n()] += mix(f.out(i) ^ mix(i));

    FILE *sums = fopen((string(argv[1]) + "/sums.jsonl").c_str(), "w"), *rows = fopen((string(argv[1]) + "/samples.jsonl").c_str(), "w");
    if (!sums || !rows) { perror(argv[1]); return 1; }
    for (auto &f : forms) {
        fprintf(sums, "{\"form\": \"%s\", \"n\": %llu, \"sums\": [", f.name.c_str(), (unsigned long long)f.n());
        for (int i = 0; i < 64; i++) fprintf(sums, "%s\"%016llx\"", i ? ", " : "", (unsigned long long)f.sums[i]);
        fprintf(sums, "]}\n");
        fprintf(rows, "{\"form\": \"%s\", \"rows\": [", f.name.c_str());
        const char *comma = "";
        for (uint32_t x : specials(f)) fprintf(rows, "%s[\"%x\", \"%llx\"]", comma, x, (unsigned long long)f.out(x)), comma = ", ";
        fprintf(rows, "]}\n");
    }
    return fclose(sums) | fclose(rows);
}
