"""Programs of HeCBench: how they are built, and with which arguments they are run.

HeCBench's Makefiles call nvcc with the architecture of the user. A wrapper of that name stands first in PATH; it takes
these switches away and gives its own. `make -n run` then says how a program is called. The sizes there are meant for a
GPU: `smaller` makes them smaller by one rule for all programs.
"""

import os
import pathlib
import re
import shlex

# What nvcc's wrapper takes away: architectures and runtimes, and warnings of the compiler of the host.
WRAPPER = """#!/usr/bin/env python3
import os, re, sys
given = sys.argv[1:]
kept = []
position = 0
while position < len(given):
    word = given[position]
    if word in ("-gencode", "--generate-code", "-arch", "--gpu-architecture", "-code", "--cudart", "-cudart", "-ccbin"):
        position += 2
        continue
    position += 1
    if not re.match(r"(-gencode|--generate-code|-arch|--gpu-architecture|-code|-?-cudart|-ccbin)=", word):
        kept.append(word)
os.execv({nvcc!r}, [{nvcc!r}, *kept, *{flags!r}])
"""

REPEATS = re.compile(r"repeat|iter|times|time ?steps|runs|loops?\b|passes|trials|\bnt\b", re.I)
BLOCKS = re.compile(r"block|work-?group|group size|threads|mode|method|version|implementation|kernel|seed|device", re.I)
ASSUMED_REPEATS = {"-i", "-r", "-iter", "-iters", "-iterations", "--iterations", "-repeat", "-nIter", "-steps", "--nsteps"}


def wrapper(folder, nvcc, flags):
    """Writes the wrapper of nvcc into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "nvcc"
    place.write_text(WRAPPER.format(nvcc=nvcc, flags=flags))
    place.chmod(0o755)


def names(folder):
    """What a program calls its arguments, by its own message about its usage."""
    for path in sorted(folder.glob("*.c*")):
        found = re.search(r"Usage:?[^<\n]*((?:<[^>\n]+>[\s\"]*)+)", path.read_text(errors="replace"), re.I)
        if found:
            return re.findall(r"<([^>]+)>", found.group(1))
    return []


def smaller(words, called, level):
    """The arguments of a program, made smaller: repetitions are 2 at most, sizes are divided by 4 ** level.

    With no level (None) they are what the Makefile says."""
    if level is None:
        return list(words)
    numbers = [place for place, word in enumerate(words) if re.fullmatch(r"\d+", word)]
    result = list(words)
    named = len(called) == len(words)
    for place in numbers:
        value = int(words[place])
        option = words[place - 1] if place and words[place - 1].startswith("-") else ""
        name = called[place] if named else option
        last = not named and not option and place == numbers[-1]
        if REPEATS.search(name) or option in ASSUMED_REPEATS or (last and value >= 10):
            result[place] = str(min(value, 2))
        elif level and value > 8 and not BLOCKS.search(name):
            result[place] = str(max(value >> (2 * level), 64) if value > 64 else max(value >> level, 4))
    return result


def command(lines, program, called, level):
    """The shell command that runs a program, from the output of `make -n run`; None if there is none."""
    for line in lines.replace("\\\n", " ").splitlines():
        found = re.search(r"(\S*/)?" + re.escape(program) + r"(?=\s|$)", line)
        if not found or line.startswith(("make", "#")) or " -o " in line:
            continue
        rest = line[found.end():]
        tail = re.search(r"\s*(&&|\||>|;)", rest)
        arguments = rest[: tail.start()] if tail else rest
        try:
            words = shlex.split(arguments)
        except ValueError:
            words = arguments.split()
        shown = " ".join(map(shlex.quote, smaller(words, called, level)))
        return f"{line[:found.end()]} {shown}"
    return None


def program_name(folder):
    """The name of the program that a Makefile builds."""
    make = (folder / "Makefile").read_text(errors="replace")
    found = re.search(r"^(?:program|EXE|EXEC_NAME|BIN_NAME)\s*:?=\s*(\S+)", make, re.M)
    return pathlib.PurePath(found.group(1)).name if found else "main"


def path_with(folder, environment):
    """The environment with a folder first in PATH."""
    return dict(environment, PATH=f"{folder}{os.pathsep}{environment.get('PATH', '')}")
