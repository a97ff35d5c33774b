# Shared by the scripts, which set $root: finds a Python and keeps virtual environments up to date.
# All its messages go to stderr.

say() { printf 'toolfix: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# The first of the given commands that is a Python of at least 3.MINOR (and below 3.LIMIT, if given).
find_python() {
  minor=$1 limit=$2
  shift 2
  for candidate in "$@"; do
    if command -v "$candidate" >/dev/null 2>&1 &&
      "$candidate" -c "import sys; sys.exit(not (3, $minor) <= sys.version_info[:2] < (3, $limit))" 2>/dev/null; then
      outside "$(command -v "$candidate")"
      return 0
    fi
  done
  return 1
}

# For a Python in one of our environments, which may be replaced, prints the Python that it was made with.
outside() {
  case $1 in
    "$root"/.venv*) "$1" -c 'import sys; print(sys._base_executable)' ;;
    *) printf '%s\n' "$1" ;;
  esac
}

# Any Python that toolfix runs on: the one that PYTHON names, or the first of the usual names.
supported_python() {
  if [ -n "${PYTHON:-}" ]; then
    find_python 11 99 "$PYTHON" || fail "PYTHON=$PYTHON is not a Python of 3.11 or newer: name another, or unset PYTHON."
    return
  fi
  find_python 11 99 python3 python3.13 python3.12 python3.11 python ||
    fail "Python 3.11 or newer is needed: install it, or name it with PYTHON=/path/to/python3."
}

# environment DIR PYTHON LOCK: make DIR and install what scripts/locks/LOCK.txt names, unless that was done before:
#   run      the project and what it needs to run
#   test     the same, and what its tests need
#   newest   as test, with the newest mitmproxy, which the registry may not be able to resolve
#   clients  the SDKs that the end-to-end tests use as clients
# LOCKED=0 installs what pip finds today instead; HASHES=1 accepts only files whose hashes are in the lock.
# A working environment is never lost: it is brought up to date, or kept aside until the new one works.
environment() {
  # Two commands at once wait for each other, if this machine has flock and this is a place to write to.
  if command -v flock >/dev/null 2>&1 && (: >>"$1.lock") 2>/dev/null; then
    exec 9>"$1.lock"
    flock -n 9 || { say "waiting: $1 is being set up by another command"; flock 9; }
  fi
  bring_up_to_date "$@"
  exec 9>&-
}

bring_up_to_date() {
  folder=$1 python=$2 lock=$3
  series=$(series_of "$python")
  known=$(cat "$folder/.stamp" 2>/dev/null) || known=
  # An environment for the tests will do for running too, and one that was checked by hashes will do for any.
  for enough in "$lock" $([ "$lock" != run ] || echo test); do
    for checked in hashes $([ "${HASHES:-}" = 1 ] || echo any); do
      [ "$known" != "$(stamp_of "$series" "$enough" "$checked")" ] || return 0
    done
  done
  (: >>"$folder.lock") 2>/dev/null ||
    fail "$folder must be set up, and you cannot write there: let its owner run scripts/toolfix, or make a clone of your own."
  if has_uv; then say "setting up $folder with uv: this takes some seconds, once"
  else say "setting up $folder with pip: this takes about a minute, once"; fi
  # Hashes are compared when a file is installed, so HASHES=1 needs a new environment.
  if [ "$(series_of "$folder/bin/python" 2>/dev/null)" != "$series" ] || [ "${HASHES:-}" = 1 ]; then
    set_aside "$folder" && "$python" -m venv "$folder" || {
      put_back "$folder"
      fail "$python cannot make a virtual environment: install its venv module (on Debian: python3-venv)."
    }
  fi
  if ! install_into "$folder" "$lock" "$series"; then
    put_back "$folder"
    if [ "${HASHES:-}" != 1 ] && [ -x "$folder/bin/toolfix" ] && "$folder/bin/toolfix" --version >/dev/null 2>&1; then
      say "pip could not bring $folder up to date (see above): going on with what is there."
      return 0
    fi
    fail "pip could not install into $folder: see above, and try again."
  fi
  stamp_of "$series" "$lock" "$([ "${HASHES:-}" = 1 ] && echo hashes || echo any)" >"$folder/.stamp"
  rm -rf "$folder.before"
}

stamp_of() {
  printf '%s %s %s %s %s' "$1" "$2" "$3" "${LOCKED:-1}" "$(cat "$root/pyproject.toml" "$root/scripts/locks/$2.txt" | cksum)"
}

# install_into DIR LOCK SERIES: install the versions that the tests passed with, build tools included. If the lock is not for
# this Python or system, or its versions cannot be installed here, say so and install what pip finds.
install_into() {
  folder=$1 lock=$2 file=$root/scripts/locks/$2.txt why=
  [ "${LOCKED:-1}" != 0 ] || why="LOCKED=0"
  grep -q "^# For: .*$3[,;]" "$file" || why="the tested versions (scripts/locks) are not for $3"
  grep -q "^# For: .*; .*$(uname -s)" "$file" || why="the tested versions (scripts/locks) are not for $(uname -s)"
  if [ "${HASHES:-}" = 1 ]; then
    [ -z "$why" ] || { say "HASHES=1: there are no hashes to compare with: $why."; return 1; }
    grep -q -e --hash= "$file" || { say "HASHES=1: scripts/locks/$lock.txt has no hashes; scripts/locks/run.txt does."; return 1; }
    pip_install "$folder" --no-deps --require-hashes -r "$file" && add_project
    return
  fi
  if [ -z "$why" ]; then
    # The lock names every version, so there is nothing to resolve. Hashes are compared only with HASHES=1.
    sed -e '/^ *--hash=/d' -e 's/ *\\$//' "$file" >"$folder/.lock.txt"
    if pip_install "$folder" --no-deps -r "$folder/.lock.txt" && add_project; then return 0; fi
    why="the tested versions (scripts/locks/$lock.txt) cannot be installed here, see above"
  fi
  say "$why: installing the newest versions that fit instead."
  case $lock in
    run) pip_install "$folder" -e "$root" ;;
    clients) pip_install "$folder" -r "$root/tests/e2e/requirements.txt" ;;
    *) pip_install "$folder" -e "$root[test]" ;;
  esac
}

# The project itself, built with the tools that the lock has just installed.
add_project() { [ "$lock" = clients ] || pip_install "$folder" --no-deps --no-build-isolation -e "$root"; }

# Installs with uv if there is one (unless USE_UV=0), and with pip if uv fails: uv does not read pip's configuration.
pip_install() {
  into=$1
  shift
  if has_uv; then
    if ticking uv pip install --quiet --python "$into/bin/python" "$@"; then return 0; fi
    say "uv could not install this (see above): trying pip"
  fi
  # Errors only: nobody here can fix what pip warns about (an outdated package format, a mirror without a page).
  ticking "$into/bin/python" -m pip install --quiet --quiet --disable-pip-version-check "$@"
}

has_uv() { [ "${USE_UV:-1}" != 0 ] && command -v uv >/dev/null 2>&1; }

# Run a command, and count the seconds on a terminal.
ticking() {
  if [ ! -t 2 ]; then "$@" 1>&2; return; fi
  (seconds=0; while sleep 1; do seconds=$((seconds + 1)); printf '\r  %s s ' "$seconds" >&2; done) 9>&- &
  ticker=$!
  status=0
  "$@" 1>&2 || status=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  printf '\r          \r' >&2
  return "$status"
}

series_of() { "$1" -c 'import sys; print("Python %d.%d" % sys.version_info[:2])'; }

set_aside() {
  rm -rf "$1.before"
  [ ! -e "$1" ] || mv "$1" "$1.before"
}

put_back() {
  [ ! -e "$1.before" ] || { rm -rf "$1" && mv "$1.before" "$1"; }
}
