// assert, trap and unreachable paths.
#include <cassert>
extern "C" __global__ void assertions(int *d, int n) {
    assert(n > 0 && "positive");
    if (d[0] == 5) __brkpt();
    switch (n) {
    case 0: d[0] = 1; break;
    case 1: d[0] = 4; break;
    default: __builtin_unreachable();
    }
    if (d[1] == 7) asm volatile("exit;");
    __builtin_assume(n < 100);
    d[2] = n / 100;
}
