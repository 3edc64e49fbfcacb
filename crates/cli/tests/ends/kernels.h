/* Kernels of the tests of what is submitted when a program ends. Each takes the address of a counter. */
#define HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"
#define ENTRY(name) ".visible .entry " name "(.param .u64 to) { .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<4>;\n" \
                    "ld.param.u64 %d1, [to]; mov.u32 %r1, 0;\n"

static const char KERNELS[] = HEADER
    /* Adds 1 to a word that no other launch touches at the same time. */
    ENTRY("plain") "ld.global.u32 %r2, [%d1]; add.u32 %r2, %r2, 1; st.global.u32 [%d1], %r2; ret; }\n"
    /* The same after a while, with operations that may wait for others. */
    ENTRY("atomic") "atom.global.add.u32 %r2, [%d1], 1;\n"
    "L: atom.global.add.u32 %r2, [%d1], 0; add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 3000; @%p bra L; ret; }\n"
    ENTRY("volatile") "L: ld.volatile.global.u32 %r2, [%d1]; add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 3000;\n"
    "@%p bra L; add.u32 %r2, %r2, 1; st.global.u32 [%d1], %r2; ret; }\n"
    /* Reads far behind the counter. */
    ENTRY("bad") "L: ld.volatile.global.u32 %r2, [%d1]; add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 3000;\n"
    "@%p bra L; ld.global.u32 %r2, [%d1+1048576]; ret; }\n"
    /* Waits until the counter is not what it is. */
    ENTRY("poll") "ld.global.u32 %r2, [%d1];\n"
    "L: ld.global.u32 %r3, [%d1]; setp.eq.u32 %p, %r3, %r2; @%p bra L; ret; }\n"
    /* Never ends. */
    ENTRY("spin") "L: add.u32 %r1, %r1, 1; bra L; }\n";
