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

# environment DIR PYTHON INPUTS PACKAGES…: make DIR and install PACKAGES into it, unless that was done for the same inputs.
# An environment that works is never removed: it is brought up to date, or set aside until the new one works.
environment() {
  # Two at once wait for each other, where there is a command for that.
  if command -v flock >/dev/null 2>&1; then
    exec 9>"$1.lock"
    flock 9
  fi
  bring_up_to_date "$@"
  exec 9>&-
}

bring_up_to_date() {
  folder=$1 python=$2 inputs=$3
  shift 3
  series=$(series_of "$python")
  stamp="$series $(cksum <"$inputs") $*"
  known=$(cat "$folder/.stamp" 2>/dev/null) || known=
  # What the tests need is more than what running needs.
  if [ "$known" = "$stamp" ] || [ "$known" = "$stamp[test]" ]; then
    return 0
  fi
  say "setting up $folder: this takes about a minute, once"
  if [ "$(series_of "$folder/bin/python" 2>/dev/null)" != "$series" ]; then
    set_aside "$folder" && "$python" -m venv "$folder" || {
      put_back "$folder"
      fail "$python cannot make a virtual environment: install its venv module (on Debian: python3-venv)."
    }
  fi
  if ! "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@" 1>&2; then
    put_back "$folder"
    if [ -x "$folder/bin/toolfix" ] && "$folder/bin/toolfix" --version >/dev/null 2>&1; then
      say "pip could not bring $folder up to date (see above): going on with what is there."
      return 0
    fi
    fail "pip could not install into $folder: see above, and try again."
  fi
  printf '%s' "$stamp" >"$folder/.stamp"
  rm -rf "$folder.before"
}

series_of() { "$1" -c 'import sys; print("Python %d.%d" % sys.version_info[:2])'; }

set_aside() {
  rm -rf "$1.before"
  [ ! -e "$1" ] || mv "$1" "$1.before"
}

put_back() {
  [ ! -e "$1.before" ] || { rm -rf "$1" && mv "$1.before" "$1"; }
}
