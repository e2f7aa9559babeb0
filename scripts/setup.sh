#!/bin/sh
# Make .venv (or BETCODE_VENV) from uv.lock: `use` what betcode itself needs, `work` also what its development needs.
#
# Needs Python 3.11 or newer and one of: uv, pip, or Python's venv module. Nothing outside this folder is touched: on
# Debian, where there is neither venv nor a pip that may install, pip still can with --target, and uv does the rest.
set -eu

what=$1
here=$(pwd)
venv=${BETCODE_VENV:-.venv}
export UV_PROJECT_ENVIRONMENT="$venv"
boot=$here/.cache/bootstrap
log=$here/.cache/setup.log
mkdir -p "$here/.cache"

say() { printf 'betcode: %s\n' "$*" >&2; }
stop() { say "$*"; exit 1; }

find_python() {
    # An environment that works is kept as it is.
    for name in ${PYTHON:-"$venv/bin/python"} python3 python3.13 python3.12 python3.11 python3.14; do
        # The interpreter's own path: a version manager's shim is not one.
        if path=$("$name" -c 'import sys; sys.version_info >= (3, 11) or sys.exit(1); print(sys.executable)' 2>/dev/null); then
            printf '%s\n' "$path"
            return
        fi
    done
    if found=$(python3 --version 2>/dev/null); then
        stop "Python 3.11 or newer is needed, and python3 here is $found; set PYTHON to a newer one."
    fi
    stop "Python 3.11 or newer is needed, and there is no python3 here."
}

# The index that pip was told to use, if it is not the usual one.
other_index() {
    index=${UV_DEFAULT_INDEX:-${UV_INDEX_URL:-${PIP_INDEX_URL:-$("$python" -m pip config get global.index-url 2>/dev/null || true)}}}
    usual=$(sed -n 's/.*registry = "\([^"]*\)".*/\1/p' uv.lock | head -n 1)
    case $index in
        "" | "$usual" | "$usual/") ;;
        *) printf '%s\n' "$index" ;;
    esac
}

fetch_uv() {
    [ -x "$boot/bin/uv" ] && return
    say "fetching uv, the tool that installs the rest ..."
    if "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --upgrade \
            --target "$boot" 'uv>=0.9' 2>"$log" || { cat "$log" >&2; stop "pip could not fetch uv; see above."; }
    elif "$python" -m venv --clear "$boot" >"$log" 2>&1; then
        "$boot/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir 'uv>=0.9' 2>"$log" ||
            { cat "$log" >&2; stop "pip could not fetch uv; see above."; }
    else
        stop "one of uv, pip or Python's venv module is needed; on Debian: apt install python3-pip"
    fi
}

install() {
    case $what in
        use) groups="--all-extras --no-dev --inexact" ;;
        work) groups="--all-extras" ;;
        *) stop "setup knows 'use' and 'work', not '$what'" ;;
    esac
    index=$(other_index)
    if [ -z "$index" ]; then
        # shellcheck disable=SC2086
        "$1" sync --compile-bytecode --frozen --no-python-downloads --python "$python" $groups
    else
        # The lock names where each file is on the usual index; elsewhere the same versions and hashes are asked for.
        say "using the package index that is configured here"
        export UV_DEFAULT_INDEX="$index"
        wanted=$here/.cache/requirements.txt
        # shellcheck disable=SC2086
        "$1" export --quiet --frozen --no-emit-project --no-python-downloads --python "$python" \
            ${groups%--inexact} --output-file "$wanted" >/dev/null &&
            { [ -x "$venv/bin/python" ] || "$1" venv --no-python-downloads --python "$python" "$venv"; } &&
            "$1" pip install --compile-bytecode --python "$venv/bin/python" --no-deps --require-hashes --requirement "$wanted" &&
            "$1" pip install --python "$venv/bin/python" --no-deps --editable .
    fi
}

python=$(find_python)
case $what in
    use) say "setting up in $here/$venv (about 45 MB to fetch the first time) ..." ;;
    *) say "setting up in $here/$venv (about 250 MB to fetch the first time, for the tests) ..." ;;
esac
if own=$(command -v uv) && install "$own"; then
    :
else
    fetch_uv
    install "$boot/bin/uv" || stop "the packages could not be installed; see above."
fi
# What is compiled now is not compiled when somebody waits for the first screen.
"$venv/bin/python" -m compileall -q -j 0 src || say "bytecode could not be written; betcode starts more slowly"
printf '%s' "$here" >"$venv/.place"
touch "$venv/.for-use"
[ "$what" = use ] || touch "$venv/.for-work"
say "ready"
