#!/bin/sh
# Installs Ollama's client for JavaScript at the version and hash that tools/ollama-node pins,
# beside the program there that uses it, and prints that program's path.
set -eu
cd "$(dirname "$0")/.."
to="$PWD/build/ollama-node"
mkdir -p "$to"
cp tools/ollama-node/client.mjs tools/ollama-node/package.json "$to"
if ! cmp -s tools/ollama-node/package-lock.json "$to/package-lock.json" || [ ! -d "$to/node_modules/ollama" ]; then
	cp tools/ollama-node/package-lock.json "$to"
	(cd "$to" && npm ci --ignore-scripts --no-audit --no-fund >&2)
fi
echo "$to/client.mjs"
