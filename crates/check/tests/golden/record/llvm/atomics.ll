; Atomic operations with orders and scopes.
define ptx_kernel void @atomics(ptr %p, ptr addrspace(1) %g, ptr addrspace(3) %s, i64 %v, float %f) {
  %a = atomicrmw add ptr %p, i32 1 monotonic
  %b = atomicrmw max ptr addrspace(1) %g, i64 %v syncscope("device") acq_rel
  %c = atomicrmw umin ptr addrspace(3) %s, i32 %a syncscope("block") acquire
  %d = atomicrmw fadd ptr addrspace(1) %g, float %f syncscope("device") monotonic
  %e = atomicrmw nand ptr addrspace(1) %g, i32 %c seq_cst
  %h = cmpxchg ptr addrspace(1) %g, i64 1, i64 %v syncscope("device") seq_cst monotonic
  %h0 = extractvalue { i64, i1 } %h, 0
  %l = load atomic i32, ptr addrspace(1) %g acquire, align 4
  store atomic i64 %h0, ptr addrspace(1) %g release, align 8
  %n = load atomic volatile i32, ptr %p monotonic, align 4
  fence syncscope("block") acq_rel
  fence seq_cst
  %o = atomicrmw uinc_wrap ptr addrspace(1) %g, i32 9 monotonic
  %q = add i32 %l, %n
  %r = add i32 %q, %o
  store volatile i32 %r, ptr addrspace(1) %g
  store float %d, ptr %p
  store i32 %e, ptr %p
  ret void
}
