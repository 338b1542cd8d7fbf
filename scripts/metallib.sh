#!/bin/sh
# Compiles the Metal source of every bundle that Apple GPUs run with Apple's compiler into a folder, which
# is bin unless $1 names another: NAME-HASH.metallib, where HASH is the beginning of
# the source's SHA-256. mlarun takes a library of that very name from beside itself,
# or from -metallib DIR, and compiles the source where there is none.
set -eu
cd "$(dirname "$0")/.."
out=${1:-bin}

if ! xcrun -sdk macosx -f metal >/dev/null 2>&1; then
	echo "make metallib needs Apple's Metal compiler: a Mac with Xcode, and from Xcode 26 on its Metal toolchain (xcodebuild -downloadComponent MetalToolchain). Without it, mlarun compiles the kernels when it starts." >&2
	exit 1
fi

hash_of() {
	if command -v shasum >/dev/null 2>&1; then shasum -a 256 "$1"; else sha256sum "$1"; fi | cut -c 1-12
}

mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# class_of FOLDER BUNDLE is the class of devices that a bundle is for; "": any.
class_of() {
	awk -F'"' -v bundle="$2" '/^\t{$/ { class = "" } /^\t\tClass:/ { class = $2 } /^\t\tName:/ && $2 == bundle { print class }' "$1/zmodel.go"
}

for source in generated/*/*.metal; do
	bundle=$(basename "$source" .metal)
	class=$(class_of "$(dirname "$source")" "$bundle")
	if [ -n "$class" ] && [ "$class" != apple ]; then continue; fi
	library=$bundle-$(hash_of "$source").metallib
	# As the runtime compiles: version 3.1, macOS 14, or the version that the source says it
	# needs; arithmetic as written and precise functions, both of which -fno-fast-math asks
	# for. That nothing is contracted is a pragma in the source.
	std=metal3.1 macos=14.0
	if grep -q '^#if __METAL_VERSION__ < 320' "$source"; then std=metal3.2 macos=15.0; fi
	xcrun -sdk macosx metal -std=$std -mmacosx-version-min=$macos -fno-fast-math -c "$source" -o "$work/$bundle.air"
	xcrun -sdk macosx metallib "$work/$bundle.air" -o "$work/$library"
	mv "$work/$library" "$out/$library"
	echo "$out/$library"
done
