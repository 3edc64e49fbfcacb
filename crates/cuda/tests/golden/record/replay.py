"""Turns the scenarios of a recording of the driver API into calls by words, for tests/replay.rs.

    record.py ORACLE_DIR RECORDING_DIR LIBCUDA OUT.jsonl.gz

ORACLE_DIR has gen_driver.py, RECORDING_DIR calls.jsonl as recorded on a GPU. Each scenario runs once on LIBCUDA, only to
learn which words are addresses of memory or values of earlier outputs. What is expected comes from the recording.
"""
import ctypes as C, gzip, json, os, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

oracle, golden, lib = sys.argv[1], sys.argv[2], sys.argv[3]
sys.path.insert(0, oracle)
import gen_driver as g


class Unsupported(Exception):
    pass


class Recorder(g.Scenario):
    def __init__(self, want):
        super().__init__(None, lib, "")
        self.want, self.at, self.ops, self.named, self.buffers = want, 0, [], {}, []
        self.count = 0

    def emit(self, row):
        if "setup" in row or "note" in row:
            self.at += 1

    def printed(self):
        return ""

    def thread(self, f):
        raise Unsupported("threads")

    def note(self, what, value):
        w = self.want[self.at]
        self.at += 1
        names = sys._getframe(1).f_locals
        logs = {"error log": ["e"], "info log": ["i"], "logs": ["e", "i"]}.get(what, [])
        for name, text in zip(logs, w["value"] if what == "logs" else [w["value"]]):
            # What the assembler says of registers has no counterpart.
            if isinstance(names.get(name), C.Array) and "registers" not in text and "maxrregcount" not in text:
                at = self.word(C.addressof(names[name]))
                if isinstance(at, list):
                    self.ops.append({"text": at, "expect": text})

    def host(self, n, name="host", fill=0):
        v = super().host(n, name, fill)
        self.buffers.append((f"{name}#{len(self.buffers)}", int(v), n))
        self.ops.append({"host": self.buffers[-1][0], "bytes": n, "fill": fill})
        return v

    def peek(self, addr, n, name="bytes"):
        w = self.want[self.at]
        self.at += 1
        self.ops.append({"peek": self.word(int(addr)), "bytes": n, "expect": w["value"]})

    def read(self, p, n=4):
        w = self.want[self.at]
        self.at += 1
        self.ops.append({"read": self.word(int(p if isinstance(p, int) else p.v)), "bytes": n, "expect": w["value"]})

    def word(self, v):
        """A literal, or [name, offset] of an output or of memory of the host."""
        v &= (1 << 64) - 1
        if v < 1 << 20 or v > (1 << 64) - (1 << 20):
            return v
        for name, base, n in self.buffers:
            if base <= v <= base + n:
                return [name, v - base]
        near = [(v - x, name) for name, x in self.named.items() if x <= v < x + (1 << 24)]
        if near:
            offset, name = min(near)
            return ["=" + name, offset]
        return self.local(v) if v >> 40 in range(0x50, 0x80) and not any(C.addressof(k) == v for k in self.keep if self.size(k)) else v

    def local(self, v):
        """Memory that a variable of the scenario holds: it stays from its first use on."""
        frame = sys._getframe(2)
        while frame:
            for x in list(frame.f_locals.values()):
                if isinstance(x, (C.Array, C.Structure, C._SimpleCData)) and C.addressof(x) <= v < C.addressof(x) + C.sizeof(x):
                    base, n = C.addressof(x), C.sizeof(x)
                    self.keep.append(x)
                    self.buffers.append((f"local#{len(self.buffers)}", base, n))
                    self.ops.append({"host": self.buffers[-1][0], "bytes": n, "fill": 0, "data": C.string_at(base, n).rstrip(b"\0").hex()})
                    return [self.buffers[-1][0], v - base]
            frame = frame.f_back
        return v

    def region(self, addr, n, depth=0):
        """Memory of the host at a call: words, each a literal or a reference; inner memory is nested."""
        raw = C.string_at(addr, n)
        out, at = [], 0
        while at + 8 <= n:
            w = self.word(int.from_bytes(raw[at:at + 8], "little"))
            if isinstance(w, int):
                inner = next((k for k in self.keep if self.size(k) and C.addressof(k) == w), None)
                if inner is not None and depth < 3:
                    w = {"at": self.region(w, self.size(inner), depth + 1)}
            out.append(w)
            at += 8
        if at < n:
            out.append({"bytes": raw[at:].hex()})
        return out

    @staticmethod
    def size(k):
        return C.sizeof(k) if isinstance(k, (C.Array, C.Structure, C._SimpleCData)) else 0

    def __call__(self, name, *args, expect=None):
        words, outs, stay = [], [], []
        for a in args:
            v, _, s = self.arg(a)
            if s:
                self.count += 1
                word = {"out": s.name, "as": f"{s.name}@{self.count}", "bytes": s.size, "kind": s.kind, "signed": bool(s.signed)}
                if s.keep:
                    word["at"] = self.region(C.addressof(s.buf), s.size)
                words.append(word)
                outs.append((s, word["as"]))
            elif isinstance(a, g.Text):
                words.append({"text": a.name, "data": a.data.hex()})
            elif isinstance(a, (str, bytes)):
                words.append({"string": (a.encode() if isinstance(a, str) else a).hex()})
            elif isinstance(a, (C._CFuncPtr, g.ByVal, float)):
                raise Unsupported(type(a).__name__)
            elif isinstance(v, (C.c_uint64, C.c_void_p)):
                words.append(self.word(v.value or 0))
            else:
                if getattr(a, "_report", False):
                    raise Unsupported("reported struct")
                obj = a if isinstance(a, (C.Structure, C.Array)) else v
                words.append({"at": self.region(C.addressof(obj), C.sizeof(obj))})
        op = {"call": name, "args": words}
        if self.quiet:
            op["expect"] = {"rc": 0}
        else:
            w = self.want[self.at]
            self.at += 1
            assert w.get("call") == name, (w, name)
            op["expect"] = {k: w[k] for k in ("rc", "rc_seen", "out") if k in w}
            if name == "cuFuncGetAttribute" and words[1] == 4:
                op["expect"].pop("out", None)       # registers: the assembler decides them
            if isinstance(w["rc"], str):
                return -1              # NVIDIA's library ends here: nothing to compare, and the call may do no good
        f = getattr(self.lib(name), name, None)
        if f is None:
            raise Unsupported("symbol")
        f.restype = C.c_int
        self.ops.append(op)
        rc = f(*[self.arg(a)[0] if not isinstance(a, g.Slot) else C.c_void_p(C.addressof(a.buf)) for a in args])
        for s, unique in outs:
            v = int(s.v)
            if s.kind == "h" and v > 1 << 20 and s.show() != "untouched":
                self.named[unique] = v
        return rc


def one(name):
    for line in open(os.path.join(golden, "calls.jsonl")):
        row = json.loads(line)
        if row["name"] == name:
            break
    f, opt = g.SCENARIOS[name]
    r = Recorder(row["steps"])
    out = {"name": name, "env": opt.get("env", {})}
    try:
        f(r)
        out["ops"] = r.ops
    except Unsupported as e:
        out["left_out"] = str(e)
    except Exception as e:
        out["left_out"] = f"{type(e).__name__}: {e}"[:200]
    sys.stdout.write("\n" + json.dumps(out) + "\n")
    sys.stdout.flush()
    os._exit(0)


if len(sys.argv) > 5:
    one(sys.argv[5])
# Scenarios whose program writes memory of the host by itself between calls, or passes addresses that it keeps nowhere.
BY_ITSELF = ["managed/host_and_kernel", "device/by_pci_bus_id", "graph/build_and_run", "launch/parameter_layout", "link/one",
             "link/sm_100", "link/syntax", "link/two_modules", "link/whole_program", "module/load_bad_arguments"]


def recorded(n):
    if n in BY_ITSELF:
        return {"name": n, "left_out": "memory of the program itself"}
    env = dict(os.environ, **g.SCENARIOS[n][1].get("env", {}))
    try:
        p = subprocess.run([sys.executable, "-W", "ignore", __file__, *sys.argv[1:5], n], capture_output=True, text=True, env=env, timeout=60)
        return json.loads(p.stdout.strip().split("\n")[-1])
    except Exception as e:
        return {"name": n, "left_out": type(e).__name__}


names = [n for n in g.SCENARIOS if not n.startswith("rt/")]
kept = left = 0
with gzip.GzipFile(sys.argv[4], "wb", mtime=0) as z, ThreadPoolExecutor(4) as pool:
    for n, row in zip(names, pool.map(recorded, names)):
        if "ops" in row:
            kept += 1
            z.write((json.dumps(row, separators=(",", ":")) + "\n").encode())
        else:
            left += 1
            print("left out", n, row["left_out"])
print(kept, "scenarios,", left, "left out")
