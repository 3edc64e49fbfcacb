# Parts that the field tests share; sourced by them.
#
# Settings, by variables:
#   WORK      folder for virtual environments, sources and logs (default /tmp/softwarp-field)
#   LIBCUDA   the library to test (default target/release/libcuda.so of this checkout)
#   SOURCES   folder with the sources of clients by their name, for those whose packages lack the tests

set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${WORK:-/tmp/softwarp-field}
mkdir -p "$work/lib"

# Puts the library where programs find it.
use_library() {
    local library=${LIBCUDA:-$root/target/release/libcuda.so}
    if [ ! -e "$library" ]; then
        echo "no $library: build it with cargo build --release -p softwarp-cuda" >&2
        exit 2
    fi
    cp "$library" "$work/lib/libcuda.so.1.new"
    mv "$work/lib/libcuda.so.1.new" "$work/lib/libcuda.so.1"
    ln -sf libcuda.so.1 "$work/lib/libcuda.so"
    export LD_LIBRARY_PATH=$work/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}

# environment NAME PACKAGE...: makes a virtual environment; $python is its interpreter.
environment() {
    local folder=$work/venv-$1
    shift
    [ -x "$folder/bin/python" ] || python3 -m venv "$folder"
    python=$folder/bin/python
    "$python" -m pip install --quiet --disable-pip-version-check "$@"
}

# sources NAME VERSION: $source is the folder with a client's files, which must be there.
sources() {
    source=${SOURCES:-}/$1
    if [ -z "${SOURCES:-}" ] || [ ! -d "$source" ]; then
        echo "$1: SOURCES must name a folder in which $1 has the files of $1 $2, with its tests" >&2
        exit 2
    fi
    source=$(cd "$source" && pwd)
}
