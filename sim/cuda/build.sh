#!/bin/sh
# Builds the stand-in for NVIDIA's driver: sim/cuda/build.sh OUT.so
# CXX and CXXFLAGS choose another compiler.
set -eu

out=${1:?usage: build.sh OUT.so}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export CXX="${CXX:-clang++-19}" root objects
export flags="-std=c++20 -O1 -g1 -fPIC -fvisibility=hidden -Wall -Wextra -Werror ${CXXFLAGS:-}"
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

# The driver, the intervals that the Metal simulator keeps too, and the compiler of
# Metal source without its run time and its programs; one process per core.
{
	find "$here/src" -name '*.cpp'
	echo "$root/sim/metal/src/access.cpp"
	find "$root/sim/exec" -name '*.cpp' ! -path '*/runtime/*' -exec grep -L '^int main(' {} +
} | xargs -P "$(getconf _NPROCESSORS_ONLN)" -I{} sh -c '
	$CXX $flags "-DCUDASIM_DEFAULT_ROOT=\"$root\"" -c "$1" -o "$objects/$(basename "$1").o"' - {}
mkdir -p "$(dirname "$out")"
# shellcheck disable=SC2086
$CXX $flags -shared -pthread -Wl,-z,defs -o "$out.$$" "$objects"/*.o -ldl
mv "$out.$$" "$out"
