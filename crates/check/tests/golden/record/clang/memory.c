// State spaces by address_space, initialised tables, structures, bit fields.
#define KERNEL __attribute__((nvptx_kernel))
#define SHARED __attribute__((address_space(3)))
struct row { char tag; short width; const struct row *next; double weight; unsigned low : 5, high : 11; };
static const struct row last = {'c', 3, 0, -0.0, 0, 0}, middle = {'b', -2, &last, 1e300, 1, 2};
static const struct row rows[3] = {{'a', 1, &middle, 0.5, 3, 9}, {'d', 4, &last, 2}};
static SHARED int tile[32][33];
SHARED double exported[8];
int counters[10] = {1, 2, 3};
const char *names[] = {"alpha", "beta\n\t\"", ""};
KERNEL void memory(double *d, int i, const char **name) {
    int t = __nvvm_read_ptx_sreg_tid_x();
    tile[t][i] = counters[i]++;
    exported[t & 7] = rows[i].weight;
    __nvvm_bar_sync(0);
    d[t] = tile[i][t] + exported[i & 7] + rows[i].high + rows[i].next->width;
    *name = names[i];
    volatile int local[40];
    for (int k = 0; k < 40; k++) local[k] = k * i;
    d[1] = local[i];
}
