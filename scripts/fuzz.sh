#!/bin/sh
# Runs every fuzz target of the project for a time: scripts/fuzz.sh 60s [FOLDER...]; with
# folders, those below them alone. An input that
# fails is kept in the package's testdata/fuzz, beside those that the repository has: every
# `go test` runs them.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${1:?usage: fuzz.sh TIME [FOLDER...]}
shift
[ $# -gt 0 ] || set -- .

failed=
count=0
for file in $(git grep -l '^func Fuzz' -- "$@" | grep '_test\.go$'); do
	package=./$(dirname "$file")
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		count=$((count + 1))
		echo "== $package $target"
		"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" || failed="$failed $package:$target"
	done
done
echo "$count fuzz targets, $time each"
if [ -n "$failed" ]; then
	echo "failed:$failed" >&2
	exit 1
fi
