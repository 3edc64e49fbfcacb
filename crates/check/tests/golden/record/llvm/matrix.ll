; Tensor instructions through intrinsics.
define ptx_kernel void @matrix(ptr addrspace(3) %s, ptr addrspace(1) %d, <2 x half> %a, float %f) {
  %m = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %s)
  %x = extractvalue { i32, i32, i32, i32 } %m, 2
  %r = call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.f32.f32(<2 x half> %a, <2 x half> %a, <2 x half> %a, float %f, float %f, float %f, float %f)
  %y = extractvalue { float, float, float, float } %r, 3
  store i32 %x, ptr addrspace(1) %d
  store float %y, ptr addrspace(1) %d
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %s, ptr addrspace(1) %d)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 1)
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %s, i32 32)
  %st = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) %s)
  %w = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) %s, i64 %st)
  %v = zext i1 %w to i32
  store i32 %v, ptr addrspace(1) %d
  ret void
}
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3))
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>, float, float, float, float)
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3), i64)
