#!/bin/sh
# Builds one of the tools of tools/release, or of another module there, at the version that
# its go.mod pins, into build/tools and prints its path: scripts/release-tool.sh goreleaser,
# scripts/release-tool.sh caddy caddy
set -eu
cd "$(dirname "$0")/.."
root=$PWD
go=${GO:-go}
name=${1:?usage: release-tool.sh NAME [MODULE]}
module=tools/${2:-release}
path="$root/build/tools/$name"
if [ ! -x "$path" ] || [ "$path" -ot "$module/go.sum" ]; then
	cd "$module"
	package=$("$go" list -f '{{.ImportPath}}' tool | grep "/$name\(/v[0-9]*\)\?\$")
	# For this machine, whatever the caller builds for.
	env -u GOOS -u GOARCH GOFLAGS= GOBIN="$root/build/tools" "$go" install -trimpath "$package"
fi
echo "$path"
