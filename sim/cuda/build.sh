#!/bin/sh
# Builds the stand-in for NVIDIA's driver: sim/cuda/build.sh OUT.so
# CXX and CXXFLAGS choose another compiler or target (--target=aarch64-linux-gnu).
set -eu

out=${1:?usage: build.sh OUT.so}
root=$(cd "$(dirname "$0")/../.." && pwd)

# The driver, what it shares with the other simulator, and the compiler of Metal source
# without the runner.
set -- "$root"/sim/cuda/src/*.cpp "$root"/sim/common/*.cpp
for source in "$root"/sim/exec/*.cpp; do
	[ "${source##*/}" = runner.cpp ] || set -- "$@" "$source"
done
exec sh "$root/sim/build.sh" "$out" CUDASIM_DEFAULT_ROOT "$@"
