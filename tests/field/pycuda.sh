#!/bin/bash
# PyCUDA 2026.1 and its own tests on softwarp. Needs gcc, Python headers, PyPI, and the files
# of PyCUDA 2026.1 in $SOURCES/pycuda: its wheel has no tests.
#
#   cargo build --release -p softwarp-cuda
#   SOURCES=FOLDER tests/field/pycuda.sh [argument of pytest...]
#
# PyCUDA compiles its kernels with nvcc, which comes from PyPI; -lineinfo keeps the PTX in the cubin. The memory is set
# to 4 GB: two tests make 8 and 16 GB of random numbers where there is room, and are skipped by their own rule.
# $WORK/pycuda.jsonl has a line for each test as soon as it has ended, and an interrupted run goes on where it stopped
# (see suite.py); $WORK/pycuda.jsonl.failures is the table of failures. TEST_SECONDS (default 600) of processor time
# limit a test.

. "$(dirname "$0")/common.sh"
environment pycuda numpy==2.4.6 pytest==9.2.0 setuptools wheel mako==1.4.3 nvidia-cuda-nvcc==13.4.92 \
    nvidia-cuda-crt==13.4.92 nvidia-nvvm==13.4.92 nvidia-cuda-runtime==13.4.92 nvidia-cuda-cccl==13.3.5.0.6 \
    nvidia-cuda-profiler-api==13.4.92 nvidia-curand==10.4.4.72
sources pycuda 2026.1
use_library
CUDA_ROOT=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/nvidia/cu13
ln -sf libcurand.so.10 "$CUDA_ROOT/lib/libcurand.so"
ln -sf libcudart.so.13 "$CUDA_ROOT/lib/libcudart.so"
export CUDA_ROOT PATH=$CUDA_ROOT/bin:$PATH LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$CUDA_ROOT/lib
if ! "$python" -c 'import pycuda._driver' 2> /dev/null; then
    LDFLAGS="-L$work/lib -L$CUDA_ROOT/lib" CPATH=$CUDA_ROOT/include \
        "$python" -m pip install --quiet --no-binary pycuda pycuda==2026.1
fi
export PYCUDA_DEFAULT_NVCC_FLAGS=-lineinfo PYCUDA_CACHE_DIR=$work/pycuda-cache
export SOFTWARP_MEMORY=${SOFTWARP_MEMORY:-4G}
mkdir -p "$PYCUDA_CACHE_DIR"
cd "$source/test"
[ $# -gt 0 ] || set -- test_driver.py test_cumath.py test_gpuarray.py
export TEST_SECONDS=${TEST_SECONDS:-600}
exec python3 "$here/suite.py" "$work/pycuda.jsonl" "$python" "$@"
