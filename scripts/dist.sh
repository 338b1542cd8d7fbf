#!/bin/sh
# Builds what a release has, into build/dist, and publishes nothing. At a commit with a tag
# it is that version, elsewhere a snapshot. dist.sh -twice does it two times and fails
# unless the bytes are the same.
set -eu
cd "$(dirname "$0")/.."
echo "dist: builds two programs for three systems; the first run also downloads and compiles goreleaser, so expect 10 minutes, 30 on a busy machine" >&2
for tool in goreleaser cyclonedx-gomod go-licenses; do
	sh scripts/release-tool.sh $tool >/dev/null
done
PATH="$PWD/build/tools:$PATH"
export PATH
snapshot=--snapshot
if git describe --exact-match --tags HEAD >/dev/null 2>&1; then snapshot=; fi
# goreleaser wants to know where a repository is from. One that is from nowhere has no
# other use for the answer than the cask's placeholder.
if ! git remote get-url origin >/dev/null 2>&1; then
	export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://github.com/OWNER/mla
fi

build() { goreleaser release --clean $snapshot --skip=publish,announce; }

# sums lists the checksums of everything that is published.
sums() { (cd build/dist && cat checksums.txt && sha256sum ./*.cdx.json homebrew/Casks/mla.rb); }

build
if [ "${1:-}" = -twice ]; then
	sums >build/dist-first.txt
	build
	sums | diff build/dist-first.txt - || {
		echo "two builds of the same commit differ" >&2
		exit 1
	}
	echo "two builds of the same commit have the same bytes"
fi
ls -l build/dist/*.tar.gz build/dist/checksums.txt
