; Branches, a switch, loops and local memory.
define ptx_kernel void @control(ptr %p, i32 %n) {
entry:
  %array = alloca [16 x i32], align 4
  switch i32 %n, label %other [ i32 0, label %a i32 1, label %b i32 2, label %c i32 3, label %d i32 4, label %e i32 6, label %f ]
a:
  store i32 10, ptr %p
  br label %join
b:
  %x = load i32, ptr %p
  br label %join
c:
  call void @llvm.nvvm.barrier0()
  br label %join
d:
  ret void
e:
  %y = atomicrmw xchg ptr %p, i32 3 monotonic
  br label %join
f:
  call void @llvm.nvvm.membar.gl()
  br label %join
other:
  br label %join
join:
  %v = phi i32 [ 1, %a ], [ %x, %b ], [ 3, %c ], [ %y, %e ], [ 6, %f ], [ 7, %other ]
  br label %loop
loop:
  %i = phi i32 [ 0, %join ], [ %k, %loop ]
  %slot = getelementptr [16 x i32], ptr %array, i32 0, i32 %i
  %m = mul i32 %i, %v
  store i32 %m, ptr %slot
  %k = add i32 %i, 1
  %stop = icmp eq i32 %k, 16
  br i1 %stop, label %out, label %loop
out:
  %index = and i32 %v, 15
  %from = getelementptr [16 x i32], ptr %array, i32 0, i32 %index
  %last = load i32, ptr %from
  store i32 %last, ptr %p
  ret void
}
declare void @llvm.nvvm.barrier0()
declare void @llvm.nvvm.membar.gl()
