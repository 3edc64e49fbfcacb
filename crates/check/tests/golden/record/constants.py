"""Makes constants.jsonl.gz: which constants the assembler takes where an instruction can have one.

    python constants.py --ptxas PTXAS --out ../constants.jsonl.gz

The instructions are those of `crates/isa/tests/golden/instructions.jsonl.gz` that it takes, one for each name without
its types, and those below. Each operand that is an integer, or a register of 16, 32 or 64 bits that holds one, is
replaced by constants, one after the other. A row of the file is an instruction with `#` in place of the constants:
`{"arch", "version", "text", "takes", "refuses"}`.
"""

import argparse
import collections
import gzip
import itertools
import json
import pathlib
import re
import subprocess
import tempfile

INSTRUCTIONS = pathlib.Path(__file__).parents[4] / "isa" / "tests" / "golden" / "instructions.jsonl.gz"
VERSION = "9.4"

TYPES = "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f16x2 bf16x2 f32 f64 f32x2 pred tf32".split()
COMPARISONS = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan lo ls hi hs and or xor rn rz rm rp ftz sat".split()
# Their constants are values like those of registers.
VALUES = "set setp wmma tex tld4 txq suq suld sust sured ldmatrix stmatrix testp".split()
MEMORY = "ld st atom red multimem".split()
# Their first operand is no result.
NO_RESULT = "bar barrier nanosleep pmevent setmaxnreg alloca".split()

INTEGERS = """0 1 2 3 4 5 8 12 15 16 17 24 31 32 33 48 64 100 128 129 255 256 257 264 512 1024 4096 0xfff0 0xffff 0x10000
0xfffff 0x100000 0x1000000 -1 -2 -8 -16 0x7fffffff 0x80000000 4294967295 4294967296 0xffffffffffffffff""".split()
FLOATS = """0f3f800000 0f00000000 0fbf800000 0f3f000000 0f40000000 0f7fc00000 0f7f800000 1.0 0.5 0 1 2 -1 0.0 1.0000001
0f3f800001 0f33800000 0f00000001 0f80000000 0d3ff0000000000000 0d0000000000000001 0d36a0000000000000
0d3690000000000000 0d3ff0000000000001 0d3ff0000020000000 1e-46 Rf32_1""".split()
SIZES = "0 1 3 4 5 7 8 9 15 16 17 -1 0x7fffffff 4294967296 4294967300 2+2 4*2 4+1 0x10 4U 16.0".split()
PARTS = "0 1 7 8 9 -1 -2 0x80000000 0xffffffff 4294967296 4294967304 1+8 Rb32_1".split()
PRIORITIES = ["evict_last", "evict_first", "evict_normal", "evict_unchanged", "evict_last.L2::evict_first"]

# An instruction with `#`, and what is put there.
OTHERS = [("sm_90", f"cp.async.ca.shared.global [s], [Rb64_2], {size}, #", SIZES) for size in "4 8 16 Rb32_1".split()]
OTHERS += [("sm_90", f"cp.async.{cache}.shared.global [s], [Rb64_2], #", SIZES) for cache in ["ca", "cg"]]
OTHERS += [("sm_90", "cp.async.cg.shared.global [s], [Rb64_2], 16, #", SIZES)]
OTHERS += [("sm_90", "cp.async.ca.shared.global.L2::cache_hint [s], [Rb64_2], 8, #, Rb64_1", SIZES)]
OTHERS += [("sm_90", f"createpolicy.fractional.L2::{priority}.b64 Rb64_1, #", FLOATS) for priority in PRIORITIES]
OTHERS += [
    ("sm_90", f"createpolicy.range{space}.L2::{priority}.b64 Rb64_1, [Rb64_2], #, {total}", PARTS)
    for priority, space, total in itertools.product(PRIORITIES[:2], ["", ".global"], PARTS)
]
OTHERS += [
    ("sm_107a", f"mbarrier.{what}.multicast::cluster::32b.b64 Rb64_1, [Rb64_2]{count}, #", INTEGERS)
    for what, count in itertools.product(["arrive", "arrive_drop"], ["", ", Rb32_1", ", 1"])
]
OTHERS += [
    ("sm_107a", f"mbarrier.{what}.expect_tx.multicast::cluster::32b.b64 Rb64_1, [Rb64_2], Rb32_1, #", INTEGERS)
    for what in ["arrive", "arrive_drop"]
]

# Each constant expression among operands is evaluated, whatever the instruction makes of it.
EXPRESSIONS = """4/0 4%_0 1.0/0.0 1+2.0 2.0+1 (.u64)2.0 (.u32)2 (.f32)2 1?2:(4/0) 0?2:(4/0) 0&&(1/0) 1||(1/0) 2.0&1.0
!2.0 ~2.0 -(2.0) 1.0?1:2 1?1.0:2 1?1:2.0 0?1:2.0 1.0==1.0 1.0<2.0 1.0<2 1.0!=2 5>4.0 1&&2.0 1.0||0.0 1|1.5 1.5<<2 1/0.0
0.0/0.0 1.0e999 1e-400 1e5 (0f3f800000) -(0f3f800000) +(0f3f800000) (0f3f800000)*2.0 WARP_SZ WARP_SZ/0 WARP_SZ+1.0
1+(2*(3/(2-2))) (1+2.0)*0 (.u64)(.s64)-1 1<<64 99999999999999999999 1U+2.0 %laneid+4 %clock64+4""".replace("_", " ").split()
EXPRESSIONS = [text.replace("4% 0", "4 % 0") for text in EXPRESSIONS]
EVALUATED = """mov.u32 Ru32_1, #
mov.b32 Rb32_1, #
mov.b64 Rb64_1, #
mov.f32 Rf32_1, #
add.u32 Ru32_1, Ru32_2, #
add.f32 Rf32_1, Rf32_2, #
add.f64 Rf64_1, Rf64_2, #
and.b32 Rb32_1, Rb32_2, #
fma.rn.f32 Rf32_1, Rf32_2, #, Rf32_3
selp.f32 Rf32_1, #, 1.0, Rpred_1
setp.lt.f32 Rpred_1, Rf32_1, #
ld.global.u32 Ru32_1, [Rb64_1+#]
ld.shared.u32 Ru32_1, [s+#]
st.global.f32 [Rb64_1], #
shfl.sync.idx.b32 Rb32_1, Rb32_2, #, 31, -1
match.any.sync.b32 Rb32_1, Rb32_2, #
match.any.sync.b64 Rb32_1, #, -1
elect.sync _|Rpred_1, #
vote.sync.ballot.b32 Rb32_1, Rpred_1, #
bar.sync #
nanosleep.u32 #
cp.async.wait_group #
cp.async.bulk.prefetch.L2.global [Rb64_2], #
cp.async.ca.shared.global.L2::cache_hint [s], [Rb64_2], 4, #
ld.global.L2::cache_hint.u32 Ru32_1, [Rb64_1], #
createpolicy.fractional.L2::evict_last.b64 Rb64_1, #
createpolicy.cvt.L2.b64 Rb64_1, #
mbarrier.init.shared.b64 [s], #
mbarrier.arrive.expect_tx.shared.b64 Rb64_1, [s], #
mbarrier.test_wait.shared.b64 Rpred_1, [s], #
tensormap.replace.tile.box_dim.global.b1024.b32 [Rb64_1], 1, #
dp2a.lo.s32.u32 Rs32_1, Rb32_2, #, 4
dp4a.s32.u32 Rs32_1, #, Rb32_2, 4
lop3.b32 Rb32_1, Rb32_2, Rb32_3, Rb32_4, #""".splitlines()
OTHERS += [("sm_90a", text, EXPRESSIONS) for text in EVALUATED]
# Types of registers where the mnemonic has none, or only their size.
REGISTERS = "Rb32_1 Ru32_1 Rs32_1 Rf32_1 Rf16x2_1 Rb64_1 Ru64_1 Rs64_1 Rf64_1 Rb64_1+1 Rb16_1 Rpred_1 _".split()
TYPED = """createpolicy.cvt.L2.b64 #, Rb64_1
createpolicy.cvt.L2.b64 Rb64_1, #
createpolicy.fractional.L2::evict_last.b64 #
createpolicy.range.L2::evict_last.b64 #, [Rb64_2], 1, 2
elect.sync _|Rpred_1, #
elect.sync #|Rpred_1, -1
vote.sync.ballot.b32 Rb32_1, Rpred_1, #
match.all.sync.b32 #|Rpred_1, Rb32_1, -1
match.all.sync.b64 #, Rb64_1, -1
match.any.sync.b32 #, Rb32_1, -1
setp.eq.u32 _|#, Ru32_1, 1
setp.eq.u32 #|_, Ru32_1, 1
setp.lt.and.f32 _|#, Rf32_1, Rf32_2, Rpred_2
dp2a.lo.s32.u32 Rs32_1, #, Rb32_2, 4
dp4a.s32.u32 Rs32_1, Rb32_2, #, 4
stackrestore.u64 #
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {Rf32_1, Rf32_2, Rf32_3, Rf32_4}, #, Rb64_2, 1, 1, 1, 0, 0
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {Rf32_1, Rf32_2, Rf32_3, Rf32_4}, Rb64_2, #, 1, 1, 1, 0, 0
tensormap.replace.tile.box_dim.global.b1024.b32 [Rb64_1], 1, #""".splitlines()
OTHERS += [("sm_90a", text, REGISTERS) for text in TYPED]
OTHERS += [("sm_90a", "ld.global.u32 Ru32_1, [#]", "Rb64_1 Rpred_1 %is_explicit_cluster %laneid %clock64".split())]
OTHERS += [("sm_100a", "st.bulk [Rb64_1], #, 0", REGISTERS), ("sm_100a", "st.bulk.weak.shared::cta [Rb32_1], #, 0", REGISTERS)]
OTHERS += [("sm_90a", f"alloca.{ty} R{ty}_1, 16, #", INTEGERS + "0x400000 0x800000 0x800001".split()) for ty in ["u32", "u64"]]

# Modes of tensor copies, on targets with and without them.
MODES = [
    ("cp.async.bulk.tensor.3d.shared::cluster.global.#.mbarrier::complete_tx::bytes [s], [Rb64_1, {Rs32_1, Rs32_2, Rs32_3}], [s], {1, 1}", "im2col::w im2col::w::128"),
    ("cp.async.bulk.tensor.3d.shared::cta.global.#.mbarrier::complete_tx::bytes [s], [Rb64_1, {Rs32_1, Rs32_2, Rs32_3}], [s], {1, 1}", "im2col::w im2col::w::128"),
    ("cp.async.bulk.prefetch.tensor.3d.L2.global.# [Rb64_1, {Rs32_1, Rs32_2, Rs32_3}], {1, 1}", "im2col::w im2col::w::128"),
    ("cp.async.bulk.tensor.2d.shared::#.global.tile::gather4.mbarrier::complete_tx::bytes [s], [Rb64_1, {Rs32_1, Rs32_2, Rs32_3, Rs32_4, Rs32_5}], [s]", "cluster cta"),
    ("cp.async.bulk.#.2d.L2.global.tile::gather4 [Rb64_1, {Rs32_1, Rs32_2, Rs32_3, Rs32_4, Rs32_5}]", "prefetch.tensor"),
    ("cp.async.bulk.tensor.2d.global.shared::cta.#.bulk_group [Rb64_1, {Rs32_1, Rs32_2, Rs32_3, Rs32_4, Rs32_5}], [s]", "tile::scatter4"),
]
TARGETS = "sm_90a sm_100 sm_100a sm_100f sm_103 sm_103a sm_107a sm_110 sm_110a sm_120 sm_120a sm_121a".split()
OTHERS += [(arch, text, modes.split()) for arch in TARGETS for text, modes in MODES]


def split(operands):
    """The operands of a list; those in brackets and braces are one."""
    parts, depth, part = [], 0, ""
    for character in operands:
        depth += (character in "[{(") - (character in "]})")
        if character == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += character
    return [*parts, part.strip()] if part.strip() else parts


def kind(text):
    """What makes an instruction different from others, for this purpose."""
    opcode, *words = text.split(" ")[0].split(".")
    if opcode in MEMORY:
        words = [word for word in words if word.startswith("L2") or word in ("bulk", "cp")]
    return opcode, tuple(sorted(word for word in words if word not in TYPES + COMPARISONS)), text.count(",")


def patterns():
    """Instructions with `#`, and what is put there."""
    seen = {}
    for line in gzip.open(INSTRUCTIONS, "rt"):
        row = json.loads(line)
        if row["ok"] and row["version"] == VERSION and row["text"].split(".")[0] not in VALUES:
            seen.setdefault(kind(row["text"]), row)
    for row in seen.values():
        name, _, rest = row["text"].partition(" ")
        operands = split(rest)
        for place, operand in enumerate(operands):
            if not re.fullmatch(r"-?\d\w*|R[bus](16|32|64)_\d+", operand):
                continue
            if place == 0 and operand.startswith("R") and name.split(".")[0] not in NO_RESULT:
                continue
            replaced = [*operands[:place], "#", *operands[place + 1 :]]
            yield row["arch"], f"{name} {', '.join(replaced)}", INTEGERS
    yield from OTHERS


def head(arch):
    """A module up to its kernels."""
    return (
        f".version {VERSION}\n.target {arch}\n.address_size 64\n.global .align 128 .b8 g[1024]; "
        ".const .align 128 .b8 c[1024]; .shared .align 128 .b8 s[1024];\n"
    )


def kernel(number, instruction):
    """A kernel with one instruction, on one line."""
    registers = "".join(f".reg .{ty} R{ty}_<256>; " for ty in sorted(set(re.findall(r"R([a-z0-9]+)_", instruction))))
    return f".entry k{number}(.param .u64 P) {{ {registers}.local .align 128 .b8 l[1024]; {instruction}; ret; }}\n"


def verdicts(ptxas, arch, lines):
    """Whether the assembler takes each of these instructions."""
    first = head(arch).count("\n") + 1
    taken, left = [True] * len(lines), list(range(len(lines)))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "m.ptx"
        while left:
            path.write_text(head(arch) + "".join(kernel(n, lines[n]) for n in left))
            call = [ptxas, f"-arch={arch}", "-O0", path, "-o", "/dev/null"]
            done = subprocess.run(call, capture_output=True, text=True)
            if done.returncode == 0:
                return taken
            found = re.findall(r"line (\d+); (?:error|fatal)", done.stdout + done.stderr)
            wrong = {int(line) - first for line in found if 0 <= int(line) - first < len(left)}
            if not wrong:
                raise SystemExit(f"{arch}: no line is named\n{done.stdout}{done.stderr}")
            for place in wrong:
                taken[left[place]] = False
            # Errors of a later pass are reported once those of an earlier one are gone.
            left = [n for place, n in enumerate(left) if place not in wrong]
    return taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    of_arch = collections.defaultdict(list)
    for arch, text, values in patterns():
        of_arch[arch].append((text, values))
    with gzip.GzipFile(args.out, "wb", 9, mtime=0) as out:
        for arch in sorted(of_arch):
            lines = [text.replace("#", value) for text, values in of_arch[arch] for value in values]
            parts = [lines[at : at + 1000] for at in range(0, len(lines), 1000)]
            taken = itertools.chain.from_iterable(verdicts(args.ptxas, arch, part) for part in parts)
            for text, values in of_arch[arch]:
                row = {"arch": arch, "version": VERSION, "text": text, "takes": [], "refuses": []}
                for value in values:
                    row["takes" if next(taken) else "refuses"].append(value)
                out.write((json.dumps(row) + "\n").encode())


main()
