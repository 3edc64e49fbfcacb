"""Compares two results of suite.py test by test: what passes in the first, and what becomes of it in the second.

    python3 compare.py REFERENCE RESULTS
"""

import collections
import json
import sys


def outcomes(path):
    with open(path) as file:
        entries = [json.loads(line) for line in file]
    return {entry["test"]: entry for entry in entries if "test" in entry}


def main(reference, results):
    reference, results = outcomes(reference), outcomes(results)
    passed = [test for test, entry in reference.items() if entry["outcome"] == "passed"]
    counts, lines = collections.Counter(), []
    for test in sorted(passed):
        entry = results.get(test, {"outcome": "not run", "message": ""})
        counts[entry["outcome"]] += 1
        if entry["outcome"] != "passed":
            first = next(iter(entry["message"].strip().splitlines()), "")[:100]
            lines.append(f"{entry['outcome']:8} {test}: {first}")
    run = len(passed) - counts["skipped"] - counts["not run"]
    print("\n".join(lines))
    print(f"of {len(passed)} tests that pass in the reference: "
          + ", ".join(f"{counts[it]} {it}" for it in ("passed", "failed", "error", "skipped", "not run"))
          + f"; {100 * counts['passed'] / max(run, 1):.1f} % of those that ran passed")


main(sys.argv[1], sys.argv[2])
