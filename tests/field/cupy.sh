#!/bin/bash
# CuPy 14.2.0 and its own tests on `softwarp exec`. Needs PyPI, and the files of CuPy 14.2.0 in $SOURCES/cupy: its
# wheels have no tests.
#
#   cargo build --release --workspace
#   SOURCES=FOLDER tests/field/cupy.sh [argument of pytest...]
#
# CUDA=12 takes the wheel for CUDA 12; without it, that for 13. Without arguments, the folders of tests are run that need
# no library of NVIDIA, but for some that call cuBLAS, cuFFT or cuSOLVER and fail. CuPy compiles its kernels by NVRTC,
# which takes most of the time; $WORK/cupy-cache-$CUDA keeps them. RECORD_SAMPLE=N takes N tests of those named (see
# record.py).
#
# $WORK/cupy-$CUDA.jsonl has a line for each test as soon as it has ended, and an interrupted run goes on where it
# stopped (see suite.py); $WORK/cupy-$CUDA.jsonl.failures is the table of failures.

. "$(dirname "$0")/common.sh"
CUDA=${CUDA:-13}
environment "cupy-$CUDA" "cupy-cuda${CUDA}x[ctk]==14.2.0" numpy==2.4.6 scipy==1.17.1 pytest==9.2.0
sources cupy 14.2.0
export CUPY_CACHE_DIR=$work/cupy-cache-$CUDA
mkdir -p "$CUPY_CACHE_DIR"
# suite.py starts one program: Python by `softwarp exec`, with two devices, as some tests want.
cat > "$work/cupy-$CUDA" <<END
#!/bin/sh
exec "$root/target/release/softwarp" exec --quiet --devices 2 -- "$python" "\$@"
END
chmod +x "$work/cupy-$CUDA"
cd "$source/tests"
if [ $# -eq 0 ]; then
    for part in core creation indexing logic manipulation math sorting statistics; do
        set -- "$@" "cupy_tests/${part}_tests"
    done
fi
exec python3 "$here/suite.py" "$work/cupy-$CUDA.jsonl" "$work/cupy-$CUDA" "$@"
