#!/usr/bin/env bash
# Builds the shim's selftest in every mode and runs it; also sees that the sanitizers report what they must.
# Usage: kernels/simt/selftest.sh [BUILD_DIRECTORY]; CXX selects the compiler (g++).
set -euo pipefail
cd "$(dirname "$0")"
build=${1:-$(mktemp -d)}
mkdir -p "$build"
status=0

make() {  # name, flags...
  local name=$1
  shift
  ${CXX:-g++} -std=c++17 -Wall -Wextra -Werror -g -DGPUINT_SIMT -I.. "$@" ./*.cpp -o "$build/$name" -pthread
}

run() {  # name, arguments...: ThreadSanitizer wants its addresses unrandomised
  local name=$1
  shift
  if command -v setarch >/dev/null; then setarch "$(uname -m)" -R "$build/$name" "$@"; else "$build/$name" "$@"; fi
}

expect_clean() {
  echo "== $1"
  run "$1" >"$build/$1.log" 2>&1 || status=1
  grep -E '^FAILED|WARNING|ERROR|runtime error|passed' "$build/$1.log" || status=1
}

expect_report() {  # name, subcommand, text of the report
  if run "$1" "$2" >"$build/$1-$2.log" 2>&1; then
    echo "FAILED $1 $2: no report"
    status=1
  elif grep -q "$3" "$build/$1-$2.log"; then
    echo "ok     $1 $2: reported"
  else
    echo "FAILED $1 $2: another report, see $build/$1-$2.log"
    status=1
  fi
}

# At once: the compiler uses one core.
builds=()
make plain -O2 & builds+=($!)
make unoptimised -O0 & builds+=($!)
make ucontext -O1 -DSIMT_UCONTEXT & builds+=($!)
make thread -O1 -fsanitize=thread & builds+=($!)
make address -O1 -fsanitize=address,undefined -fno-sanitize-recover=all & builds+=($!)
for each in "${builds[@]}"; do wait "$each"; done
for name in plain unoptimised ucontext thread address; do expect_clean $name; done
for mode in race race-groups race-waiting; do expect_report thread $mode 'data race'; done
expect_report address overrun 'heap-buffer-overflow'
exit $status
