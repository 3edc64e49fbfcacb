"""Adds up the JUnit files of test runs, and sorts failures by the last line of their message.

    python3 counts.py logs/*.xml
"""

import collections
import re
import sys
import xml.etree.ElementTree as tree


def cause(message):
    """The first line of a message, without addresses and numbers."""
    first = (message or "?").strip().splitlines()[0]
    return re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?", "N", first)[:140]


def main(paths):
    counts, causes = collections.Counter(), collections.defaultdict(list)
    for path in paths:
        try:
            cases = list(tree.parse(path).iter("testcase"))
        except (OSError, tree.ParseError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            continue
        for case in cases:
            found = {child.tag: child for child in case}
            kind = next((it for it in ("failure", "error", "skipped") if it in found), "passed")
            counts[kind] += 1
            if kind in ("failure", "error"):
                name = f"{case.get('classname', '')}::{case.get('name', '')}"
                causes[cause(found[kind].get("message"))].append(name)
    run = counts["passed"] + counts["failure"] + counts["error"]
    print(f"passed {counts['passed']}, failed {counts['failure']}, errors {counts['error']}, "
          f"skipped {counts['skipped']}: {100 * counts['passed'] / max(run, 1):.1f} % of those that ran")
    for words, names in sorted(causes.items(), key=lambda it: -len(it[1])):
        print(f"{len(names):5}  {words}")
        for name in names[:5]:
            print(f"         {name}")


main(sys.argv[1:])
