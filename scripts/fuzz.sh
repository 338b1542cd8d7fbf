#!/bin/sh
# Runs every fuzz target of the project: scripts/fuzz.sh 60s [FOLDER...], or 10000x for so
# many inputs; with folders, those below them alone. A package is built once for all of its
# targets. An input that fails is kept in the package's testdata/fuzz, beside those that the
# repository has: every `go test` runs them.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${1:?usage: fuzz.sh TIME [FOLDER...]}
shift
[ $# -gt 0 ] || set -- .
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
# Where go test -fuzz keeps inputs that found something new, from run to run.
kept=$("$go" env GOCACHE)/fuzz/mla

failed=
count=0
for package in $(git grep -l '^func Fuzz' -- "$@" | grep '_test\.go$' | xargs -n1 dirname | sort -u); do
	"$go" test -c -fuzz Fuzz -o "$built/test" "./$package"
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$package"/*_test.go); do
		count=$((count + 1))
		echo "== $package $target"
		(cd "$package" && "$built/test" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" -test.fuzzcachedir "$kept/$package") || failed="$failed $package:$target"
	done
done
echo "$count fuzz targets, $time each"
if [ -n "$failed" ]; then
	echo "failed:$failed" >&2
	exit 1
fi
