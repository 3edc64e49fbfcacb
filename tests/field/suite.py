"""Runs a pytest suite to its end, in as many processes as it takes, and prints the counts and the failures by cause.

    python3 suite.py RESULTS PYTHON [argument of pytest...]

RESULTS gets a line for each test as soon as it has ended (see record.py); a run that was interrupted goes on where it
stopped, and one that came to its end begins anew. A test that ends its process counts as failed, and the run goes on
behind it; so does one that takes more than TEST_SECONDS (default 300) of a processor's time, whatever else the machine
does, or ten times as long. RESULTS.log has what pytest prints, RESULTS.failures the table of failures.
"""

import collections
import json
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def read(path):
    """The results by test, the test that has begun and not ended with its time, and what the last process collected."""
    results, begun, collected = {}, None, None
    if not os.path.exists(path):
        return results, begun, collected
    with open(path) as file:
        for line in file:
            if not line.endswith("\n"):
                break
            entry = json.loads(line)
            if "collected" in entry or "end" in entry:
                collected = entry
            elif "start" in entry:
                begun = (entry["start"], entry["time"])
            else:
                results[entry["test"]] = entry
                if begun and begun[0] == entry["test"]:
                    begun = None
    # A file that could not be collected at first, and could in a later process, is no failure.
    files = {test.split("::")[0] for test in results if "::" in test}
    return {test: it for test, it in results.items() if test not in files}, begun, collected


def fail(path, test, seconds, message):
    with open(path, "a") as file:
        file.write(json.dumps({"test": test, "outcome": "failed", "seconds": seconds, "message": message}) + "\n")


def processor_seconds(group):
    """The processor time of a process group and of the children that it has waited for."""
    ticks = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        # Behind the name: the state, the parent, the group; 11 to 14 are the times.
        if int(fields[2]) == group:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def run_once(path, command, log, limit):
    """One process of pytest; its exit code."""
    process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    told, watched, before = -1, None, 0.0
    while True:
        try:
            code = process.wait(timeout=2)
            break
        except subprocess.TimeoutExpired:
            pass
        results, begun, collected = read(path)
        if collected and len(results) // 25 != told:
            told = len(results) // 25
            counts = collections.Counter(it["outcome"] for it in results.values())
            print(f"{len(results)} of {collected['collected']}: {dict(counts)}", flush=True)
        if begun != watched:
            watched, before = begun, processor_seconds(process.pid)
        if not begun or begun[1] < START:
            continue
        if processor_seconds(process.pid) - before > limit or time.time() - begun[1] > 10 * limit:
            fail(path, begun[0], limit, "time limit")
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return 77
    results, begun, _ = read(path)
    if begun and begun[1] > START:
        fail(path, begun[0], 0, f"the process ended with code {code}")
        return 77
    return code


def cause(message):
    """The first line of a message without addresses and numbers."""
    first = next(iter((message or "?").strip().splitlines()), "?")
    return re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?", "N", first)[:140]


def report(path):
    results, _, _ = read(path)
    counts = collections.Counter(it["outcome"] for it in results.values())
    causes = collections.defaultdict(list)
    for test, entry in sorted(results.items()):
        if entry["outcome"] in ("failed", "error"):
            causes[cause(entry["message"])].append(test)
    run = counts["passed"] + counts["failed"] + counts["error"]
    lines = [f"passed {counts['passed']}, failed {counts['failed']}, errors {counts['error']}, skipped "
             f"{counts['skipped']}: {100 * counts['passed'] / max(run, 1):.1f} % of those that ran"]
    for words, tests in sorted(causes.items(), key=lambda it: -len(it[1])):
        lines.append(f"{len(tests):5}  {words}")
        lines += [f"         {test}" for test in tests]
    with open(path + ".failures", "w") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines))


def main(path, python, arguments):
    os.environ["RECORD"] = path = os.path.abspath(path)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [HERE, os.environ.get("PYTHONPATH")]))
    if "end" in (read(path)[2] or {}):
        os.remove(path)
    command = [python, "-m", "pytest", "-p", "record", "-p", "no:cacheprovider", "-q", "--tb=short",
               "--continue-on-collection-errors", *arguments]
    with open(path + ".log", "a") as log:
        while run_once(path, command, log, int(os.environ.get("TEST_SECONDS", "300"))) == 77:
            pass
    with open(path, "a") as file:
        file.write(json.dumps({"end": True}) + "\n")
    report(path)


START = time.time()
main(sys.argv[1], sys.argv[2], sys.argv[3:])
