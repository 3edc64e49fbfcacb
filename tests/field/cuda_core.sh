#!/bin/bash
# cuda.core's own tests on softwarp's libcuda.so.1.
#
#     cargo build --release
#     tests/field/cuda_core.sh sources [directory [pattern]]
#
# The sources are the files of cuda-python at commit 06afb3bf, where the tests are. The directory (default /tmp/softwarp-cuda-core) gets a Python environment, the libraries and the logs:
# one file per test file, and `summary`. The pattern, an extended regular expression, chooses test files such as
# `graph/test_options`. Files that are done are not run again: remove their `.done` file to repeat one. Those of
# `memory_ipc` need memory that several processes share, which is refused; LEAVE_OUT (default ^memory_ipc/) leaves them out.
#
# Needed: Python 3.11, PyPI. nvJitLink is not installed, so that cuda.core links PTX through the driver. Kernels are
# compiled to cubins with -lineinfo (libnvrtc.so of crates/nvrtc), so that these have their PTX inside. What cuda.core
# asks of the static CUDA runtime in cuda-bindings is answered from the driver (driver_runtime.py). Settings:
# TEST_SECONDS (default 120) limits a test, FILE_SECONDS (default 1800) a test file, SOFTWARP_MEMORY (default 4G) the
# memory of the device.

set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
sources=$(cd "${1:?the folder of cuda-python}" && pwd)
at=${2:-/tmp/softwarp-cuda-core}
pattern=${3:-.}
mkdir -p "$at/lib" "$at/logs" "$at/run/cuda_core"
cp "$root/target/release/libcuda.so" "$at/lib/libcuda.so.1"
ln -sf libcuda.so.1 "$at/lib/libcuda.so"
cp "$root/target/release/libnvrtc.so" "$at/lib/libnvrtc.so.13"
# The tests without the package's own sources, which would be imported instead of the installed package.
for part in tests pyproject.toml build_hooks.py; do cp -r "$sources/cuda_core/$part" "$at/run/cuda_core/"; done
cp -r "$sources/cuda_core/examples" "$at/run/cuda_core/" 2> /dev/null || true
cp -r "$sources/cuda_python_test_helpers" "$at/run/"

if [ ! -e "$at/venv/ready" ]; then
    python3 -m venv "$at/venv"
    "$at/venv/bin/pip" install -q cuda-bindings==13.5.0 cuda-core==1.2.2 nvidia-cuda-nvrtc==13.4.92 \
        nvidia-cuda-runtime==13.4.92 nvidia-cuda-cccl==13.3.4.3.1 nvidia-cuda-crt==13.4.92 nvidia-nvvm==13.4.92 \
        numpy==2.4.6 ml_dtypes \
        "cython>=3.2.5,<3.3" pytest==9.2.0 pytest-timeout==2.4.0 pytest-repeat pytest-rerunfailures \
        pytest-benchmark cloudpickle psutil docutils cffi
    touch "$at/venv/ready"
fi

nvidia=$("$at/venv/bin/python" -c 'import nvidia.cu13; print(list(nvidia.cu13.__path__)[0])')
cd "$at/run/cuda_core"
for file in $(cd tests && find . -name 'test_*.py' | sort | sed 's|^\./||'); do
    log="$at/logs/$(echo "${file%.py}" | tr / .)"
    if [ -e "$log.done" ] || ! echo "$file" | grep -qE "$pattern"; then continue; fi
    if echo "$file" | grep -qE "${LEAVE_OUT:-^memory_ipc/}"; then continue; fi
    status=0
    SOFTWARP_MEMORY=${SOFTWARP_MEMORY:-4G} LD_LIBRARY_PATH="$at/lib" LD_PRELOAD="$at/lib/libnvrtc.so.13" \
        CUDA_PATH="$nvidia" PYTHONPATH="$root/tests/field" \
        timeout "${FILE_SECONDS:-1800}" "$at/venv/bin/python" -m pytest -p driver_runtime -p no:cacheprovider -q -rfEs \
        --tb=short --benchmark-disable --timeout="${TEST_SECONDS:-120}" "tests/$file" --junit-xml="$log.xml" \
        > "$log.txt" 2>&1 || status=$?
    echo "$file: status $status, $(grep -aE '^[0-9]+ (passed|failed|skipped|error)' "$log.txt" | tail -1)" \
        | tee -a "$at/logs/summary"
    touch "$log.done"
done
python3 "$root/tests/field/counts.py" "$at"/logs/*.xml
