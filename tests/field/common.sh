# Parts that the field tests share; sourced by them.
#
# Settings, by variables:
#   WORK      folder for virtual environments, sources and logs (default /tmp/softwarp-field)
#   LIBCUDA   the library to test (default target/release/libcuda.so of this checkout)
#   SOURCES   folder with checkouts or bare repositories of the clients by their name, if GitHub cannot be reached

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

# checkout NAME OWNER/REPOSITORY COMMIT: puts the files of a commit into $source.
checkout() {
    source=$work/$1-$3
    [ -d "$source" ] && return
    mkdir -p "$source.new"
    local from=${SOURCES:-}/$1
    if [ ! -d "$from" ]; then
        from=$work/$1.git
        [ -d "$from" ] || git clone --quiet --bare "https://github.com/$2" "$from"
    fi
    git -C "$from" archive "$3" | tar -x -C "$source.new"
    mv "$source.new" "$source"
}
