#!/bin/bash
# Clients under the Python package: `python -m softwarp` and `import softwarp.cuda`. Needs Python 3.11, gcc and PyPI, and
# the wheel.
#
#   tools/python.sh && tests/field/python_clients.sh
#
# Each client runs a program in both ways. The exit code is 0 if all but CuPy passed, which has a static CUDA runtime
# inside and is refused. Settings: see common.sh.

. "$(dirname "$0")/common.sh"
environment python-clients "numba-cuda[cu13]==0.30.4" numba==0.68.1 cuda-bindings==13.5.0 cuda-core==1.2.2 \
    nvidia-cuda-nvrtc==13.4.92 nvidia-cuda-runtime==13.4.92 nvidia-nvvm==13.4.92 nvidia-cuda-nvcc==13.4.92 \
    nvidia-cuda-crt==13.4.92 nvidia-cuda-profiler-api==13.4.92 nvidia-curand==10.4.4.72 numpy==2.4.6 setuptools \
    tinygrad==0.14.0 triton==3.9.0 cupy-cuda13x==14.2.0 "$here"/../../target/wheels/softwarp-*.whl
CUDA_ROOT=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/nvidia/cu13
ln -sf libcurand.so.10 "$CUDA_ROOT/lib/libcurand.so"
ln -sf libcudart.so.13 "$CUDA_ROOT/lib/libcudart.so"
export CUDA_ROOT PATH=$CUDA_ROOT/bin:$PATH LD_LIBRARY_PATH=$CUDA_ROOT/lib TRITON_CACHE_DIR=$work/triton-cache
if ! "$python" -c 'import softwarp.cuda, pycuda._driver' 2> /dev/null; then
    libraries=$("$python" -c 'from softwarp import _libraries; print(_libraries.folder())')
    LDFLAGS="-L$libraries -L$CUDA_ROOT/lib" CPATH=$CUDA_ROOT/include \
        "$python" -m pip install --quiet --no-binary pycuda pycuda==2026.1
fi
failed=0
for client in numba cuda_core tinygrad pycuda cupy; do
    "$python" -m softwarp "$here/python_clients.py" $client || [ $client = cupy ] || failed=1
    "$python" "$here/python_clients.py" --import $client || [ $client = cupy ] || failed=1
done
"$python" -m softwarp "$here/triton_kernels.py" || failed=1
"$python" -c 'import runpy, sys, softwarp.cuda; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name="__main__")' \
    "$here/triton_kernels.py" || failed=1
exit $failed
