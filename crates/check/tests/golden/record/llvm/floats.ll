; Floating point of every width, and conversions.
define ptx_kernel void @floats(ptr %p, half %h, bfloat %b, float %f, double %d) {
  %h2 = fmul half %h, %h
  %h3 = fadd half %h2, 0xH3C00
  %hb = fpext half %h3 to float
  %b2 = fadd bfloat %b, %b
  %bb = fpext bfloat %b2 to float
  %f1 = fdiv float %hb, %f
  %f2 = call float @llvm.sqrt.f32(float %f1)
  %f3 = call float @llvm.fma.f32(float %f2, float %bb, float %f)
  %f4 = call float @llvm.minnum.f32(float %f3, float %bb)
  %f5 = call float @llvm.floor.f32(float %f4)
  %f6 = call float @llvm.copysign.f32(float %f5, float %f)
  %d1 = fpext float %f6 to double
  %d2 = fdiv double %d1, %d
  %d3 = call double @llvm.sqrt.f64(double %d2)
  %d4 = call double @llvm.rint.f64(double %d3)
  %c = fcmp uno double %d4, %d
  %d5 = select i1 %c, double 0x7FF8000000000000, double %d4
  %i = fptosi double %d5 to i32
  %j = fptoui float %f6 to i64
  %k = uitofp i64 %j to float
  %l = sitofp i32 %i to half
  %m = fptrunc float %k to bfloat
  store half %l, ptr %p
  store bfloat %m, ptr %p
  store double %d5, ptr %p
  ret void
}
define ptx_kernel void @halves(ptr %p, <2 x half> %a, <2 x half> %b, <2 x bfloat> %c) {
  %s = fadd <2 x half> %a, %b
  %t = call <2 x half> @llvm.fma.v2f16(<2 x half> %s, <2 x half> %a, <2 x half> %b)
  %u = call <2 x half> @llvm.maximum.v2f16(<2 x half> %t, <2 x half> %a)
  store <2 x half> %u, ptr %p
  %v = fmul <2 x bfloat> %c, %c
  store <2 x bfloat> %v, ptr %p
  %e = extractelement <2 x half> %u, i32 1
  %w = insertelement <2 x half> %b, half %e, i32 0
  store <2 x half> %w, ptr %p
  ret void
}
declare float @llvm.sqrt.f32(float)
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.minnum.f32(float, float)
declare float @llvm.floor.f32(float)
declare float @llvm.copysign.f32(float, float)
declare double @llvm.sqrt.f64(double)
declare double @llvm.rint.f64(double)
declare <2 x half> @llvm.fma.v2f16(<2 x half>, <2 x half>, <2 x half>)
declare <2 x half> @llvm.maximum.v2f16(<2 x half>, <2 x half>)
