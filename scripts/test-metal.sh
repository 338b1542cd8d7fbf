#!/bin/sh
# Tests the Metal device on a Mac's own GPU: reference logits encoded directly and,
# where the GPU is not virtual, by indirect command buffers; then the doctor, with a
# report in build/metal-report.md.
# MLA_METAL_LIB names a library that stands in for Metal elsewhere.
set -eu
cd "$(dirname "$0")/.."
if [ "$(uname -s)" != Darwin ] && [ -z "${MLA_METAL_LIB:-}" ]; then
	echo "make test-metal needs a Mac with Apple Silicon and macOS 14 or later; elsewhere, make test runs the same code on a simulator of Metal." >&2
	exit 1
fi
go=${GO:-go}
mkdir -p build
$go test -count 1 -tags metal -run 'TestSystem|TestWindow|TestTable' ./runtime/device/metal/...
$go run ./cmd/mlarun doctor -device metal -metal-lib "${MLA_METAL_LIB:-}" -report build/metal-report.md
