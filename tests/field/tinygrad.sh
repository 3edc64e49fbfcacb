#!/bin/bash
# tinygrad's own backend tests on softwarp, without torch. Needs PyPI, and GitHub or SOURCES (see common.sh).
#
#   cargo build --release -p softwarp-cuda
#   tests/field/tinygrad.sh [test file...]          on softwarp: DEV=CUDA:PTX
#   DEV=CPU tests/field/tinygrad.sh [test file...]  on tinygrad's own CPU backend, to compare
#
# Files are names in test/backend, such as test_jit.py; without any, all that need no torch are run. Each has a log in
# $WORK/tinygrad-log/DEV, and its counts are printed. A test may take TIMEOUT seconds (default 180).
# One test reads behind its buffer, as its comment says. That is a fault here, and a fault stays in the process: it is
# left out on softwarp, and counts as failed.

. "$(dirname "$0")/common.sh"
environment tinygrad numpy==2.4.6 pytest==9.2.0 pytest-timeout==2.4.0 hypothesis==6.170.15 tqdm safetensors pillow ziglang==0.17.0
checkout tinygrad tinygrad/tinygrad a9069c177a9da9cca18593edf55acd2e6073cca6
use_library

# tinygrad compiles host code with clang: the one that comes with Zig.
cat > "$work/clang" <<END
#!/bin/bash
arguments=()
for argument in "\$@"; do
    case \$argument in --target=*) ;; *) arguments+=("\$argument") ;; esac
done
exec "$python" -m ziglang cc -target x86_64-freestanding-none "\${arguments[@]}" -g0
END
chmod +x "$work/clang"

export DEV=${DEV:-CUDA:PTX} CC=$work/clang XDG_CACHE_HOME=$work/tinygrad-cache PYTHONPATH=$source
# Tests of several devices use up to eight.
export SOFTWARP_DEVICES=${SOFTWARP_DEVICES:-8}
left_out=test/backend/test_tensor_variable.py::TestTensorVariable::test_shrink_beyond_buffer_variable
[ "$DEV" != CPU ] || left_out=none
log=$work/tinygrad-log/${DEV/:/-}
mkdir -p "$log"
cd "$source"
if [ $# -eq 0 ]; then
    needs_torch='^(import|from) torch'
    for file in test/backend/test_*.py; do
        grep -qE "$needs_torch|import.*, *torch|from test.backend.test_ops" "$file" || set -- "$@" "$(basename "$file")"
    done
fi
for file in "$@"; do
    "$python" -m pytest -q -p no:cacheprovider -rfE --tb=short --timeout "${TIMEOUT:-180}" --hypothesis-seed=0 \
        --deselect "$left_out" "test/backend/$file" > "$log/$file.log" 2>&1 || true
    echo "$file: $(grep -E '^[0-9]+ (passed|failed|skipped|error|xfailed)|no tests ran' "$log/$file.log" | tail -n 1)"
done | tee "$log/summary"
for kind in passed failed skipped; do
    echo "$(grep -oE "[0-9]+ $kind" "$log/summary" | awk '{ sum += $1 } END { print sum + 0 }') $kind"
done
