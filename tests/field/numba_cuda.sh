#!/bin/bash
# numba-cuda's own tests on softwarp's libcuda.so.1.
#
#     cargo build --release -p softwarp-cuda
#     tests/field/numba_cuda.sh [directory [pattern]]
#
# The directory (default /tmp/softwarp-numba) gets a Python environment, the library and the logs: one file per test
# file, and `summary`. The pattern, an extended regular expression, chooses test files such as `cudapy.test_atomics`.
# Files that are done are not run again: remove their `.done` file to repeat one.
#
# Needed: Python 3.11 and PyPI. nvJitLink is removed, so that numba links PTX through the driver. Settings:
# TEST_SECONDS (default 120) limits a test, FILE_SECONDS (default 1800) a test file, SOFTWARP_MEMORY (default 2G) the
# memory of the device: some tests fill half of it.

set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
at=${1:-/tmp/softwarp-numba}
pattern=${2:-.}
mkdir -p "$at/lib" "$at/logs"
cp "$root/target/release/libcuda.so" "$at/lib/libcuda.so.1"
ln -sf libcuda.so.1 "$at/lib/libcuda.so"

if [ ! -e "$at/venv/ready" ]; then
    python3 -m venv "$at/venv"
    "$at/venv/bin/pip" install -q "numba-cuda[cu13]==0.30.4" numba==0.68.1 cuda-bindings==13.5.0 cuda-core==1.2.2 \
        nvidia-cuda-nvrtc==13.4.92 nvidia-cuda-runtime==13.4.92 nvidia-nvvm==13.4.92 numpy==2.4.6 \
        pytest==9.2.0 pytest-timeout==2.4.0 psutil cffi filecheck ml_dtypes pytest-benchmark
    "$at/venv/bin/pip" uninstall -q -y nvidia-nvjitlink
    touch "$at/venv/ready"
fi

# As in numba-cuda's repository, warnings are errors, except those that its tests expect and the one for a machine
# without nvJitLink.
cat > "$at/pytest.ini" <<'INI'
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
INI
cat > "$at/conftest.py" <<'PY'
import pytest


def pytest_addoption(parser):
    parser.addoption("--dump-failed-filechecks", action="store_true")


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = request.config.getoption("dump_failed_filechecks")
PY

export SOFTWARP_MEMORY=${SOFTWARP_MEMORY:-2G} LD_LIBRARY_PATH="$at/lib"
tests=$("$at/venv/bin/python" -c 'import numba_cuda; print(numba_cuda.__path__[0])')/numba/cuda/tests
cd "$at"
for path in $(cd "$tests" && find . -name 'test_*.py' | sort); do
    file=$(echo "${path#./}" | sed 's|/|.|g; s|\.py$||')
    if [ -e "logs/$file.done" ] || ! echo "$file" | grep -qE "$pattern"; then continue; fi
    status=0
    timeout "${FILE_SECONDS:-1800}" "$at/venv/bin/python" -m pytest -c pytest.ini --rootdir . -p no:cacheprovider -q \
        -rfEs --tb=short --benchmark-disable --timeout="${TEST_SECONDS:-120}" --pyargs "numba.cuda.tests.$file" \
        --junit-xml="logs/$file.xml" > "logs/$file.txt" 2>&1 || status=$?
    echo "$file: status $status, $(grep -aE '^[0-9]+ (passed|failed|skipped|error)' "logs/$file.txt" | tail -1)" \
        | tee -a logs/summary
    touch "logs/$file.done"
done
python3 "$root/tests/field/counts.py" logs/*.xml
