; Integer arithmetic in odd and even widths.
define ptx_kernel void @narrow(ptr %p, i8 %a, i16 %b, i1 %c) {
  %x = load i8, ptr %p
  %s = sdiv i8 %x, %a
  %t = sext i8 %s to i16
  %u = mul i16 %t, %b
  %v = call i16 @llvm.abs.i16(i16 %u, i1 false)
  %w = select i1 %c, i16 %v, i16 %t
  store i16 %w, ptr %p
  ret void
}
define ptx_kernel void @wide(ptr %p, i64 %a, i64 %b, i128 %q) {
  %h = mul i128 %q, 12345678901234567890123
  %d = udiv i128 %h, 10
  store i128 %d, ptr %p, align 16
  %r = call i64 @llvm.fshl.i64(i64 %a, i64 %b, i64 13)
  %c = call i64 @llvm.ctpop.i64(i64 %r)
  %z = call i64 @llvm.ctlz.i64(i64 %c, i1 false)
  %t = call i64 @llvm.cttz.i64(i64 %a, i1 true)
  %y = call i64 @llvm.bitreverse.i64(i64 %b)
  %k = call i64 @llvm.bswap.i64(i64 %y)
  %m = call i64 @llvm.umax.i64(i64 %t, i64 %k)
  %n = xor i64 %m, %z
  %o = urem i64 %n, 1000
  store i64 %o, ptr %p
  ret void
}
define ptx_kernel void @checked(ptr %p, i32 %a, i32 %b) {
  %r = call { i32, i1 } @llvm.sadd.with.overflow.i32(i32 %a, i32 %b)
  %v = extractvalue { i32, i1 } %r, 0
  %o = extractvalue { i32, i1 } %r, 1
  br i1 %o, label %bad, label %good
bad:
  call void @llvm.trap()
  unreachable
good:
  %s = call i32 @llvm.usub.sat.i32(i32 %v, i32 17)
  store i32 %s, ptr %p
  ret void
}
declare i16 @llvm.abs.i16(i16, i1)
declare i64 @llvm.fshl.i64(i64, i64, i64)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.bitreverse.i64(i64)
declare i64 @llvm.bswap.i64(i64)
declare i64 @llvm.umax.i64(i64, i64)
declare { i32, i1 } @llvm.sadd.with.overflow.i32(i32, i32)
declare i32 @llvm.usub.sat.i32(i32, i32)
declare void @llvm.trap()
