#!/usr/bin/env python3
"""Records what the driver and the GPU make of .local memory of different sizes and of deep calls.

Run on a machine with an NVIDIA GPU: python3 local_memory.py > local_memory.jsonl
Each case runs in a process of its own, since a fault ends the context."""
import ctypes as C, json, sys, os
HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
def local(n):
    return HEAD + f""".visible .entry k(.param .u64 p, .param .u64 i) {{
 .local .align 16 .b8 a[{n}]; .reg .b64 %p, %i, %a; .reg .b32 %v;
 ld.param.u64 %p, [p]; ld.param.u64 %i, [i]; mov.u64 %a, a; add.u64 %a, %a, %i;
 st.local.u32 [%a], 7; ld.local.u32 %v, [%a]; st.global.u32 [%p], %v; ret; }}"""
def deep(n):
    return HEAD + f""".func (.reg .u32 %r) f(.reg .u32 %n) {{ .reg .pred %q; .reg .u32 %t;
 {f'.local .align 16 .b8 a[{n}]; .reg .b64 %a; mov.u64 %a, a; st.local.u32 [%a], %n;' if n else ''}
 mov.u32 %r, 0; setp.eq.u32 %q, %n, 0; @%q ret; sub.u32 %t, %n, 1; call (%r), f, (%t); add.u32 %r, %r, 1;
 {'ld.local.u32 %t, [%a]; setp.ne.u32 %q, %t, %n; @%q add.u32 %r, %r, 1000000;' if n else ''} ret; }}
.visible .entry k(.param .u64 p, .param .u64 i) {{ .reg .b64 %p, %i; .reg .u32 %n, %v;
 ld.param.u64 %p, [p]; ld.param.u64 %i, [i]; cvt.u32.u64 %n, %i; call (%v), f, (%n); st.global.u32 [%p], %v; ret; }}"""
def case(kind, n, i, threads, stack):
    L = C.CDLL("libcuda.so.1"); out = {"kind": kind, "bytes": n, "argument": i, "threads": threads, "stack": stack}
    def name(rc):
        p = C.c_char_p(); L.cuGetErrorName(rc, C.byref(p)); return p.value.decode() if p.value else str(rc)
    L.cuInit(0); d = C.c_int(); L.cuDeviceGet(C.byref(d), 0); ctx = C.c_void_p()
    L.cuDevicePrimaryCtxRetain(C.byref(ctx), d); L.cuCtxSetCurrent(ctx)
    if stack: out["set_limit"] = name(L.cuCtxSetLimit(0, C.c_size_t(stack)))
    v = C.c_size_t(); L.cuCtxGetLimit(C.byref(v), 0); out["limit"] = v.value
    m, f, p = C.c_void_p(), C.c_void_p(), C.c_uint64()
    rc = L.cuModuleLoadData(C.byref(m), (local(n) if kind == "local" else deep(n)).encode() + b"\0"); out["load"] = name(rc)
    if rc == 0:
        L.cuModuleGetFunction(C.byref(f), m, b"k"); a = C.c_int(); L.cuFuncGetAttribute(C.byref(a), 3, f); out["local_size"] = a.value
        L.cuMemAlloc_v2(C.byref(p), C.c_size_t(16)); L.cuMemsetD32_v2(p, 0, C.c_size_t(4))
        ii = C.c_uint64(i); args = (C.c_void_p * 2)(C.cast(C.byref(p), C.c_void_p), C.cast(C.byref(ii), C.c_void_p))
        rc = L.cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, None, args, None); out["launch"] = name(rc)
        if rc == 0:
            rc = L.cuCtxSynchronize(); out["run"] = name(rc)
            if rc == 0:
                h = C.c_uint32(); L.cuMemcpyDtoH_v2(C.byref(h), p, C.c_size_t(4)); out["value"] = h.value
    print(json.dumps(out), flush=True)
K = 1024
CASES = [("local", n, i, t, 0) for t in (1, 1024) for n, i in [(4096, 0), (256*K, 0), (512*K - 1024, 0), (512*K - 16, 0), (512*K, 0), (512*K, 512*K - 16), (512*K + 16, 0), (K*K, 0), (16*K*K, 0), (1 << 34, 0), (1 << 40, 0)]]
CASES += [("local", n, n - 16, 32, 0) for n in range(511*K, 512*K, 16)]
CASES += [("deep", n, i, 1, s) for n in (0, 16, 1024) for s, i in [(0, 10), (0, 60), (0, 1000), (64*K, 1000), (64*K, 4000), (64*K, 16000), (512*K, 1000), (512*K - 4096, 1000), (256*K, 10000), (256*K, 16000), (256*K, 17000), (256*K, 40000)]]
CASES += [("deep", 0, 10, 1, s) for s in (200*K, 300*K, 400*K, 500*K, 510*K, 511*K, 512*K - 16, 513*K, K*K)]
if len(sys.argv) > 1:
    case(*CASES[int(sys.argv[1])])
else:
    for index in range(len(CASES)):
        if os.system(f"timeout 60 {sys.executable} {os.path.abspath(sys.argv[0])} {index}"):
            print(json.dumps({"case": CASES[index], "died": True}), flush=True)
