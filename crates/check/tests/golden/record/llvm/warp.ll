; Warp intrinsics and special registers.
define ptx_kernel void @warp(ptr %p, i32 %m, i1 %c) "nvvm.minctasm"="2" "nvvm.reqntid"="128" {
  %a = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 %m, i32 %m, i32 4, i32 31)
  %b = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %c)
  %d = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %c)
  %e = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %a)
  %f = call { i32, i1 } @llvm.nvvm.shfl.sync.idx.i32p(i32 -1, i32 %a, i32 3, i32 31)
  %g = extractvalue { i32, i1 } %f, 1
  %l = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %t = call i64 @llvm.nvvm.read.ptx.sreg.clock64()
  %q = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %h = zext i1 %g to i32
  %i = zext i1 %d to i32
  %s1 = add i32 %a, %b
  %s2 = add i32 %s1, %e
  %s3 = add i32 %s2, %h
  %s4 = add i32 %s3, %i
  %s5 = add i32 %s4, %l
  %s6 = add i32 %s5, %q
  store i32 %s6, ptr %p
  store i64 %t, ptr %p
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)
  %u = call i32 asm "prmt.b32 $0, $1, $2, 0x5410;", "=r,r,r"(i32 %a, i32 %b)
  store i32 %u, ptr %p
  call void asm sideeffect "{ .reg .pred p; setp.eq.s32 p, $0, 3; @p trap; }", "r"(i32 %u)
  ret void
}
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)
declare { i32, i1 } @llvm.nvvm.shfl.sync.idx.i32p(i32, i32, i32, i32)
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare i64 @llvm.nvvm.read.ptx.sreg.clock64()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare void @llvm.nvvm.bar.warp.sync(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)
