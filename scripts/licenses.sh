#!/bin/sh
# The licences of everything that is compiled into the programs, on every system that is
# released: scripts/licenses.sh check fails if one is not known to allow what we do;
# scripts/licenses.sh save FOLDER copies their texts.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
allowed=MIT,BSD-2-Clause,BSD-3-Clause,Apache-2.0,ISC
tool=$(sh scripts/release-tool.sh go-licenses)
# The tool takes all that lies below GOROOT for the language's library. It does not know that
# folder, as it was built with trimmed paths, and then everything does.
GOROOT=$("$go" env GOROOT)
export GOROOT

for target in linux/amd64 linux/arm64 darwin/arm64; do
	export GOOS="${target%/*}" GOARCH="${target#*/}" CGO_ENABLED=0
	# It warns of every file that is not Go.
	case $1 in
	check)
		list=$("$tool" report ./cmd/mlarun ./cmd/mlagen --ignore mla 2>/dev/null) || true
		case $list in
		*prometheus/client_golang*) ;;
		*)
			echo "go-licenses does not see the dependencies of $target" >&2
			exit 1
			;;
		esac
		# Lines of a package, where its licence is, and which it is, or Unknown.
		others=$(printf '%s\n' "$list" | awk -F, -v allowed=",$allowed," '!index(allowed, "," $NF ",")')
		if [ -n "$others" ]; then
			printf '%s: not of %s:\n%s\n' "$target" "$allowed" "$others" >&2
			exit 1
		fi
		;;
	save)
		"$tool" save ./cmd/mlarun ./cmd/mlagen --ignore mla --force --save_path "$2.$GOOS" 2>/dev/null
		mkdir -p "$2"
		cp -R "$2.$GOOS/." "$2/"
		rm -rf "$2.$GOOS"
		;;
	*)
		echo "usage: licenses.sh check | save FOLDER" >&2
		exit 2
		;;
	esac
done
if [ "$1" = save ]; then # that of the language's library, which is compiled in too
	mkdir -p "$2/go"
	cp "$("$go" env GOROOT)/LICENSE" "$2/go/LICENSE"
	mkdir -p "$2/page" # and those of the page's libraries
	cp runtime/serve/server/page/vendor/*.LICENSE "$2/page/"
fi
[ "$1" = save ] || echo "licences: all of $allowed"
