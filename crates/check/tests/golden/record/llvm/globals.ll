; Variables of all spaces, initialisers with addresses, aliases of linkage.
@counter = addrspace(1) global i32 5
@table = internal addrspace(4) constant [4 x i16] [i16 1, i16 -2, i16 3, i16 4]
@pair = addrspace(1) global { i8, i32, ptr } { i8 7, i32 9, ptr addrspacecast (ptr addrspace(1) @counter to ptr) }
@text = private addrspace(1) constant [6 x i8] c"hello\00"
@zeroes = addrspace(1) global [100 x double] zeroinitializer, align 256
@scratch = internal addrspace(3) global [64 x float] undef, align 16
@dynamic = external addrspace(3) global [0 x i8], align 16
@pointer = addrspace(1) global ptr addrspace(1) getelementptr (double, ptr addrspace(1) @zeroes, i64 3)
@floats = addrspace(1) constant [3 x float] [float 1.0, float 0x7FF0000000000000, float -0.0]
@half = addrspace(1) global i16 15360
@later = linkonce_odr addrspace(1) global i64 1
define ptx_kernel void @globals(i64 %i, ptr %out) {
  %a = load i32, ptr addrspace(1) @counter
  %b = atomicrmw add ptr addrspace(1) @counter, i32 %a seq_cst
  %t = getelementptr [4 x i16], ptr addrspace(4) @table, i64 0, i64 %i
  %c = load i16, ptr addrspace(4) %t
  %s = getelementptr [64 x float], ptr addrspace(3) @scratch, i64 0, i64 %i
  store float 1.5, ptr addrspace(3) %s
  call void @llvm.nvvm.barrier0()
  %d = load float, ptr addrspace(3) @dynamic
  store float %d, ptr %out
  %e = zext i16 %c to i32
  store i32 %e, ptr %out
  %x = getelementptr i8, ptr addrspace(1) @text, i64 %i
  %y = load i8, ptr addrspace(1) %x
  store i8 %y, ptr %out
  %z = load i16, ptr addrspace(1) @half
  store i16 %z, ptr %out
  ret void
}
declare void @llvm.nvvm.barrier0()
