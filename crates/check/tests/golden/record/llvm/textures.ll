; Textures and surfaces in unified mode.
define ptx_kernel void @textures(ptr %p, i64 %t, i64 %s, float %x, float %y, i32 %i) {
  %a = call { float, float, float, float } @llvm.nvvm.tex.unified.2d.v4f32.f32(i64 %t, float %x, float %y)
  %b = extractvalue { float, float, float, float } %a, 1
  %c = call { i32, i32, i32, i32 } @llvm.nvvm.tex.unified.1d.v4s32.s32(i64 %t, i32 %i)
  %d = extractvalue { i32, i32, i32, i32 } %c, 0
  store float %b, ptr %p
  store i32 %d, ptr %p
  %e = call i32 @llvm.nvvm.suld.2d.i32.clamp(i64 %s, i32 %i, i32 %i)
  call void @llvm.nvvm.sust.b.2d.i32.trap(i64 %s, i32 %i, i32 %i, i32 %e)
  %w = call i32 @llvm.nvvm.txq.width(i64 %t)
  store i32 %w, ptr %p
  ret void
}
declare { float, float, float, float } @llvm.nvvm.tex.unified.2d.v4f32.f32(i64, float, float)
declare { i32, i32, i32, i32 } @llvm.nvvm.tex.unified.1d.v4s32.s32(i64, i32)
declare i32 @llvm.nvvm.suld.2d.i32.clamp(i64, i32, i32)
declare void @llvm.nvvm.sust.b.2d.i32.trap(i64, i32, i32, i32)
declare i32 @llvm.nvvm.txq.width(i64)
