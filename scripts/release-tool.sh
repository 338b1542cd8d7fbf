#!/bin/sh
# Builds one of the tools of tools/release, at the version that its go.mod pins, into
# build/tools and prints its path: scripts/release-tool.sh goreleaser
set -eu
cd "$(dirname "$0")/.."
root=$PWD
go=${GO:-go}
name=${1:?usage: release-tool.sh NAME}
path="$root/build/tools/$name"
if [ ! -x "$path" ] || [ "$path" -ot tools/release/go.sum ]; then
	cd tools/release
	package=$("$go" list -f '{{.ImportPath}}' tool | grep "/$name\(/v[0-9]*\)\?\$")
	# For this machine, whatever the caller builds for.
	env -u GOOS -u GOARCH GOFLAGS= GOBIN="$root/build/tools" "$go" install -trimpath "$package"
fi
echo "$path"
