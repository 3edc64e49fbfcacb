"""A pytest plugin that writes the result of each test to a file as soon as it is known; suite.py runs pytest with it.

The file that RECORD names has one JSON object per line: {"start": test} and {"test", "outcome", "seconds", "message"}.
Tests that have a result there are left out. When a test has failed and the device is left with a fault, which stays
until the process ends, pytest is ended; so it is after RECORD_TESTS tests (default 1000), to give its memory back.

RECORD_SAMPLE=N takes N tests of those collected, the same ones in the same order each time: by the hash of their names.
"""

import ctypes
import hashlib
import json
import os
import time

# What cuCtxSynchronize answers after a fault: 700 and its relatives, and 999.
FAULTS = {214, 700, 702, 710, 714, 715, 716, 717, 718, 719, 999}
AGAIN = 77

found, started, count = {}, 0.0, 0


def write(entry):
    with open(os.environ["RECORD"], "a") as file:
        file.write(json.dumps(entry) + "\n")


def known():
    try:
        with open(os.environ["RECORD"]) as file:
            entries = [json.loads(line) for line in file]
    except FileNotFoundError:
        return set()
    return {entry["test"] for entry in entries if "test" in entry}


def device_has_fault():
    if "libcuda.so" not in open("/proc/self/maps").read():
        return False
    return ctypes.CDLL("libcuda.so.1").cuCtxSynchronize() in FAULTS


def sample(items, size):
    chosen = sorted(items, key=lambda item: hashlib.sha256(item.nodeid.encode()).digest())[:size]
    left = set(items) - set(chosen)
    return chosen, [item for item in items if item in left]


def pytest_collection_modifyitems(session, config, items):
    if size := int(os.environ.get("RECORD_SAMPLE", "0")):
        items[:], left = sample(items, size)
        config.hook.pytest_deselected(items=left)
    done = known()
    rest = [item for item in items if item.nodeid not in done]
    write({"collected": len(items), "rest": len(rest)})
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in done])
    items[:] = rest


def pytest_collectreport(report):
    if report.failed:
        write({"test": report.nodeid, "outcome": "error", "seconds": 0, "message": last_lines(report)})
    elif report.skipped:
        write({"test": report.nodeid, "outcome": "skipped", "seconds": 0, "message": str(report.longrepr)[-300:]})


def last_lines(report):
    crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
    return crash.message[:600] if crash else str(report.longrepr)[-600:]


def pytest_runtest_logstart(nodeid, location):
    global started
    found.clear()
    started = time.time()
    write({"start": nodeid, "time": started})


def pytest_runtest_logreport(report):
    if report.failed:
        found.setdefault("failed", last_lines(report))
    elif report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "expected failure"
        found.setdefault("skipped", str(reason)[:300])
    elif report.when == "call":
        found.setdefault("passed", "")


def pytest_runtest_logfinish(nodeid, location):
    global count
    outcome = next((it for it in ("failed", "passed", "skipped") if it in found), "skipped")
    write({"test": nodeid, "outcome": outcome, "seconds": round(time.time() - started, 2),
           "message": found.get(outcome, "")})
    count += 1
    if count >= int(os.environ.get("RECORD_TESTS", "1000")) or outcome == "failed" and device_has_fault():
        os._exit(AGAIN)
