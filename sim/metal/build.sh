#!/bin/sh
# Builds the Metal simulator: sim/metal/build.sh OUT.so
# CXX and CXXFLAGS choose another compiler or target (--target=aarch64-linux-gnu).
set -eu

out=${1:?usage: build.sh OUT.so}
root=$(cd "$(dirname "$0")/../.." && pwd)

# The simulator, what it shares with the other one, and the compiler of Metal source without the runner.
set -- "$root"/sim/metal/src/*.cpp "$root"/sim/common/*.cpp
for source in "$root"/sim/exec/*.cpp; do
	[ "${source##*/}" = runner.cpp ] || set -- "$@" "$source"
done
exec sh "$root/sim/build.sh" "$out" METALSIM_DEFAULT_ROOT "$@"
