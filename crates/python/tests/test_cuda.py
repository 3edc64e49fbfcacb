"""Programs that use CUDA's driver: ``softwarp.cuda``, scripts, and the plugin of pytest. The client is ctypes alone."""

import os
import subprocess
import sys
from importlib.metadata import files
from pathlib import Path

import pytest

import softwarp
from softwarp import _libraries

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the driver library is for Linux")

# Every thread writes its number: to a place of its own, or all to the same.
CLIENT = '''
import ctypes

PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry own(.param .u64 to)
{
    .reg .b32 %i;
    .reg .b64 %to;
    ld.param.u64 %to, [to];
    mov.u32 %i, %tid.x;
    mad.wide.u32 %to, %i, 4, %to;
    st.global.u32 [%to], %i;
    ret;
}
.extern .func (.param .b64 r) malloc(.param .b64 size);
.visible .entry keeps(.param .u64 to)
{
    .param .b64 size, given;
    st.param.b64 [size], 48;
    call (given), malloc, (size);
    ret;
}
.visible .entry same(.param .u64 to)
{
    .reg .b32 %i;
    .reg .b64 %to;
    ld.param.u64 %to, [to];
    mov.u32 %i, %tid.x;
    st.global.u32 [%to], %i;
    ret;
}
"""


def launch(kernel, count, threads=32):
    """Runs a kernel with an array of `count` numbers; gives the array."""
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        code = getattr(cuda, name)(*arguments)
        if code:
            raise RuntimeError(f"{name}: {code}")

    call("cuInit", 0)
    context, module, function, to = (ctypes.c_void_p() for _ in range(4))
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), PTX)
    call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
    call("cuMemAlloc_v2", ctypes.byref(to), ctypes.c_size_t(4 * count))
    arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.pointer(to), ctypes.c_void_p))
    call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, 0, None, arguments, None)
    call("cuCtxSynchronize")
    numbers = (ctypes.c_uint32 * count)()
    call("cuMemcpyDtoH_v2", numbers, to, ctypes.c_size_t(4 * count))
    return list(numbers)
'''


@pytest.fixture
def run(tmp_path):
    """Runs Python in a folder that has the client; gives the ended process."""
    (tmp_path / "client.py").write_text(CLIENT)

    def run(*words, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        names = ("SOFTWARP_", "LD_LIBRARY_PATH", "PYTEST_ADDOPTS", "NUMBA_CUDA_DRIVER", "TRITON_LIBCUDA_PATH")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(names)}
        return subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )

    return run


def run_tests(run, text, *options):
    return run("-m", "pytest", "-p", "no:cacheprovider", "-rA", *options, "test_it.py", test_it=text)


def test_the_package_has_libraries_and_licences():
    folder = Path(softwarp.__file__).parent
    assert _libraries.folder() == folder / "lib"
    names = {path.name for path in (folder / "lib").iterdir()}
    assert names == {
        "libcuda.so",
        "libcudart.so",
        "libnvjitlink.so",
        "libnvrtc.so",
        "libsoftwarp_audit.so",
        "libsoftwarp_preload.so",
    }
    licences = {path.relative_to(folder / "licences").parts[0] for path in (folder / "licences").rglob("*")}
    assert {"LICENSE-MIT", "LICENSE-APACHE", "pyo3", "numpy"} <= licences
    # The package's list of its files has them, so that they are removed with it.
    assert any(str(path) == "softwarp/lib/libcuda.so" for path in files("softwarp"))


def test_the_command_finds_the_libraries(run):
    text = "from client import launch; print(launch('own', 32))"
    ended = run("-m", "softwarp", "exec", "--", sys.executable, "it.py", it=text)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == f"{list(range(32))}\n"
    assert "1 launch of 1 kernel" in ended.stderr


def test_the_command_is_an_assembler_for_triton(run):
    text = """
import os, subprocess
ptxas = os.environ["TRITON_PTXAS_PATH"]
open("right.ptx", "w").write(".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry k() { ret; }\\n")
subprocess.run([ptxas, "-arch", "sm_80", "right.ptx", "-o", "right.cubin"], check=True)
print(open("right.cubin").read().count(".entry k()"))
"""
    ended = run("-m", "softwarp", "exec", "--ptxas", "--", sys.executable, "it.py", it=text)
    assert (ended.returncode, ended.stdout) == (0, "1\n"), ended.stderr


def test_scripts_and_modules_are_run(run):
    text = "import sys\nfrom client import launch\nprint(sys.argv[1:], launch('own', 32)[31])\nsys.exit(3)"
    for words in (["it.py"], ["-m", "it"]):
        ended = run("-m", "softwarp", *words, "--version", "a b", it=text)
        assert ended.returncode == 3, ended.stderr
        assert ended.stdout == "['--version', 'a b'] 31\n"
    ended = run("-m", "softwarp", "-c", "from client import launch; print(launch('own', 32)[31])")
    assert (ended.returncode, ended.stdout) == (0, "31\n"), ended.stderr


def test_an_import_puts_the_driver_in_place(run):
    text = """
import softwarp.cuda, ctypes, os, subprocess, sys
from client import launch
assert launch("own", 32) == list(range(32))
assert os.path.realpath(softwarp.cuda.libraries / "libcuda.so.1") == str(softwarp.cuda.driver)
# Libraries that others load by their names, in this process and in those that it starts.
for name in ("libcudart.so.13", "libnvrtc.so.13", "libnvJitLink.so.13"):
    ctypes.CDLL(name, mode=os.RTLD_NOLOAD)
subprocess.run([sys.executable, "-c", "from client import launch; assert launch('own', 32)"], check=True)
assert os.environ["NVCC_APPEND_FLAGS"] == "-lineinfo"
print(softwarp.cuda.libraries)
"""
    ended = run("it.py", it=text)
    assert ended.returncode == 0, ended.stderr
    assert not Path(ended.stdout.strip()).exists(), "the folder of links is removed"


def test_another_driver_is_an_error(run, tmp_path):
    # Any library that bears the name.
    other = Path(next(path for path in _libraries.loaded("libc.so")))
    (tmp_path / "libcuda.so.1").write_bytes(other.read_bytes())
    ended = run("it.py", it="import ctypes; ctypes.CDLL('./libcuda.so.1')\nimport softwarp.cuda")
    assert ended.returncode == 1
    assert "libcuda.so.1 is loaded already; import softwarp.cuda before what uses CUDA" in ended.stderr


def test_a_package_without_libraries_says_so(run):
    ended = run("it.py", it="import os; os.environ['SOFTWARP_LIB'] = '/nowhere'\nimport softwarp.cuda")
    assert "ImportError: libcuda.so is not in this package" in ended.stderr


FAULT = """
from client import launch

def test_right():
    assert launch("own", 32)[5] == 5

def test_unnoticed():
    try:
        launch("own", 31)
    except RuntimeError:
        pass

def test_noticed():
    launch("own", 32)

def test_without_a_kernel():
    pass
"""


def test_a_fault_fails_its_test(run):
    ended = run_tests(run, FAULT, "--softwarp")
    assert ended.returncode == 1
    assert "PASSED test_it.py::test_right" in ended.stdout
    assert "FAILED test_it.py::test_unnoticed" in ended.stdout
    assert "softwarp: kernel `own`: write of 4 bytes at .global address" in ended.stdout
    assert "by thread (31,0,0) of block (0,0,0)" in ended.stdout
    # The fault stays, and what fails for that says so.
    assert "FAILED test_it.py::test_noticed - RuntimeError" in ended.stdout
    assert "test_it.py::test_unnoticed had a report. A fault stays" in ended.stdout
    assert "PASSED test_it.py::test_without_a_kernel" in ended.stdout


RACE = """
import pytest
from client import launch

def test_race():
    launch("same", 1)

@pytest.fixture
def prepared():
    launch("own", 32)

def test_right(prepared):
    assert launch("own", 32)[5] == 5
"""


def test_findings_fail_their_test(run):
    assert run_tests(run, RACE, "--softwarp").returncode == 0
    ended = run_tests(run, RACE, "--softwarp-sanitize=race,sync")
    assert ended.returncode == 1
    assert "FAILED test_it.py::test_race - softwarp: kernel `same`: race between threads" in ended.stdout
    assert "PASSED test_it.py::test_right" in ended.stdout


def test_what_fixtures_do_fails_the_test(run):
    text = RACE.replace('launch("same", 1)', "pass").replace('launch("own", 32)\n\n', 'launch("same", 1)\n\n')
    ended = run_tests(run, text, "--softwarp-sanitize=all")
    assert "ERROR test_it.py::test_right" in ended.stdout
    assert "race between threads" in ended.stdout
    assert "PASSED test_it.py::test_race" in ended.stdout


def test_expected_failures_stay_expected(run):
    text = RACE.replace("def test_race", "@pytest.mark.xfail(strict=True)\ndef test_race")
    text = text.replace('launch("same", 1)', 'assert launch("same", 1) == []')
    ended = run_tests(run, text, "--softwarp-sanitize=race")
    assert ended.returncode == 0, ended.stdout
    assert "XFAIL test_it.py::test_race" in ended.stdout


def test_reports_after_the_last_test_fail_the_session(run):
    conftest = "def pytest_sessionfinish():\n    from client import launch\n    launch('same', 1)\n"
    ended = run(
        "-m", "pytest", "-p", "no:cacheprovider", "--softwarp-sanitize=race", "test_it.py",
        test_it="def test_nothing():\n    pass\n", conftest=conftest,
    )
    assert "softwarp, after the last test" in ended.stdout
    assert ended.returncode == 1


LEAK = """
from client import launch

def test_leak():
    launch("keeps", 32)

def test_other():
    launch("own", 32)
"""


def test_leaks_fail_the_session(run):
    assert run_tests(run, LEAK, "--softwarp-sanitize=race").returncode == 0
    ended = run_tests(run, LEAK, "--softwarp-sanitize=leak")
    assert ended.returncode == 1, ended.stdout
    assert "softwarp, after the last test" in ended.stdout
    assert "softwarp: kernel `keeps`: " in ended.stdout and "call (given), malloc, (size);" in ended.stdout
    # Once, and not again when the process ends.
    assert (ended.stdout + ended.stderr).count("kernel `keeps`") == 1


def test_leaks_are_reported_when_a_process_ends(run):
    text = "import os\nos.environ['SOFTWARP_SANITIZE'] = 'leak'\nimport softwarp.cuda\nfrom client import launch\n"
    ended = run("it.py", it=text + "launch('keeps', 1)")
    assert ended.returncode == 0
    assert "softwarp: kernel `keeps`: " in ended.stderr, ended.stderr
    # In a process that a test starts, the report is the test's.
    test = "import subprocess, sys\ndef test_it():\n    subprocess.run([sys.executable, 'it.py'])\n"
    ended = run(
        "-m", "pytest", "-p", "no:cacheprovider", "--softwarp-sanitize=leak", "test_it.py",
        it="from client import launch\nlaunch('keeps', 1)\n", test_it=test,
    )
    assert "FAILED test_it.py::test_it" in ended.stdout or "1 failed" in ended.stdout, ended.stdout


def test_wrong_options_are_usage_errors(run):
    ended = run_tests(run, RACE, "--softwarp-sanitize=rece")
    assert ended.returncode == 4
    assert "'rece' is none of init, race, sync, bounds, leak, all" in ended.stderr


def test_without_the_option_the_plugin_does_nothing(run):
    text = "import sys\ndef test_it():\n    assert 'softwarp.cuda' not in sys.modules\n"
    assert run_tests(run, text).returncode == 0
