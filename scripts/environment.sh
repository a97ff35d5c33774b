# Shared by scripts/toolfix, scripts/test and scripts/bench: finds a Python and keeps virtual environments current.
# Everything it says goes to stderr.

say() { printf 'toolfix: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# The first of the given commands that is a Python of at least 3.MINOR (and below 3.LIMIT, if given).
find_python() {
  minor=$1 limit=$2
  shift 2
  for candidate in "$@"; do
    if command -v "$candidate" >/dev/null 2>&1 &&
      "$candidate" -c "import sys; sys.exit(not (3, $minor) <= sys.version_info[:2] < (3, $limit))" 2>/dev/null; then
      command -v "$candidate"
      return 0
    fi
  done
  return 1
}

# environment DIR PYTHON INPUTS COMMAND…: make DIR and run COMMAND in it, unless that was done for the same inputs.
environment() {
  folder=$1 python=$2 inputs=$3
  shift 3
  stamp="$("$python" --version 2>&1) $(cat "$inputs" | cksum) $*"
  if [ "$(cat "$folder/.stamp" 2>/dev/null)" = "$stamp" ]; then
    return 0
  fi
  say "setting up $folder (once)"
  rm -rf "$folder"
  "$python" -m venv "$folder" || fail "$python cannot make a virtual environment: install its venv module (on Debian: python3-venv)."
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@" 1>&2 ||
    fail "pip could not install into $folder: see above, and try again."
  printf '%s' "$stamp" >"$folder/.stamp"
}
