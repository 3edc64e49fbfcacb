"""The command line: ``python -m softwarp`` and ``softwarp``."""

from __future__ import annotations

import os
import signal
import sys
import sysconfig
from pathlib import Path

from . import _libraries, _softwarp


def _words(given: list[str]) -> list[str]:
    """The words of the command. A Python script, ``-m module`` or ``-c text`` comes to ``softwarp exec``."""
    is_script = bool(given) and (given[0].endswith(".py") or given[0] in ("-m", "-c"))
    return ["exec", "--", sys.executable, *given] if is_script else given


def main() -> int:
    """Runs the command that the program was called with; gives the exit code."""
    # Python would see Ctrl-C only when the command has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    libraries = _libraries.folder()
    if libraries is not None:
        # `softwarp exec` looks for them there.
        os.environ["SOFTWARP_LIB"] = str(libraries)
    if Path(sys.argv[0]).name == "ptxas":
        return _softwarp.run_command(["ptxas", *sys.argv[1:]])
    script = Path(sysconfig.get_path("scripts")) / "softwarp"
    if script.is_file():
        # `softwarp exec --ptxas` makes a link to it. The executable is Python.
        os.environ["SOFTWARP_COMMAND"] = str(script)
    return _softwarp.run_command(["softwarp", *_words(sys.argv[1:])])


if __name__ == "__main__":
    sys.exit(main())
