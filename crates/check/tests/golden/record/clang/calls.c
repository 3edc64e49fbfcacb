// Calls of all kinds in plain C.
#define KERNEL __attribute__((nvptx_kernel))
struct pair { float a; long b[3]; };
typedef int (*operation)(int, struct pair);
__attribute__((noinline)) struct pair make(float a, char c) { struct pair p = {a, {c, 2, 3}}; return p; }
__attribute__((noinline)) static int first(int x, struct pair p) { return x + p.b[1]; }
__attribute__((noinline)) static int second(int x, struct pair p) { return x ? second(x - 1, p) + 1 : p.a; }
__attribute__((noinline)) static int many(int n, ...) {
    __builtin_va_list list;
    __builtin_va_start(list, n);
    int sum = 0;
    for (int i = 0; i < n; i++) sum += __builtin_va_arg(list, int) + __builtin_va_arg(list, double);
    __builtin_va_end(list);
    return sum;
}
__attribute__((weak)) int replaceable(void) { return 4; }
operation operations[2] = {first, second};
KERNEL void calls(int *d, int which, struct pair by_value) {
    d[0] = operations[which](d[1], make(1.5f, 'x'));
    d[2] = many(2, 3, 4.5, 6, 7.5) + replaceable() + by_value.b[2];
    switch (which) {
    case 0: d[3] = 1; break; case 1: d[4] += 2; break; case 2: d[5] = d[6]; break;
    case 3: d[7] ^= 3; break; case 4: d[8]--; break; case 5: __builtin_trap();
    }
}
