"""The PTX memory consistency model (PTX ISA, chapter 8) for small tests, by enumeration.

Two enumerations, both bounded to a few turns of each loop:

* `interleavings`: executions in which every read takes the newest value, as an interpreter makes them. For each, the
  data races by the definition of 8.7.1. These say whether a race can be seen at all when the test is run.
* `outcomes`: executions by the axioms of 8.10, with every reads-from, coherence and Fence-SC order. These say which
  final states are allowed, and whether a race needs an execution that an interpreter never makes.

Written from the manual; checked against the verdicts that Dat3M has for its own tests (`translate.py` compares).
"""
import itertools
from dataclasses import dataclass


@dataclass(eq=False)
class Event:
    thread: int
    kind: str                 # R, W, F (fence), B (barrier), I (initial write)
    order: str = "weak"       # weak, relaxed, acquire, release, acq_rel, sc
    scope: str = "sys"
    location: str = None
    value: int = None
    partner: "Event" = None   # the other half of a read-modify-write
    reduction: bool = False
    depends: frozenset = frozenset()
    number: tuple = None      # of a barrier: (place, instance, number)
    count: int = 0            # of a barrier: the threads that it waits for
    arrive: bool = False
    at: int = 0               # place in program order

    @property
    def memory(self):
        return self.kind in "RWI"

    @property
    def strong(self):
        return self.kind == "F" or (self.kind in "RW" and self.order != "weak")


def evaluate(condition, registers, memory):
    op = condition[0]
    if op in ("and", "or"):
        left = evaluate(condition[1], registers, memory)
        right = evaluate(condition[2], registers, memory)
        return (left and right) if op == "and" else (left or right)
    if op == "not":
        return not evaluate(condition[1], registers, memory)

    def value(one):
        if isinstance(one, int):
            return one
        if ":" in one:
            thread, register = one[1:].split(":")
            return registers.get((int(thread), register), 0)
        return memory.get(one, 0)

    same = value(condition[1]) == value(condition[2])
    return same if op == "==" else not same


COMPARE = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "ge": lambda a, b: a >= b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "lt": lambda a, b: a < b,
}
COMBINE = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
           "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


def modified(one, old, value):
    """What an atomic operation writes, or None."""
    op = one[3]
    if op == "exch":
        return value(one[6])
    if op == "cas":
        return value(one[7]) if old == value(one[6]) else None
    return COMBINE[op](old, value(one[6]))


class Relations:
    """The relations of chapter 8.9 over the events of one execution."""

    def __init__(self, test, threads, reads_from, fences, barriers):
        self.test = test
        self.events = [event for thread in threads for event in thread]
        self.index = {event: at for at, event in enumerate(self.events)}
        count = len(self.events)
        for thread in threads:
            for at, event in enumerate(thread):
                event.at = at
        # Observation order: pairs (write, read).
        self.observed = set()
        stack = [(write, read) for read, write in reads_from.items()
                 if write.kind != "I" and self.morally_strong(write, read)]
        direct = list(stack)
        while stack:
            write, read = stack.pop()
            if (write, read) in self.observed:
                continue
            self.observed.add((write, read))
            if read.partner:
                stack += [(write, later) for earlier, later in direct if earlier is read.partner]
        # Base causality order as bit sets, transitively closed.
        after = [0] * count
        for thread in threads:
            for one, two in zip(thread, thread[1:]):
                after[self.index[one]] |= 1 << self.index[two]
        for one, two in self.synchronizes(threads):
            after[self.index[one]] |= 1 << self.index[two]
        for one, two in fences:
            after[self.index[one]] |= 1 << self.index[two]
        for one, two in barriers:
            after[self.index[one]] |= 1 << self.index[two]
        for middle in range(count):
            for one in range(count):
                if after[one] >> middle & 1:
                    after[one] |= after[middle]
        self.base = after
        # Causality order: base, or observation and then base.
        cause = list(after)
        for write, read in self.observed:
            cause[self.index[write]] |= after[self.index[read]]
        self.cause = cause

    def includes(self, one, two):
        (gpu, cta), (other_gpu, other_cta) = self.test.places[one.thread], self.test.places[two.thread]
        return {"cta": (gpu, cta) == (other_gpu, other_cta), "gpu": gpu == other_gpu, "sys": True}[one.scope]

    def morally_strong(self, one, two):
        if one.memory and two.memory and one.location != two.location:
            return False
        if one.thread == two.thread:
            return True
        return one.strong and two.strong and self.includes(one, two) and self.includes(two, one)

    def synchronizes(self, threads):
        """Pairs (first of a release pattern, last of an acquire pattern)."""
        release, acquire = {}, {}
        for thread in threads:
            for at, event in enumerate(thread):
                if event.kind == "W" and event.strong:
                    first = [event] if event.order in ("release", "acq_rel") else []
                    for earlier in thread[:at]:
                        if earlier.kind == "F" or (earlier.kind == "W" and earlier.location == event.location
                                                   and earlier.order in ("release", "acq_rel")):
                            first.append(earlier)
                    release[event] = first
                if event.kind == "R" and event.strong and not event.reduction:
                    last = [event] if event.order in ("acquire", "acq_rel") else []
                    for later in thread[at + 1:]:
                        if later.kind == "F" or (later.kind == "R" and later.location == event.location
                                                 and later.order in ("acquire", "acq_rel") and not later.reduction):
                            last.append(later)
                    acquire[event] = last
        for write, read in self.observed:
            for first in release.get(write, []):
                for last in acquire.get(read, []):
                    strong = (first.thread == last.thread
                              or (self.includes(first, last) and self.includes(last, first)))
                    if strong:
                        yield first, last

    def causes(self, one, two):
        return bool(self.cause[self.index[one]] >> self.index[two] & 1)

    def races(self):
        """Pairs in a data race."""
        memory = [event for event in self.events if event.kind in "RW"]
        for one, two in itertools.combinations(memory, 2):
            if one.location != two.location or one.thread == two.thread or (one.kind == two.kind == "R"):
                continue
            if not (self.morally_strong(one, two) or self.causes(one, two) or self.causes(two, one)):
                yield one, two


class Thread:
    """How far one thread is."""

    def __init__(self, test, number):
        self.test, self.number = test, number
        self.code = test.code[number]
        self.labels = {one[1]: at for at, one in enumerate(self.code) if one[0] == "label"}
        self.pc = 0
        self.registers = {name: value for (thread, name), value in test.registers.items() if thread == number}
        self.taint = {}
        self.control = frozenset()
        self.turns = 0
        self.events = []
        self.stopped = False

    def copy(self):
        other = object.__new__(Thread)
        other.__dict__.update(self.__dict__)
        other.registers, other.taint = dict(self.registers), dict(self.taint)
        other.events = list(self.events)
        return other

    def value(self, operand):
        return operand if isinstance(operand, int) else self.registers.get(operand, 0)

    def tainted(self, *operands):
        return frozenset().union(*(self.taint.get(one, frozenset()) for one in operands if isinstance(one, str)))

    def settle(self, most_turns):
        """Runs to the next instruction that other threads can see."""
        while self.pc < len(self.code):
            one = self.code[self.pc]
            if one[0] == "label":
                self.pc += 1
            elif one[0] == "mov":
                self.registers[one[1]] = self.value(one[2])
                self.taint[one[1]] = self.tainted(one[2])
                self.pc += 1
            elif one[0] == "alu":
                self.registers[one[2]] = COMBINE[one[1]](self.value(one[3]), self.value(one[4]))
                self.taint[one[2]] = self.tainted(one[3], one[4])
                self.pc += 1
            elif one[0] in ("branch", "goto"):
                taken = True
                if one[0] == "branch":
                    self.control |= self.tainted(one[2], one[3])
                    taken = COMPARE[one[1]](self.value(one[2]), self.value(one[3]))
                target = self.labels[one[-1]] if taken else self.pc + 1
                if target <= self.pc:
                    self.turns += 1
                    if self.turns > most_turns:
                        self.stopped = True
                        return None
                self.pc = target
            else:
                return one
        return None

    def access(self, one, old):
        """Carries out an access whose location holds `old`; the events, and what is written or None."""
        self.pc += 1
        new, made = None, []
        depends = self.control
        if one[0] == "st":
            new = self.value(one[4])
            made.append(Event(self.number, "W", one[1], one[2], one[3], new, depends=depends | self.tainted(one[4])))
        elif one[0] == "ld":
            read = Event(self.number, "R", one[1], one[2], one[4], old, depends=depends)
            made.append(read)
            self.registers[one[3]] = old
            self.taint[one[3]] = frozenset([read])
        else:
            new = modified(one, old, self.value)
            read = Event(self.number, "R", one[1] if one[1] != "release" else "relaxed", one[2], one[5], old,
                         reduction=one[4] is None and one[1] not in ("acquire", "acq_rel"), depends=depends)
            made.append(read)
            if new is not None:
                write = Event(self.number, "W", one[1] if one[1] != "acquire" else "relaxed", one[2], one[5], new,
                              read, depends=depends | self.tainted(*one[6:]) | {read})
                read.partner = write
                made.append(write)
            if one[4]:
                self.registers[one[4]] = old
                self.taint[one[4]] = frozenset([read])
        self.events += made
        return made, new


def barrier_key(test, thread, one):
    """What barrier an instruction is for, and for how many threads."""
    _, _, instance, number, quorum = one
    place = test.places[thread.number]
    if number is not None:
        number = thread.value(number)
    if quorum is not None:
        return (place, instance, number), quorum
    same = 0
    for other, code in enumerate(test.code):
        if test.places[other] == place:
            for two in code:
                if two[0] == "bar" and two[2] == instance:
                    theirs = two[3]
                    if isinstance(theirs, str):
                        theirs = test.registers.get((other, theirs), 0)
                    same += theirs == number
    return (place, instance, number), same


def interleavings(test, most_turns=2, most_states=400_000):
    """Every execution in which reads take the newest value: (relations, registers, memory)."""
    start = [Thread(test, number) for number in range(len(test.places))]
    # A state: threads, memory values, newest writes, reads-from, order of sc fences, barriers (waiting, pairs).
    stack = [(start, dict(test.memory), {}, {}, [], {}, [], [])]
    seen = set()
    while stack:
        threads, memory, newest, reads, fences, waiting, pairs, signature = stack.pop()
        moved = False
        blocked = {who for group in waiting.values() for who, event in group if not event.arrive}
        for number in range(len(threads)):
            if threads[number].stopped or number in blocked:
                continue
            thread = threads[number].copy()
            one = thread.settle(most_turns)
            if one is None:
                continue
            moved = True
            now_memory, now_newest, now_reads = memory, newest, reads
            now_fences, now_waiting, now_pairs = fences, waiting, pairs
            if one[0] == "fence":
                thread.pc += 1
                event = Event(number, "F", one[1], one[2])
                thread.events.append(event)
                if one[1] == "sc":
                    now_fences = fences + [event]
                mark = ("F", number, len(now_fences) if one[1] == "sc" else 0)
            elif one[0] == "bar":
                thread.pc += 1
                key, count = barrier_key(test, thread, one)
                event = Event(number, "B", number=key, arrive=one[1] == "arrive")
                thread.events.append(event)
                group = waiting.get(key, []) + [(number, event)]
                now_waiting = dict(waiting)
                if len(group) >= count:
                    now_waiting.pop(key, None)
                    now_pairs = pairs + [(a, b) for _, a in group for _, b in group if a is not b and not b.arrive]
                    mark = ("B", number, tuple(sorted(who for who, _ in group)))
                else:
                    now_waiting[key] = group
                    mark = ("B", number, key)
            else:
                location = one[3] if one[0] == "st" else one[4] if one[0] == "ld" else one[5]
                made, new = thread.access(one, memory[location])
                source = newest.get(location)
                if made[0].kind == "R":
                    now_reads = dict(reads)
                    now_reads[made[0]] = source or Event(-1, "I", location=location)
                if new is not None:
                    now_memory, now_newest = dict(memory), dict(newest)
                    now_memory[location], now_newest[location] = new, made[-1]
                mark = (made[0].kind, number, len(thread.events), location,
                        (source.thread, source.at) if source else None)
                for at, event in enumerate(thread.events):
                    event.at = at
            after = threads[:number] + [thread] + threads[number + 1:]
            marks = signature + [mark]
            key = (tuple(sorted(marks, key=repr)), tuple(sorted((location, write.thread, write.at)
                                                               for location, write in now_newest.items())),
                   tuple(event.thread for event in now_fences), tuple((one.pc, one.turns) for one in after))
            if key in seen:
                continue
            seen.add(key)
            if len(seen) > most_states:
                raise RuntimeError(f"{test.name}: too many states")
            stack.append((after, now_memory, now_newest, now_reads, now_fences, now_waiting, now_pairs, marks))
        if not moved:
            for thread in threads:
                thread.settle(most_turns)
            events = [thread.events for thread in threads]
            relations = Relations(test, events, {}, [], [])
            order = [(a, b) for a, b in itertools.combinations(fences, 2) if relations.morally_strong(a, b)]
            relations = Relations(test, events, reads, order, pairs)
            registers = {(thread.number, name): value for thread in threads for name, value in thread.registers.items()}
            yield relations, registers, memory


def traces(test, number, values, most_turns):
    """Every way one thread can go if a read may give each of the values of its location."""
    stack = [Thread(test, number)]
    while stack:
        thread = stack.pop()
        one = thread.settle(most_turns)
        if one is None:
            if not thread.stopped:
                yield thread
            continue
        if one[0] in ("fence", "bar"):
            thread.pc += 1
            if one[0] == "fence":
                event = Event(number, "F", one[1], one[2])
            else:
                key, count = barrier_key(test, thread, one)
                event = Event(number, "B", number=key, count=count, arrive=one[1] == "arrive")
            thread.events.append(event)
            stack.append(thread)
        elif one[0] == "st":
            thread.access(one, None)
            stack.append(thread)
        else:
            for value in values[one[4] if one[0] == "ld" else one[5]]:
                other = thread.copy()
                other.access(one, value)
                stack.append(other)


def acyclic(edges):
    graph = {}
    for one, two in edges:
        graph.setdefault(one, set()).add(two)
    state = {}

    def visit(node):
        state[node] = 1
        for after in graph.get(node, ()):
            if state.get(after) == 1 or (after not in state and not visit(after)):
                return False
        state[node] = 2
        return True

    return all(node in state or visit(node) for node in list(graph))


def value_domain(test):
    """What each location may hold: location -> values. Registers that are stored may hold anything of any location."""
    found = {location: {value} for location, value in test.memory.items()}
    anything = set(test.registers.values()) | {0}
    steps, copies = [], set()
    for code in test.code:
        for one in code:
            if one[0] == "mov" and isinstance(one[2], int):
                anything.add(one[2])
            elif one[0] == "st":
                if isinstance(one[4], int):
                    found[one[3]].add(one[4])
                else:
                    copies.add(one[3])
            elif one[0] == "atom":
                for operand in one[6:] if one[3] != "cas" else one[7:]:
                    if not isinstance(operand, int):
                        copies.add(one[5])
                    elif one[3] in ("exch", "cas"):
                        found[one[5]].add(operand)
                    else:
                        steps.append((one[5], one[3], operand))
    for location, op, operand in steps:
        found[location] |= {COMBINE[op](value, operand) for value in found[location]}
    everything = anything.union(*found.values())
    for code in test.code:
        for one in code:
            if one[0] == "alu":
                constants = [operand for operand in one[3:] if isinstance(operand, int)]
                everything |= {COMBINE[one[1]](value, constant) for value in everything for constant in constants}
    for location in copies:
        found[location] |= everything
    return {location: sorted(values) for location, values in found.items()}


def meetings(combinations):
    """Threads with their events and the pairs that barriers order, for every choice of who meets at them.

    A barrier that more threads come to than it counts lets the others wait for ever: what follows in them is left out.
    Where too few come, or the barriers wait for one another, there is no execution.
    """
    for combination in combinations:
        groups = {}
        for thread in combination:
            for event in thread.events:
                if event.kind == "B":
                    groups.setdefault((event.number, event.count), []).append(event)
        if any(len(group) < count for (_, count), group in groups.items()):
            continue
        for met in itertools.product(*(itertools.combinations(group, count) for (_, count), group in groups.items())):
            node = {event: at for at, group in enumerate(met) for event in group}
            order, events = [], []
            for thread in combination:
                left = [event for event in thread.events if event.kind == "B" and event not in node]
                events.append(thread.events[:thread.events.index(left[0]) + 1] if left else thread.events)
                passed = [event for event in thread.events if event in node]
                order += [(node[one], node[two]) for one, two in zip(passed, passed[1:]) if not one.arrive]
            if acyclic(order):
                yield combination, events, [(a, b) for group in met for a in group for b in group
                                            if a is not b and not b.arrive]


def outcomes(test, most_turns=1, sc_per_location=True):
    """Every execution that the axioms allow: (relations, registers, set of final memories)."""
    values = value_domain(test)
    columns = [list(traces(test, number, values, most_turns)) for number in range(len(test.places))]
    locations = sorted(test.memory)
    for combination, events, barriers in meetings(itertools.product(*columns)):
        flat = [event for thread in events for event in thread]
        writes = {location: [] for location in locations}
        for location in locations:
            writes[location].append(Event(-1, "I", "weak", "sys", location, test.memory[location]))
        for event in flat:
            if event.kind == "W":
                writes[event.location].append(event)
        reads = [event for event in flat if event.kind == "R"]
        choices = [[write for write in writes[read.location] if write.value == read.value and write is not read.partner]
                   for read in reads]
        if not all(choices):
            continue
        sc = [event for event in flat if event.kind == "F" and event.order == "sc"]
        stuck = {thread.number for thread, kept in zip(combination, events) if len(kept) < len(thread.events)}
        registers = {(thread.number, name): None if thread.number in stuck else value for thread in combination
                     for name, value in thread.registers.items()}
        for chosen in itertools.product(*choices):
            reads_from = dict(zip(reads, chosen))
            if not acyclic([(write, read) for read, write in reads_from.items() if write.kind != "I"]
                           + [(read, event) for event in flat if event.kind == "W" for read in event.depends]):
                continue
            for order in orders(test, sc, events):
                relations = Relations(test, events, reads_from, order, barriers)
                if any(relations.causes(event, event) for event in sc):
                    continue
                if any(relations.causes(two, one) for one, two in order):
                    continue
                finals = coherent(relations, writes, reads_from, sc_per_location)
                if finals:
                    yield relations, registers, finals


def orders(test, sc, events):
    """Every Fence-SC order: pairs of morally strong sc fences, oriented without a cycle."""
    if not sc:
        yield []
        return
    relations = Relations(test, events, {}, [], [])
    found = set()
    for order in itertools.permutations(sc):
        pairs = tuple(sorted(((a, b) for a, b in itertools.combinations(order, 2) if relations.morally_strong(a, b)),
                             key=lambda pair: (pair[0].thread, pair[0].at, pair[1].thread, pair[1].at)))
        if pairs not in found:
            found.add(pairs)
            yield list(pairs)


def coherent(relations, writes, reads_from, sc_per_location):
    """The final memories with which some coherence order satisfies the axioms."""
    per_location = []
    for location, all_writes in writes.items():
        initial, rest = all_writes[0], all_writes[1:]
        finals = set()
        loose = [(a, b) for a, b in itertools.combinations(rest, 2) if relations.morally_strong(a, b)]
        for turned in itertools.product((False, True), repeat=len(loose)):
            co = {(initial, write) for write in rest}
            co |= {(b, a) if turn else (a, b) for (a, b), turn in zip(loose, turned)}
            co |= {(a, b) for a in rest for b in rest if a is not b and relations.causes(a, b)}
            grown = True
            while grown:
                more = {(a, d) for a, b in co for c, d in co if b is c} - co
                grown = bool(more)
                co |= more
            if any(a is b or (b, a) in co for a, b in co):
                continue
            mine = {read: write for read, write in reads_from.items() if read.location == location}
            fr = [(read, later) for read, write in mine.items() for earlier, later in co
                  if earlier is write and later is not read.partner]
            if any(relations.causes(read, write) for read, write in mine.items() if write.kind != "I"):
                continue
            if any(relations.causes(write, read) for read, write in fr):
                continue
            strong = relations.morally_strong
            if any(read.partner and strong(read, write) and (write, read.partner) in co and strong(write, read.partner)
                   for read, write in fr):
                continue
            if sc_per_location:
                edges = [(a, b) for a, b in co if a.kind != "I" and strong(a, b)]
                edges += [(write, read) for read, write in mine.items() if write.kind != "I" and strong(write, read)]
                edges += [(read, write) for read, write in fr if strong(read, write)]
                events = [event for event in relations.events if event.memory and event.location == location]
                edges += [(a, b) for a in events for b in events if a.thread == b.thread and a.at < b.at]
                if not acyclic(edges):
                    continue
            last = [write for write in all_writes if not any(a is write for a, _ in co)]
            finals |= {write.value for write in last}
        if not finals:
            return None
        per_location.append([(location, value) for value in finals])
    return [dict(one) for one in itertools.product(*per_location)]
