#!/bin/sh
# Builds the Metal simulator: sim/metal/build.sh OUT.so
# CXX and CXXFLAGS choose another compiler or target (--target=aarch64-linux-gnu).
set -eu

out=${1:?usage: build.sh OUT.so}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export CXX="${CXX:-clang++-19}" root objects
export flags="-std=c++20 -O1 -g1 -fPIC -fvisibility=hidden -Wall -Wextra -Werror ${CXXFLAGS:-}"
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

# The simulator, and the compiler of Metal source without its run time and its
# programs; one process per core, each for one file.
{
	find "$here/src" -name '*.cpp'
	find "$root/sim/exec" -name '*.cpp' ! -path '*/runtime/*' -exec grep -L '^int main(' {} +
} | xargs -P "$(getconf _NPROCESSORS_ONLN)" -I{} sh -c '
	$CXX $flags "-DMETALSIM_DEFAULT_ROOT=\"$root\"" -c "$1" -o "$objects/$(echo "${1#"$root"/}" | tr / -).o"' - {}
mkdir -p "$(dirname "$out")"
# shellcheck disable=SC2086
$CXX $flags -shared -pthread -Wl,-z,defs -o "$out.$$" "$objects"/*.o -ldl
mv "$out.$$" "$out"
