"""Records which instructions ptxas refuses in old versions of PTX: python old_versions.py --ptxas PTXAS FILE

Every instruction stands on a line of its own in one kernel; ptxas names the lines that it refuses. Syntax errors end its
reading, so the lines it has named are taken out and the rest is tried again until it takes everything."""

import argparse
import gzip
import json
import pathlib
import re
import subprocess
import tempfile

MODULES = """1.0,sm_10 1.1,sm_10 1.2,sm_11 1.2,sm_13 1.3,sm_13 1.4,sm_10 1.4,sm_11 1.4,sm_13 1.5,sm_12 1.5,sm_13 2.0,sm_13
2.0,sm_20 2.1,sm_20 2.2,sm_20 2.3,sm_10 3.0,sm_13 3.0,sm_20 3.1,sm_20 3.1,sm_30 3.2,sm_13 3.2,sm_30 4.0,sm_10 4.0,sm_30
6.0,sm_13 6.3,sm_70 7.0,sm_70 9.4,sm_13 9.4,sm_90"""

# The declarations of the kernel, and its instructions.
D='''.reg .u16 h<4>;
.reg .s16 sh<4>;
.reg .b16 bh<4>;
.reg .u32 r<8>;
.reg .s32 s<8>;
.reg .b32 b<8>;
.reg .u64 rd<8>;
.reg .s64 sd<8>;
.reg .b64 bd<8>;
.reg .f32 f<8>;
.reg .f64 d<8>;
.reg .pred p<4>;
.local .u32 lv;
.shared .u32 sv;
'''
L=[]
for t,a in [('f32','f'),('f64','d')]:
    for op,n in [('add',2),('sub',2),('mul',2),('mad',3),('fma',3),('div',2),('rcp',1),('sqrt',1),('rsqrt',1),('sin',1),('cos',1),('lg2',1),('ex2',1),('abs',1),('neg',1),('min',2),('max',2)]:
        for rnd in ['','.rn','.rz','.rm','.rp','.approx','.full']:
            for ftz in ['','.ftz']:
                for sat in ['','.sat']:
                    L.append(f'{op}{rnd}{ftz}{sat}.{t} {a}0, '+', '.join(f'{a}{i+1}' for i in range(n))+';')
    for op in ['set','setp']:
        for cmp in ['eq','lt','equ','num','nan']:
            for ftz in ['','.ftz']:
                for bo in ['','.and']:
                    if op=='set': L.append(f'set.{cmp}{bo}{ftz}.u32.{t} r0, {a}1, {a}2{", p1" if bo else ""};')
                    else: L.append(f'setp.{cmp}{bo}{ftz}.{t} p0, {a}1, {a}2{", p1" if bo else ""};')
        if op=='set':
            L.append(f'set.eq.f32.{t} f0, {a}1, {a}2;')
            L.append(f'set.eq.ftz.f32.{t} f0, {a}1, {a}2;')
    for ftz in ['','.ftz']:
        L.append(f'slct{ftz}.{t}.f32 {a}0, {a}1, {a}2, f3;'); L.append(f'slct{ftz}.{t}.s32 {a}0, {a}1, {a}2, s3;')
    L.append(f'selp.{t} {a}0, {a}1, {a}2, p0;')
    L.append(f'testp.finite.{t} p0, {a}1;'); L.append(f'copysign.{t} {a}0, {a}1, {a}2;')
    L.append(f'mov.{t} {a}0, {a}1;')
for t,a in [('u16','h'),('s16','sh'),('u32','r'),('s32','s'),('u64','rd'),('s64','sd')]:
    W={'u16':'r','s16':'s','u32':'rd','s32':'sd'}.get(t)
    for op in ['add','sub','div','rem','min','max']: L.append(f'{op}.{t} {a}0, {a}1, {a}2;')
    for op in ['add','sub']: L.append(f'{op}.sat.{t} {a}0, {a}1, {a}2;'); L.append(f'{op}.cc.{t} {a}0, {a}1, {a}2;'); L.append(f'{op}c.{t} {a}0, {a}1, {a}2;'); L.append(f'{op}c.cc.{t} {a}0, {a}1, {a}2;')
    for m in ['','.lo','.hi','.wide']:
        dd=(W if m=='.wide' and W else a)
        L.append(f'mul{m}.{t} {dd}0, {a}1, {a}2;'); L.append(f'mad{m}.{t} {dd}0, {a}1, {a}2, {dd}3;'); L.append(f'mad{m}.sat.{t} {dd}0, {a}1, {a}2, {dd}3;')
        L.append(f'mul24{m}.{t} {a}0, {a}1, {a}2;'); L.append(f'mad24{m}.{t} {a}0, {a}1, {a}2, {a}3;'); L.append(f'mad24{m}.sat.{t} {a}0, {a}1, {a}2, {a}3;')
        L.append(f'mad{m}.cc.{t} {a}0, {a}1, {a}2, {a}3;'); L.append(f'madc{m}.{t} {a}0, {a}1, {a}2, {a}3;')
    L.append(f'sad.{t} {a}0, {a}1, {a}2, {a}3;'); L.append(f'abs.{t} {a}0, {a}1;'); L.append(f'neg.{t} {a}0, {a}1;')
    for op in ['popc','clz','brev','bfind','bfind.shiftamt']: L.append(f'{op}.{t} r0, {a}1;')
    L.append(f'bfe.{t} {a}0, {a}1, r2, r3;'); L.append(f'bfi.{t} {a}0, {a}1, {a}2, r2, r3;'); L.append(f'prmt.{t} r0, r1, r2, r3;')
    L.append(f'shr.{t} {a}0, {a}1, r1;')
    for c in ['eq','lt','lo','hs']:
        L.append(f'setp.{c}.{t} p0, {a}1, {a}2;'); L.append(f'set.{c}.u32.{t} r0, {a}1, {a}2;'); L.append(f'setp.{c}.{t} p0|p1, {a}1, {a}2;')
        L.append(f'set.{c}.f32.{t} f0, {a}1, {a}2;')
    L.append(f'selp.{t} {a}0, {a}1, {a}2, p0;'); L.append(f'slct.{t}.s32 {a}0, {a}1, {a}2, s3;'); L.append(f'mov.{t} {a}0, {a}1;'); L.append(f'mov.{t} {a}0, 1;')
for t,a in [('b16','bh'),('b32','b'),('b64','bd'),('pred','p')]:
    for op in ['and','or','xor']: L.append(f'{op}.{t} {a}0, {a}1, {a}2;')
    L.append(f'not.{t} {a}0, {a}1;'); L.append(f'cnot.{t} {a}0, {a}1;'); L.append(f'mov.{t} {a}0, {a}1;')
    L.append(f'shl.{t} {a}0, {a}1, r1;'); L.append(f'shr.{t} {a}0, {a}1, r1;'); L.append(f'selp.{t} {a}0, {a}1, {a}2, p3;')
    for op in ['popc','clz','brev','prmt']: L.append(f'{op}.{t} b0, {a}1'+(', b2, b3' if op=='prmt' else '')+';')
    L.append(f'bfi.{t} {a}0, {a}1, {a}2, r2, r3;'); L.append(f'lop3.{t} {a}0, {a}1, {a}2, {a}3, 5;')
    L.append(f'setp.eq.{t} p0, {a}1, {a}2;'); L.append(f'set.eq.u32.{t} r0, {a}1, {a}2;')
L+=['mov.b32 b0, {h1, h2};','mov.b32 {h1, h2}, b0;','mov.b64 bd0, {r1, r2};','mov.b64 bd0, {h0,h1,h2,h3};','mov.b16 h0, {bh1, bh2};']
regs={'u8':'r','s8':'s','b8':'b','u16':'h','s16':'sh','b16':'bh','u32':'r','s32':'s','b32':'b','u64':'rd','s64':'sd','b64':'bd','f32':'f','f64':'d'}
for sp,ad in [('','g'),('.const','c'),('.global','g'),('.local','lv'),('.shared','sv'),('.param','kp')]:
    for t in ['u8','s8','b8','u16','u32','b32','f32','u64','f64','b64']:
        a=regs[t]
        L.append(f'ld{sp}.{t} {a}0, [{ad}];')
        if sp not in('.const','.param'): L.append(f'st{sp}.{t} [{ad}], {a}0;')
    for x in ['r0','rd0','r0+4','rd0+-4','0','16']:
        L.append(f'ld{sp}.u32 r1, [{x}];')
        L.append(f'st{sp}.u32 [{x}], r1;')
    for v in ['v2','v4']:
        for t,a in [('u32','r'),('f64','d'),('u16','h'),('u8','r')]:
            n=int(v[1]); vec='{'+','.join(f'{a}{i}' for i in range(n))+'}'
            L.append(f'ld{sp}.{v}.{t} {vec}, [{ad}];')
    for q in ['.volatile','.ca','.cg','.cs','.lu','.cv','.wb','.wt','.nc']:
        L.append(f'ld{q}{sp}.u32 r0, [{ad}];'); L.append(f'ld{sp}{q}.u32 r0, [{ad}];')
        L.append(f'st{q}{sp}.u32 [{ad}], r0;'); L.append(f'st{sp}{q}.u32 [{ad}], r0;')
    L.append(f'ldu{sp}.u32 r0, [{ad}];'); L.append(f'prefetch{sp}.L1 [{ad}];'); L.append(f'prefetch{sp}.L2 [{ad}];'); L.append(f'prefetchu.L1 [rd0];')
    for op in ['add','and','or','xor','exch','min','max','inc','dec','cas']:
        for t in ['u32','s32','b32','u64','b64','f32','f64']:
            a=regs[t]
            if op=='cas': L.append(f'atom{sp}.{op}.{t} {a}0, [{ad}], {a}1, {a}2;')
            else:
                L.append(f'atom{sp}.{op}.{t} {a}0, [{ad}], {a}1;')
                L.append(f'red{sp}.{op}.{t} [{ad}], {a}1;')
for dt in ['u8','s8','u16','s16','u32','s32','u64','s64','f32','f64','f16']:
    for st in ['u8','s8','u16','s16','u32','s32','u64','s64','f32','f64','f16']:
        for m in ['','.rn','.rz','.rni','.rzi','.sat','.ftz','.rn.ftz','.rni.ftz','.rn.sat','.rni.sat','.rzi.sat']:
            if m not in('','.rn','.rni') and (dt[0]!='f' and st[0]!='f'): continue
            A=lambda t:{'f16':'bh'}.get(t) or regs[t]
            L.append(f'cvt{m}.{dt}.{st} {A(dt)}0, {A(st)}1;')
for t in ['u32','u64']:
    L+= [f'cvta.global.{t} rd0, rd1;',f'cvta.to.global.{t} rd0, rd1;',f'cvta.shared.{t} rd0, sv;']
L+=['isspacep.global p0, rd0;']
for s in ['1d','2d','3d','a1d','a2d','cube']:
    for dt in ['u32','s32','f32']:
        for ct in ['f32','s32','u32']:
            a=regs[dt];c=regs[ct]
            n={'1d':1,'2d':2,'3d':4,'a1d':2,'a2d':4,'cube':4}[s]
            L.append(f'tex.{s}.v4.{dt}.{ct} {{{a}0,{a}1,{a}2,{a}3}}, [tx, {{{",".join(f"{c}{i}" for i in range(n))}}}];')
L+=['bar.sync 0;','bar.sync 1;','bar.sync r0;','bar.sync 0, 32;','bar.arrive 0, 32;','bar.red.popc.u32 r0, 0, p0;','bar.red.and.pred p0, 0, p1;','membar.cta;','membar.gl;','membar.sys;','membar;','bar;','vote.all.pred p0, p1;','vote.any.pred p0, p1;','vote.uni.pred p0, !p1;','vote.ballot.b32 b0, p1;','trap;','brkpt;','pmevent 1;','exit;','@p0 exit;','pmevent.mask 1;','nop;','discard;',
'bar.cta;','bar.warp.sync 0;','vote.all p0, p1;','bra.uni L;','bra L;','@p0 bra L;','@!p0 bra.uni L;','call.uni ff;','call ff;','call (r0), fr, (r1);','ret.uni;','@p0 ret;',
'mov.u32 r0, g;','mov.u32 r0, sv;','mov.u32 r0, lv;','mov.u64 rd0, g;','mov.u64 rd0, sv;','mov.u64 rd0, lv;','mov.u32 r0, c;','mov.u64 rd0, c;','mov.u32 r0, kp;','mov.u64 rd0, kp;',
'shfl.up.b32 r0, r1, 1, 0;','shfl.up.b32 r0|p0, r1, 1, 0;','shf.l.wrap.b32 r0, r1, r2, r3;','dp4a.u32.u32 r0, r1, r2, r3;','fns.b32 b0,b1,b2,r0;','bfind.u32 r0, r1;',
'vadd.s32.s32.s32 s0, s1, s2;','vadd2.s32.s32.s32 s0, s1, s2, s3;','vset.u32.u32.eq r0, r1, r2;','vmad.s32.s32.s32 s0, s1, s2, s3;','vabsdiff.s32.s32.s32 s0,s1,s2;','vshl.u32.u32.u32.clamp r0,r1,r2;',
'txq.width.b32 b0, [tx];','suq.width.b32 b0, [sf];','txq.width.b32 b0, [rd0];','sust.b.1d.b32.trap [sf, {r0}], b0;','suld.b.1d.b32.trap b0, [sf, {r0}];','sured.b.add.1d.u32.trap [sf, {r0}], r1;','suld.b.1d.b32.clamp b0, [sf, {r0}];','suld.b.1d.b32 b0, [sf, {r0}];','sust.p.1d.b32.trap [sf, {r0}], b0;',
]
for s in ['%tid','%ntid','%ctaid','%nctaid']:
    for t,a in [('u16','h'),('u32','r'),('s32','s'),('b32','b'),('u64','rd')]:
        L.append(f'mov.{t} {a}0, {s}.x;'); L.append(f'cvt.u32.{t} r0, {s}.x;')
    L.append(f'mov.v4.u32 {{r0,r1,r2,r3}}, {s};'); L.append(f'mov.u32 r0, {s};'); L.append(f'add.u32 r0, r1, {s}.x;'); L.append(f'mov.u16 h0, {s}.w;')
for s in ['%laneid','%warpid','%nwarpid','%smid','%nsmid','%gridid','%clock','%clock64','%lanemask_eq','%pm0','%pm3','%pm4','%pm7','%envreg0','%globaltimer','%globaltimer_lo','%clock_hi','%total_smem_size','%dynamic_smem_size']:
    for t,a in [('u16','h'),('u32','r'),('u64','rd')]: L.append(f'mov.{t} {a}0, {s};')
# Left out: what crashes ptxas, and 32-bit generic addresses, which it refuses without naming a line.
L = [line for line in dict.fromkeys(L) if not re.match(r"st\.param\.u32 \[r|(ld|st)\.u32 .*\[r0", line)]


def around(version, target):
    """What stands before and after the instructions."""
    number = tuple(map(int, version.split(".")))
    before = f".version {version}\n.target {target}\n" + (".address_size 64\n" if number >= (2, 3) else "")
    before += ".global .u32 g;\n.const .u32 c;\n"
    before += ".func ff()\n{\nret;\n}\n.func (.reg .u32 o) fr(.reg .u32 i)\n{\nret;\n}\n"
    before += ".global .texref tx;\n.global .surfref sf;\n" if number >= (1, 5) else ".tex .u32 tx;\n"
    before += ".entry k(.param .u32 kp)\n{\n" if number >= (1, 4) else ".entry k\n{\n.param .u32 kp;\n"
    return before + D, "L:\nret;\n}\n"


def lines_refused(ptxas, ptx, arch):
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        done = subprocess.run([ptxas, "-arch", arch, "-o", "/dev/null", file.name], capture_output=True, text=True)
    if done.returncode not in (0, 255):
        raise SystemExit(f"ptxas ended with {done.returncode}")
    # Addresses of 32 bits are warned about, and then refused as a whole.
    patterns = (r", line (\d+); *(?:error|fatal)", r"32-bit address on line '(\d+)'")
    return {int(line) for pattern in patterns for line in re.findall(pattern, done.stdout + done.stderr)}


def refused(ptxas, before, after, arch):
    first = before.count("\n") + 1
    left, found = list(range(len(L))), set()
    while True:
        lines = lines_refused(ptxas, before + "".join(L[i] + "\n" for i in left) + after, arch)
        new = {left[line - first] for line in lines if 0 <= line - first < len(left)}
        if not new:
            return sorted(found)
        found |= new
        left = [i for i in left if i not in new]


parser = argparse.ArgumentParser()
parser.add_argument("--ptxas", required=True)
parser.add_argument("file", type=pathlib.Path)
args = parser.parse_args()
rows = [{"instructions": L}]
for module in MODULES.split():
    version, target = module.split(",")
    arch = target if target == "sm_90" else "sm_75"
    before, after = around(version, target)
    row = {"version": version, "target": target, "arch": arch, "before": before, "after": after}
    rows.append(row | {"refused": refused(args.ptxas, before, after, arch)})
with open(args.file, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", compresslevel=9, mtime=0) as packed:
    for row in rows:
        packed.write((json.dumps(row, separators=(",", ":")) + "\n").encode())
