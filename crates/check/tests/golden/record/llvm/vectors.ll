; Vector loads and stores, and shuffles of elements.
define ptx_kernel void @vectors(ptr addrspace(1) align 32 %p, ptr addrspace(1) align 16 %q) {
  %a = load <4 x float>, ptr addrspace(1) %p, align 16
  %b = load <2 x double>, ptr addrspace(1) %q, align 16
  %c = load <8 x i16>, ptr addrspace(1) %q, align 16
  %d = load <4 x i8>, ptr addrspace(1) %q, align 4
  %e = load <16 x i8>, ptr addrspace(1) %q, align 16
  %f = load <3 x i32>, ptr addrspace(1) %q, align 16
  %s = shufflevector <4 x float> %a, <4 x float> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  %t = fmul <4 x float> %s, %a
  store <4 x float> %t, ptr addrspace(1) %p, align 16
  %u = fadd <2 x double> %b, <double 1.0, double 2.0>
  store <2 x double> %u, ptr addrspace(1) %p, align 16
  %v = add <8 x i16> %c, %c
  store <8 x i16> %v, ptr addrspace(1) %p, align 16
  %w = mul <4 x i8> %d, %d
  store <4 x i8> %w, ptr addrspace(1) %p, align 4
  %x = xor <16 x i8> %e, splat (i8 5)
  store <16 x i8> %x, ptr addrspace(1) %q, align 16
  store <3 x i32> %f, ptr addrspace(1) %p, align 4
  %y = load <8 x float>, ptr addrspace(1) %p, align 32
  %z = fadd <8 x float> %y, %y
  store <8 x float> %z, ptr addrspace(1) %p, align 32
  ret void
}
