"""Reads litmus tests of the PTX memory model in the notation of the Dat3M tools.

A test has initial values, threads with their place (CTA and GPU), a table with a column of instructions for each
thread, and a condition on the final registers and memory.
"""
import re


class Unsupported(Exception):
    """The test needs something that PTX, or one device, does not have. The text says what."""


class Test:
    def __init__(self):
        self.name = ""
        self.memory = {}       # location -> initial value
        self.registers = {}    # (thread, register) -> initial value
        self.places = []       # thread -> (gpu, cta)
        self.code = []         # thread -> list of instructions (tuples)
        self.quantifier = ""   # exists | ~exists | forall
        self.condition = None  # nested tuples


def number_or_register(text):
    text = text.strip()
    return text if text.startswith("r") else int(text, 0)


def instruction(text):
    """One instruction as a tuple, or None for an empty field."""
    text = text.strip()
    if not text:
        return None
    if text.endswith(":"):
        return ("label", text[:-1].strip())
    name, _, rest = text.partition(" ")
    operands = [one.strip() for one in rest.split(",")] if rest.strip() else []
    parts = name.split(".")
    op = parts[0]
    if op in ("sust", "suld", "tld", "cold", "suatom", "sured"):
        raise Unsupported("another proxy (texture, surface or constant)")
    if op == "fence" and parts[1] == "proxy":
        raise Unsupported("a proxy fence for textures, surfaces, constants or aliases")
    if op == "st":
        scope = parts[2] if len(parts) > 2 else None
        return ("st", parts[1], scope, operands[0], number_or_register(operands[1]))
    if op == "ld" and len(parts) == 1:
        return ("mov", operands[0], number_or_register(operands[1]))
    if op == "ld":
        scope = parts[2] if len(parts) > 2 else None
        return ("ld", parts[1], scope, operands[0], operands[1])
    if op in ("add", "sub", "mul") and len(parts) == 1:
        return ("alu", op, operands[0], number_or_register(operands[1]), number_or_register(operands[2]))
    if op == "atom":
        values = [number_or_register(one) for one in operands[2:]]
        return ("atom", parts[1], parts[2], parts[3], operands[0], operands[1], *values)
    if op == "red":
        return ("atom", parts[1], parts[2], parts[3], None, operands[0], number_or_register(operands[1]))
    if op == "fence":
        return ("fence", parts[1], parts[2])
    if op == "bar":
        # bar.cta.{sync,arrive} instance [, number [, threads]]
        fields = [number_or_register(one) for one in operands]
        number = fields[1] if len(fields) > 1 else None
        quorum = fields[2] if len(fields) > 2 else None
        return ("bar", parts[2], fields[0], number, quorum)
    if op in ("beq", "bne", "bge", "ble", "bgt", "blt"):
        return (
            "branch", op[1:], number_or_register(operands[0]), number_or_register(operands[1]), operands[2],
        )
    if op == "goto":
        return ("goto", operands[0])
    raise Unsupported(f"the instruction {op}")


def condition(text):
    """`P0:r1 == 1 /\\ (x == 2 \\/ …)` as nested tuples."""
    text = re.sub(r":\s+r", ":r", text)
    tokens = re.findall(r"/\\|\\/|==?|!=|\(|\)|~|P?\d+:r\d+|-?\d+|\w+", text)
    at = 0

    def take(wanted=None):
        nonlocal at
        token = tokens[at]
        if wanted and token != wanted:
            raise ValueError(f"{wanted} expected, {token} found in {text}")
        at += 1
        return token

    def operand():
        token = take()
        if ":" in token:
            return "P" + token.lstrip("P")
        return int(token) if re.fullmatch(r"-?\d+", token) else token

    def atom():
        if tokens[at] == "(":
            take()
            inside = either()
            take(")")
            return inside
        if tokens[at] == "~":
            take()
            return ("not", atom())
        left = operand()
        comparison = take()
        return ("==" if comparison == "=" else comparison, left, operand())

    def both():
        left = atom()
        while at < len(tokens) and tokens[at] == "/\\":
            take()
            left = ("and", left, atom())
        return left

    def either():
        left = both()
        while at < len(tokens) and tokens[at] == "\\/":
            take()
            left = ("or", left, both())
        return left

    result = either()
    if at != len(tokens):
        raise ValueError(f"more than a condition: {text}")
    return result


def parse(text):
    test = Test()
    text = re.sub(r'"[^"]*"', "", text)
    head, _, rest = text.partition("{")
    test.name = head.split()[1]
    declared, _, rest = rest.partition("}")
    for one in re.split(r"[;\n]", declared):
        one = one.strip()
        if not one:
            continue
        if "aliases" in one:
            raise Unsupported("aliases of one place under several addresses")
        left, _, right = (part.strip() for part in one.partition("="))
        register = re.fullmatch(r"P(\d+):(r\d+)", left)
        if register:
            test.registers[int(register[1]), register[2]] = int(right)
        else:
            test.memory[left] = int(right)
    split = re.search(r"^\s*(~exists|exists|forall|filter)\b", rest, re.M)
    if not split or split[1] == "filter":
        raise Unsupported("a condition with a filter")
    table, test.quantifier = rest[: split.start()], split[1]
    test.condition = condition(rest[split.end():].strip())
    rows = [row for row in table.split(";") if row.strip()]
    for place in rows[0].split("|"):
        found = re.fullmatch(r"P(\d+)@cta (\d+),\s*gpu (\d+)", place.strip())
        test.places.append((int(found[3]), int(found[2])))
    test.code = [[] for _ in test.places]
    for row in rows[1:]:
        for thread, field in enumerate(row.split("|")):
            one = instruction(field)
            if one:
                test.code[thread].append(one)
    for code in test.code:
        for one in code:
            if one[0] in ("st", "ld", "atom"):
                test.memory.setdefault(one[3] if one[0] == "st" else one[4] if one[0] == "ld" else one[5], 0)
    return test
