#!/bin/sh
# Builds the Python package, installs it in a new virtual environment and runs its tests: mypy, pytest, and the
# examples of docstrings, of docs/python*.md, of docs/scale.md and of the README, and the notebooks.
#
#   tools/python.sh [FOLDER]
#
# The wheel is left in FOLDER (target/wheels without it). It carries the libraries that `softwarp exec` hands to
# programs, and licences. PYTHON is the interpreter (python3), PROFILE Cargo's profile (release). pip fetches maturin,
# numpy, ml_dtypes, mypy and pytest (the exit code is 75 if it cannot); and, if it can, distributed and pandas, and what
# runs notebooks with plots.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
wheels=${1:-$root/target/wheels}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile 'maturin>=1.9,<2' numpy 'ml_dtypes>=0.5' 'mypy>=1.13' 'pytest>=8' || {
    echo 'python.sh: pip cannot fetch what it needs' >&2
    exit 75
}
# Tests that use these are skipped without them.
for packages in 'distributed pandas' 'nbclient nbformat ipykernel matplotlib'; do
    # shellcheck disable=SC2086 # several words
    "$work/venv/bin/pip" install --quiet --no-compile $packages || echo "python.sh: not installed: $packages"
done

# What is in the wheel beside the module.
profile=${PROFILE:-release}
libraries='softwarp-cuda softwarp-cudart softwarp-nvjitlink softwarp-nvrtc softwarp-audit softwarp-preload'
# With the module, so that the crates that all of them use are built with the same features, and only once.
# shellcheck disable=SC2046,SC2086 # several words
(cd "$root" && cargo build --quiet --locked --profile "$profile" $(printf -- '--package=%s ' softwarp-python $libraries))
source=$root/crates/python/python/softwarp
rm -rf "$source/lib" "$source/licences"
mkdir -p "$source/lib" "$source/licences"
for library in cuda cudart nvjitlink nvrtc softwarp_audit softwarp_preload; do
    cp "${CARGO_TARGET_DIR:-$root/target}/$profile/lib$library.so" "$source/lib/"
    strip --strip-unneeded "$source/lib/lib$library.so"
done
cp "$root/LICENSE-MIT" "$root/LICENSE-APACHE" "$source/licences"
# shellcheck disable=SC2086
"$root/tools/licences.sh" "$source/licences" softwarp-python $libraries

rm -f "$wheels"/softwarp-*.whl
"$work/venv/bin/maturin" build --quiet --locked --profile "$profile" \
    --manifest-path "$root/crates/python/Cargo.toml" --out "$wheels"
"$work/venv/bin/pip" install --quiet --no-compile --no-index "$wheels"/softwarp-*.whl

# Outside of the repository, so that the installed package is tested.
cd "$work"
package=$("$work/venv/bin/python" -c 'import os, softwarp; print(os.path.dirname(softwarp.__file__))')
"$work/venv/bin/mypy" --strict --package softwarp
"$work/venv/bin/python" -m mypy.stubtest softwarp._softwarp
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider \
    --doctest-modules --doctest-glob='*.md' --ignore="$package/cuda.py" \
    "$root/crates/python/tests" "$package" "$root"/docs/python*.md "$root/docs/scale.md" \
    "$root/README.md"
