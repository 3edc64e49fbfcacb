#!/usr/bin/env python3
"""Translates the PTX litmus tests of Dat3M into PTX modules with verdicts.

    python3 translate.py CHECKOUT OUT.jsonl.gz

CHECKOUT is a checkout of github.com/hernanponcedeleon/Dat3M. Each line of the result is a test: the module, where its
threads run, whether it has a data race, and the final states that the model forbids. `README.md` in this folder says
more. Races and forbidden states are computed by `model.py`; where Dat3M has a verdict on a condition of its own, the two
are compared, and a difference stops the translation.
"""
import collections
import gzip
import json
import pathlib
import sys

import model
from parse import Unsupported, parse

OPS = {"add": "add.u32", "and": "and.b32", "or": "or.b32", "xor": "xor.b32", "exch": "exch.b32", "cas": "cas.b32"}


def resolved(test, thread, operand):
    """A register that is never written is its initial value."""
    if isinstance(operand, int) or operand is None:
        return operand
    for one in test.code[thread]:
        if (one[0] in ("mov",) and one[1] == operand) or (one[0] == "alu" and one[2] == operand) or \
                (one[0] == "ld" and one[3] == operand) or (one[0] == "atom" and one[4] == operand):
            raise Unsupported("a barrier whose number is read from memory")
    return test.registers.get((thread, operand), 0)


def all_strong(test):
    """Whether every access of the test is strong and its scope includes every thread."""
    for code in test.code:
        for one in code:
            if one[0] in ("st", "ld", "atom"):
                if one[1] == "weak":
                    return False
                same = len(set(test.places)) == 1 if one[2] == "cta" else len({gpu for gpu, _ in test.places}) == 1
                if one[2] != "sys" and not same:
                    return False
    return True


class Module:
    """The text of the module of one test.

    A litmus thread is lane 0 of a warp, or a lane of a warp that it shares with others: `%slot` is the CTA's number times
    `width` plus the thread's number divided by `step`, and the thread with the slot `place_n` plays thread n. Whole warps
    execute the code of a test with barriers, lane 0 makes the accesses and shows the others what it read.
    """

    def __init__(self, test, places):
        self.test, self.places = test, places
        self.whole = any(one[0] == "bar" for code in test.code for one in code)
        self.numbers = {}
        self.lines = []

    def emit(self, text):
        self.lines.append(text)

    def operand(self, thread, one):
        return str(one) if isinstance(one, int) else f"%{one}_{thread}"

    def address(self, location):
        return f"[%mem + {16 * sorted(self.test.memory).index(location)}]"

    def barrier(self, thread, one):
        _, mode, instance, number, quorum = one
        number = resolved(self.test, thread, number)
        key, count = model.barrier_key(self.test, model.Thread(self.test, thread), one)
        if quorum is not None:
            count = quorum
        name = self.numbers.setdefault((instance, number), len(self.numbers))
        if mode == "arrive" and count < 2:
            raise Unsupported("an arrival that nobody waits for")
        return f"bar.{mode} {name}, {32 * count};"

    def instruction(self, thread, one):
        guard = "@%lead " if self.whole else ""
        value = lambda operand: self.operand(thread, operand)
        if one[0] == "label":
            self.emit(f"T{thread}_{one[1]}:")
        elif one[0] == "mov":
            self.emit(f"mov.u32 {value(one[1])}, {value(one[2])};")
        elif one[0] == "alu":
            self.emit(f"{'mul.lo' if one[1] == 'mul' else one[1]}.s32 {value(one[2])}, {value(one[3])}, {value(one[4])};")
        elif one[0] == "branch":
            self.emit(f"setp.{one[1]}.s32 %p, {value(one[2])}, {value(one[3])};")
            self.emit(f"@%p bra T{thread}_{one[4]};")
        elif one[0] == "goto":
            self.emit(f"bra T{thread}_{one[1]};")
        elif one[0] == "fence":
            self.emit(f"{guard}fence.{one[1]}.{one[2]};")
        elif one[0] == "bar":
            self.emit(self.barrier(thread, one))
        elif one[0] == "st":
            sem = f"{one[1]}.{one[2]}" if one[2] else one[1]
            self.emit(f"{guard}st.{sem}.global.u32 {self.address(one[3])}, {value(one[4])};")
        else:
            if one[0] == "ld":
                sem = f"{one[1]}.{one[2]}" if one[2] else one[1]
                register = one[3]
                self.emit(f"{guard}ld.{sem}.global.u32 {value(register)}, {self.address(one[4])};")
            else:
                _, sem, scope, op, register, location, *values = one
                if op == "sub":
                    op, values = "add", [-values[0]]
                if op not in OPS:
                    raise Unsupported(f"the atomic operation {op}")
                if register is None and sem in ("relaxed", "release"):
                    self.emit(f"{guard}red.{sem}.{scope}.global.{OPS[op]} {self.address(location)}, {value(values[0])};")
                else:
                    result = "%unused" if register is None else value(register)
                    rest = ", ".join(value(each) for each in values)
                    self.emit(f"{guard}atom.{sem}.{scope}.global.{OPS[op]} {result}, {self.address(location)}, {rest};")
            if self.whole and register:
                self.emit(f"shfl.sync.idx.b32 {value(register)}, {value(register)}, 0, 31, -1;")

    def text(self):
        test = self.test
        count = len(test.places)
        names = [sorted({one for two in code for one in two if isinstance(one, str) and one[0] == "r" and one[1:].isdigit()}
                        | {name for (thread, name) in test.registers if thread == number})
                 for number, code in enumerate(test.code)]
        outputs = {}
        for thread in range(count):
            self.emit(f"T{thread}_start:")
            for name in names[thread]:
                self.emit(f"mov.u32 %{name}_{thread}, {test.registers.get((thread, name), 0)};")
            self.emit(f"ld.param.u32 %d, [delay_{thread}];")
            self.emit(f"T{thread}_delay: setp.eq.u32 %p, %d, 0;")
            self.emit(f"@%p bra T{thread}_go;")
            self.emit("sub.u32 %d, %d, 1;")
            self.emit(f"bra T{thread}_delay;")
            self.emit(f"T{thread}_go:")
            for one in test.code[thread]:
                self.instruction(thread, one)
            for name in names[thread]:
                outputs[f"P{thread}:{name}"] = len(outputs)
                guard = "@%lead " if self.whole else ""
                self.emit(f"{guard}st.global.u32 [%out + {4 * outputs[f'P{thread}:{name}']}], %{name}_{thread};")
            self.emit("ret;")
        body = "\n".join("  " + line for line in self.lines)
        parameters = ", ".join([".param .u64 mem", ".param .u64 out", ".param .u32 width", ".param .u32 step"]
                               + [f".param .u32 place_{n}, .param .u32 delay_{n}" for n in range(count)])
        registers = ", ".join(f"%{name}_{thread}" for thread in range(count) for name in names[thread])
        registers = f"  .reg .b32 {registers};\n" if registers else ""
        head = "" if self.whole else "  @!%lead ret;\n"
        choose = "\n".join(f"  ld.param.u32 %d, [place_{n}];\n  setp.eq.u32 %p, %d, %slot;\n  @%p bra T{n}_start;"
                           for n in range(count))
        return (
            ".version 8.6\n.target sm_90\n.address_size 64\n"
            f".visible .entry litmus({parameters})\n{{\n"
            "  .reg .pred %p, %lead; .reg .b64 %mem, %out; .reg .b32 %slot, %d, %step, %rest, %unused;\n"
            f"{registers}"
            "  ld.param.u64 %mem, [mem];\n  ld.param.u64 %out, [out];\n  ld.param.u32 %step, [step];\n"
            "  mov.u32 %slot, %tid.x;\n  rem.u32 %rest, %slot, %step;\n  div.u32 %slot, %slot, %step;\n"
            "  ld.param.u32 %d, [width];\n  mov.u32 %unused, %ctaid.x;\n  mad.lo.u32 %slot, %unused, %d, %slot;\n"
            f"  setp.eq.u32 %lead, %rest, 0;\n{head}{choose}\n  ret;\n{body}\n}}\n"
        ), outputs


def expectations(checkout):
    """Dat3M's verdicts on conditions: path -> {file: 0 or 1}."""
    found = collections.defaultdict(dict)
    for name in ("PTXv6_0-expected.csv", "PTXv7_5-expected.csv"):
        path = checkout / "dartagnan/src/test/resources" / name
        for line in path.read_text().splitlines():
            if "," in line:
                file, _, verdict = line.strip().partition(",")
                found[file][name] = int(verdict)
    return found


def judge(test, expected):
    """(race, race only in other executions, forbidden condition or None, race only among equal stores)."""
    race, pairs = False, set()
    if not all_strong(test):
        for relations, _, _ in model.interleavings(test):
            for one, two in relations.races():
                same = one.kind == two.kind == "W" and one.value == two.value
                pairs.add("same" if same else "differ")
        race = bool(pairs)
    trivial = test.condition == ("==", 0, 0)
    forbidden, weak_race, possible, all_hold = None, False, False, True
    if not trivial:
        for relations, registers, finals in model.outcomes(test):
            weak_race = weak_race or any(True for _ in relations.races())
            for memory in finals:
                holds = model.evaluate(test.condition, registers, memory)
                possible |= holds
                all_hold &= holds
        ok = {"exists": possible, "~exists": not possible, "forall": all_hold}[test.quantifier]
        for name, verdict in expected.items():
            if bool(verdict) != ok:
                raise AssertionError(f"{test.name}: {name} says {verdict}, the model {ok}")
        if test.quantifier == "forall":
            forbidden = ("not", test.condition) if all_hold else None
        else:
            forbidden = None if possible else test.condition
    return race, weak_race and not race, forbidden, pairs == {"same"}


def main(checkout, out):
    checkout = pathlib.Path(checkout)
    expected = expectations(checkout)
    skipped, lines, agreed, differ = collections.Counter(), [], 0, []
    for path in sorted((checkout / "litmus/PTX").rglob("*.litmus")):
        file = str(path.relative_to(checkout))
        try:
            test = parse(path.read_text())
            verdicts = expected.get(file, {})
            module = Module(test, test.places)
            text, outputs = module.text()
            race, weak_race, forbidden, same = judge(test, verdicts)
        except Unsupported as why:
            skipped[str(why)] += 1
            continue
        except (AssertionError, ValueError, RuntimeError) as why:
            differ.append(str(why))
            continue
        agreed += len(verdicts)
        line = {
            "name": file.removeprefix("litmus/PTX/").removesuffix(".litmus"),
            "ptx": text,
            "threads": [list(place) for place in test.places],
            "whole_warps": module.whole,
            "memory": [test.memory[location] for location in sorted(test.memory)],
            "locations": sorted(test.memory),
            "outputs": outputs,
            "race": race,
        }
        if same:
            line["only_equal_stores"] = True
        if weak_race:
            line["race_needs_weak_execution"] = True
        if forbidden:
            line["forbidden"] = forbidden
        lines.append(line)
    data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
    with open(out, "wb") as file:
        with gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
            packed.write(data)
    racy = sum(line["race"] for line in lines)
    print(f"{len(lines)} tests, {racy} with a race; {sum('forbidden' in line for line in lines)} with forbidden states")
    print(f"{sum('race_needs_weak_execution' in line for line in lines)} race only in executions that are not interleavings")
    print(f"{agreed} verdicts of Dat3M agree")
    for why, count in skipped.most_common():
        print(f"{count} skipped: {why}")
    for one in differ:
        print("DIFFERS", one)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
