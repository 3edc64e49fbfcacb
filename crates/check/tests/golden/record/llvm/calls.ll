; Calls with structures, recursion, pointers to functions, a variadic external, byval parameters.
%pair = type { i32, double }
%big = type { [9 x i32] }
define internal %pair @make(i32 %a, double %b, <4 x float> %v) noinline {
  %e = extractelement <4 x float> %v, i32 2
  %w = fpext float %e to double
  %s = fadd double %b, %w
  %p = insertvalue %pair undef, i32 %a, 0
  %q = insertvalue %pair %p, double %s, 1
  ret %pair %q
}
define i32 @gcd(i32 %a, i32 %b) noinline {
  %z = icmp eq i32 %b, 0
  br i1 %z, label %done, label %again
done:
  ret i32 %a
again:
  %r = urem i32 %a, %b
  %g = call i32 @gcd(i32 %b, i32 %r)
  %h = add i32 %g, 0
  %keep = mul i32 %h, %r
  %c = icmp eq i32 %keep, -1
  %x = select i1 %c, i32 7, i32 %g
  ret i32 %x
}
define weak i16 @weak(ptr byval(%big) align 4 %b, i1 %f) noinline {
  %p = getelementptr %big, ptr %b, i64 0, i32 0, i64 5
  %v = load i32, ptr %p
  %t = trunc i32 %v to i16
  %s = select i1 %f, i16 %t, i16 3
  ret i16 %s
}
declare i32 @vprintf(ptr, ptr)
@format = private addrspace(1) constant [4 x i8] c"%d\0A\00"
define ptx_kernel void @calls(ptr %out, ptr %function, ptr byval(%big) align 4 %b) {
  %r = call %pair @make(i32 3, double 1.5, <4 x float> <float 1.0, float 2.0, float 3.0, float 4.0>)
  %d = extractvalue %pair %r, 1
  store double %d, ptr %out
  %g = call i32 @gcd(i32 48, i32 18)
  store i32 %g, ptr %out
  %i = call float %function(float 2.5, i8 signext -3)
  store float %i, ptr %out
  %w = call i16 @weak(ptr byval(%big) align 4 %b, i1 true)
  store i16 %w, ptr %out
  %slot = alloca i32, align 8
  store i32 %g, ptr %slot
  %f = addrspacecast ptr addrspace(1) @format to ptr
  %n = call i32 @vprintf(ptr %f, ptr %slot)
  ret void
}
