#!/bin/bash
# tinygrad's own backend tests on softwarp, without torch. Needs PyPI, and the files of
# tinygrad a9069c177a in $SOURCES/tinygrad: its package has no tests.
#
#   cargo build --release -p softwarp-cuda
#   SOURCES=FOLDER tests/field/tinygrad.sh [test file...]          on softwarp: DEV=CUDA:PTX
#   SOURCES=FOLDER DEV=CPU tests/field/tinygrad.sh [test file...]  on tinygrad's own CPU backend, to compare
#
# Files are names in test/backend, such as test_jit.py; without any, all that need no torch are run.
# $WORK/tinygrad-DEV.jsonl has a line for each test as soon as it has ended, and an interrupted run goes on where it
# stopped (see suite.py); the same name with .failures is the table of failures. If there are results of both, they are
# compared test by test. A test may take TEST_SECONDS (default 600) of processor time.

. "$(dirname "$0")/common.sh"
environment tinygrad numpy==2.4.6 pytest==9.2.0 hypothesis==6.170.15 tqdm safetensors pillow ziglang==0.17.0
sources tinygrad a9069c177a
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
export TEST_SECONDS=${TEST_SECONDS:-600}
cd "$source"
if [ $# -eq 0 ]; then
    needs_torch='^(import|from) torch'
    for file in test/backend/test_*.py; do
        grep -qE "$needs_torch|import.*, *torch|from test.backend.test_ops" "$file" || set -- "$@" "$(basename "$file")"
    done
fi
python3 "$here/suite.py" "$work/tinygrad-${DEV/:/-}.jsonl" "$python" --hypothesis-seed=0 "${@/#/test/backend/}"
if [ "$DEV" != CPU ] && [ -e "$work/tinygrad-CPU.jsonl" ]; then
    python3 "$here/compare.py" "$work/tinygrad-CPU.jsonl" "$work/tinygrad-${DEV/:/-}.jsonl"
fi
