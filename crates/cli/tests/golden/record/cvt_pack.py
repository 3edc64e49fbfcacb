"""Records what a GPU makes of cvt.pack, through the CUDA driver's own assembler.

usage: cvt_pack.py OUTPUT.jsonl      (on a machine with an sm_75 or newer GPU; needs nothing but the driver)

A line a form: {"form", "rows": [[a, b, c, d], ...]} in hex; forms without c have [a, b, d].
"""
import ctypes as C, itertools, json, struct, sys

FORMS = [("u16", False), ("s16", False)] + [(t, True) for t in ("u8", "s8", "u4", "s4", "u2", "s2")]
EDGES = sorted({n & 0xFFFFFFFF for k in (0, 1, 2, 3, 4, 7, 8, 15, 16) for n in ((1 << k) - 1, 1 << k, -(1 << k), -(1 << k) - 1)}
               | {0x7FFFFFFF, 0x80000000, 0x12345678, 0xFFFFFF9C})
UPPER = [0, 0x89ABCDEF, 0xFFFFFFFF]


def kernel(number, form, with_c):
    operands = "%d, %a, %b, %c" if with_c else "%d, %a, %b"
    return f"""
.visible .entry k{number}(.param .u64 in, .param .u64 out, .param .u32 n)
{{
  .reg .b32 %d, %a, %b, %c, %i, %n, %t; .reg .b64 %p, %q, %o; .reg .pred %e;
  mov.u32 %i, %ctaid.x; mov.u32 %t, %ntid.x; mul.lo.u32 %i, %i, %t; mov.u32 %t, %tid.x; add.u32 %i, %i, %t;
  ld.param.u32 %n, [n]; setp.ge.u32 %e, %i, %n; @%e ret;
  ld.param.u64 %p, [in]; mul.wide.u32 %o, %i, 12; add.u64 %p, %p, %o;
  ld.global.u32 %a, [%p]; ld.global.u32 %b, [%p+4]; ld.global.u32 %c, [%p+8];
  {form} {operands};
  ld.param.u64 %q, [out]; mul.wide.u32 %o, %i, 4; add.u64 %q, %q, %o; st.global.u32 [%q], %d;
  ret;
}}
"""


def check(rc, what):
    if rc:
        sys.exit(f"{what}: CUDA error {rc}")


def main():
    cuda = C.CDLL("libcuda.so.1")
    check(cuda.cuInit(0), "cuInit")
    device, context = C.c_int(), C.c_void_p()
    check(cuda.cuDeviceGet(C.byref(device), 0), "cuDeviceGet")
    check(cuda.cuDevicePrimaryCtxRetain(C.byref(context), device), "cuDevicePrimaryCtxRetain")
    check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    forms = [f"cvt.pack.sat.{t}.s32.b32" if c else f"cvt.pack.sat.{t}.s32" for t, c in FORMS]
    text = ".version 7.8\n.target sm_75\n.address_size 64\n"
    text += "".join(kernel(i, form, c) for i, (form, (_, c)) in enumerate(zip(forms, FORMS)))
    module = C.c_void_p()
    check(cuda.cuModuleLoadData(C.byref(module), text.encode() + b"\0"), "cuModuleLoadData")
    rows = list(itertools.product(EDGES, EDGES, UPPER))
    source = b"".join(struct.pack("<3I", *row) for row in rows)
    in_, out = C.c_uint64(), C.c_uint64()
    check(cuda.cuMemAlloc_v2(C.byref(in_), C.c_size_t(len(source))), "cuMemAlloc")
    check(cuda.cuMemAlloc_v2(C.byref(out), C.c_size_t(4 * len(rows))), "cuMemAlloc")
    check(cuda.cuMemcpyHtoD_v2(in_, source, C.c_size_t(len(source))), "cuMemcpyHtoD")
    with open(sys.argv[1], "w") as file:
        for i, (form, (_, with_c)) in enumerate(zip(forms, FORMS)):
            function = C.c_void_p()
            check(cuda.cuModuleGetFunction(C.byref(function), module, f"k{i}".encode()), form)
            n = C.c_uint32(len(rows))
            arguments = (C.c_void_p * 3)(*(C.cast(C.byref(x), C.c_void_p) for x in (in_, out, n)))
            check(cuda.cuLaunchKernel(function, (len(rows) + 127) // 128, 1, 1, 128, 1, 1, 0, None, arguments, None), form)
            check(cuda.cuCtxSynchronize(), form)
            result = C.create_string_buffer(4 * len(rows))
            check(cuda.cuMemcpyDtoH_v2(result, out, C.c_size_t(4 * len(rows))), form)
            results = struct.unpack(f"<{len(rows)}I", result.raw)
            if with_c:
                lines = [[*row, d] for row, d in zip(rows, results)]
            else:
                lines = [[a, b, d] for (a, b, c), d in zip(rows, results) if c == 0]
            file.write(json.dumps({"form": form, "rows": [[f"{x:x}" for x in line] for line in lines]}) + "\n")


if __name__ == "__main__":
    main()
