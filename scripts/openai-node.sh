#!/bin/sh
# Installs OpenAI's client for JavaScript at the version and hash that tools/openai-node pins,
# beside the program there that uses it, and prints that program's path.
set -eu
cd "$(dirname "$0")/.."
to="$PWD/build/openai-node"
mkdir -p "$to"
cp tools/openai-node/client.mjs tools/openai-node/package.json "$to"
if ! cmp -s tools/openai-node/package-lock.json "$to/package-lock.json" || [ ! -d "$to/node_modules/openai" ]; then
	cp tools/openai-node/package-lock.json "$to"
	(cd "$to" && npm ci --ignore-scripts --no-audit --no-fund >&2)
fi
echo "$to/client.mjs"
