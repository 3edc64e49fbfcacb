#!/bin/bash
# numba-cuda's own tests on softwarp. Needs Python 3.11 and PyPI.
#
#   cargo build --release -p softwarp-cuda
#   tests/field/numba_cuda.sh [argument of pytest...]
#
# Without arguments the whole suite is run (about 2,050 tests); an argument may be a part, such as
# numba.cuda.tests.cudapy.test_atomics, or -k EXPRESSION. $WORK/numba.jsonl has a line for each test as soon as it has
# ended, and an interrupted run goes on where it stopped (see suite.py); $WORK/numba.jsonl.failures is the table of
# failures. nvJitLink is removed, so that numba links PTX through the driver. Settings: TEST_SECONDS (default 300)
# of processor time limit a test, SOFTWARP_MEMORY (default 2G) the memory of the device, some of which tests fill; see
# also common.sh.

. "$(dirname "$0")/common.sh"
environment numba "numba-cuda[cu13]==0.30.4" numba==0.68.1 cuda-bindings==13.5.0 cuda-core==1.2.2 \
    nvidia-cuda-nvrtc==13.4.92 nvidia-cuda-runtime==13.4.92 nvidia-nvvm==13.4.92 numpy==2.4.6 pytest==9.2.0 psutil \
    cffi filecheck ml_dtypes pytest-benchmark
"$python" -m pip uninstall --quiet --yes nvidia-nvjitlink
use_library
mkdir -p "$work/numba"
cd "$work/numba"

# As in numba-cuda's repository, warnings are errors, except those that its tests expect and the one for a machine
# without nvJitLink.
cat > pytest.ini <<'INI'
[pytest]
consider_namespace_packages = true
filterwarnings =
    error
    ignore:.*Grid size .* will likely result in GPU under-utilization.*
    ignore:.*dynamic initialization is not supported for a function-scope static.*
    ignore:.*keyword argument .nopython=False. was supplied.*
    ignore:.*[nN][vV][jJ]it[lL]ink.*
    ignore:.*class "double4" was declared deprecated.*
    ignore:All-NaN slice encountered
    ignore:Mean of empty slice
    ignore:(invalid value|divide by zero) encountered in
    ignore:\s*Compilation is falling back to object mode WITHOUT looplifting enabled
    ignore:overflow encountered in scalar
    ignore:.*Host array used in CUDA kernel will incur copy overhead
    ignore:NVRTC log messages.*Architectures prior to.*are deprecated
    ignore:Benchmark machine_info is different
    ignore::pytest.PytestUnraisableExceptionWarning
INI
cat > conftest.py <<'PY'
import pytest


def pytest_addoption(parser):
    parser.addoption("--dump-failed-filechecks", action="store_true")


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = request.config.getoption("dump_failed_filechecks")
PY

export SOFTWARP_MEMORY=${SOFTWARP_MEMORY:-2G}
[ $# -gt 0 ] || set -- numba.cuda.tests
exec python3 "$here/suite.py" "$work/numba.jsonl" "$python" -c pytest.ini --rootdir . --benchmark-disable --pyargs "$@"
