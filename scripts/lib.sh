# What ./run, ./test and the scripts in this folder share. Sourced by bash, never run.

set -euo pipefail

CUPEL_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

# Lets ccache reuse objects that were compiled with a precompiled header.
export CCACHE_SLOPPINESS=pch_defines,time_macros
# What a file includes is known from its dependency file, so ccache need not run the preprocessor first.
export CCACHE_DEPEND=1

say() { printf '%s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

# How many compilers may run at once: one a core, and 1.5 GB of memory for each.
build_jobs() {
  local cores memory_kb by_memory
  cores="$(nproc)"
  memory_kb="$(awk '/^MemTotal:/ {print $2}' /proc/meminfo)"
  by_memory=$((memory_kb / 1500000))
  ((by_memory < 1)) && by_memory=1
  echo $((cores < by_memory ? cores : by_memory))
}

# Copies ninja's output to a log and shows how far it is: one line that is overwritten on a terminal,
# a line every 20 seconds elsewhere. What the compiler complains about is shown in full.
show_progress() {
  local log="$1" line shown=0 last=$SECONDS failing=0
  : >"$log"
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$log"
    if [[ "$line" =~ ^\[([0-9]+/[0-9]+)\]\ (.*) ]]; then
      failing=0
      if [[ -t 1 ]]; then
        printf '\r\033[K%.*s' "$((${COLUMNS:-80} - 1))" "Building ${BASH_REMATCH[1]} ${BASH_REMATCH[2]}"
        shown=1
      elif ((SECONDS - last >= 20)); then
        printf 'Building %s\n' "${BASH_REMATCH[1]}"
        last=$SECONDS
      fi
    elif [[ "$line" == FAILED:* ]]; then
      failing=1
      ((shown)) && printf '\r\033[K'
      printf '%s\n' "$line"
    elif ((failing)) && [[ "$line" != ccache\ * ]]; then
      printf '%s\n' "$line"
    fi
  done
  ((shown)) && printf '\r\033[K'
  return 0
}

# build PRESET FOLDER: configures if that is needed, then builds everything.
build() {
  local preset="$1" folder="$CUPEL_ROOT/$2" begin=$SECONDS fresh=() log
  "$CUPEL_ROOT/scripts/fetch-python-grammar"
  "$CUPEL_ROOT/scripts/fetch-onnx-schema"
  if [[ -f "$folder/CMakeCache.txt" ]] &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$CUPEL_ROOT" "$folder/CMakeCache.txt"; then
    fresh=(--fresh) # The tree was moved since.
  fi
  if [[ ! -f "$folder/build.ninja" || "$CUPEL_ROOT/CMakePresets.json" -nt "$folder/build.ninja" || ${#fresh[@]} -gt 0 ]]; then
    say "Configuring ($preset)"
    mkdir -p "$folder"
    log="$folder/configure.log"
    if ! (cd "$CUPEL_ROOT" && cmake "${fresh[@]}" --preset "$preset") >"$log" 2>&1; then
      cat "$log"
      die "cmake could not configure the build; what it said is above and in $log"
    fi
    # cmake leaves an unchanged build.ninja alone; without this it would be asked again every time.
    touch "$folder/build.ninja"
  fi
  log="$folder/build.log"
  if ! ninja -C "$folder" -j "$(build_jobs)" 2>&1 | show_progress "$log"; then
    grep -q '^FAILED:' "$log" || tail -n 20 "$log"
    die "the build failed; what the tools said is above and in $log"
  fi
  ((SECONDS - begin < 3)) || say "Built ($preset) in $((SECONDS - begin)) s"
}

# ensure_venv REQUIREMENTS [FOLDER]: makes FOLDER (.venv) hold what the file lists. Returns 1, with the reason printed, if that cannot be.
ensure_venv() {
  local requirements="$1" venv="$CUPEL_ROOT/${2:-.venv}" python candidate wanted log
  wanted="$(sha256sum <"$requirements")"
  if [[ -x "$venv/bin/python" && -f "$venv/installed" && "$(cat "$venv/installed")" == "$wanted" ]] &&
    "$venv/bin/python" -c '' 2>/dev/null; then
    return 0
  fi
  python=""
  for candidate in /usr/bin/python3 python3; do
    if "$candidate" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      python="$candidate"
      break
    fi
  done
  if [[ -z "$python" ]]; then
    say "No Python 3.11 with venv was found (sudo apt-get install python3 python3-venv)."
    return 1
  fi
  say "Setting up ${2:-.venv} for $(basename "$(dirname "$requirements")") (once)"
  log="$(mktemp)"
  if ! { "$python" -m venv --clear "$venv" &&
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 2 --timeout 20 -r "$requirements"; } >"$log" 2>&1; then
    say "The Python packages of ${requirements#"$CUPEL_ROOT/"} could not be had:"
    tail -n 3 "$log" | sed 's/^/  /'
    say "Once PyPI can be reached, the same command installs them."
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
  printf '%s\n' "$wanted" >"$venv/installed"
}
