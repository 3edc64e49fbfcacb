#!/bin/bash
# Triton 3.9.0 on softwarp: kernels of triton_kernels.py, compared with numpy. Needs gcc, Python headers and PyPI.
#
#   cargo build --release -p softwarp-cuda
#   tests/field/triton.sh [kernel...]
#
# Prints one line for each kernel and the counts; the exit code is 0 if all passed. Settings: see common.sh.

. "$(dirname "$0")/common.sh"
environment triton numpy==2.4.6 triton==3.9.0 setuptools
use_library
export TRITON_CACHE_DIR=$work/triton-cache TRITON_DEFAULT_FP_FUSION=1
exec "$python" "$here/triton_kernels.py" "$@"
