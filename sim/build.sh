#!/bin/sh
# Builds a simulator: sim/build.sh OUT MACRO SOURCE ...
# MACRO is what config.cpp knows the checkout by. CXX and CXXFLAGS choose another compiler
# or target (--target=aarch64-linux-gnu).
#
# OUT stays as it is while what it was made from does, which OUT.stamp says. Objects are
# kept in the user's cache by the text of their source, of all headers and of the command:
# another checkout finds them too.
set -eu

out=${1:?usage: build.sh OUT MACRO SOURCE ...}
macro=$2
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)

if [ -z "${CXX:-}" ]; then # Apple's clang comes last: what it compiles for kernels does not serve
	for CXX in clang++-19 /opt/homebrew/opt/llvm@19/bin/clang++ /opt/homebrew/opt/llvm/bin/clang++ /usr/local/opt/llvm/bin/clang++ clang++; do
		command -v "$CXX" >/dev/null 2>&1 && break
	done
fi
case $(uname -s) in
Darwin) cache=${HOME:?}/Library/Caches libraries="" ;;
*) cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache} libraries="-Wl,-z,defs -ldl" ;;
esac
cache=$cache/mla/simulators
sum=$(command -v sha256sum || echo "shasum -a 256")
flags="-std=c++20 -O1 -g1 -fPIC -fvisibility=hidden -Wall -Wextra -Werror -ffile-prefix-map=$root=. ${CXXFLAGS:-}"
export CXX flags cache root macro sum

# What all objects depend on.
common=$({
	$CXX --version
	echo "${CXXFLAGS:-}"
	cat "$root/sim/build.sh"
	for source in "$@"; do dirname "$source"; done | sort -u | while read -r folder; do
		find "$folder" -maxdepth 1 -name '*.h' -o -maxdepth 1 -name '*.def' | sort | xargs cat
	done
} | $sum)
export common

# The name of a source's object.
name_of='
	own=""
	case $1 in */config.cpp) own="-D$macro=\"$root\"" ;; esac
	object=$cache/$({ echo "$common $own ${1#"$root"/}"; cat "$1"; } | $sum | cut -c 1-32).o'

objects=$(for source in "$@"; do sh -c "$name_of"'; echo "$object"' - "$source"; done)
stamp=$(echo "$libraries $objects" | $sum)
if [ -f "$out" ] && [ "$(cat "$out.stamp" 2>/dev/null)" = "$stamp" ]; then exit 0; fi

# One process per core, each for one file. What was left by killed ones, and what nothing
# has used for a week, goes.
mkdir -p "$cache" "$(dirname "$out")"
find "$cache" -type f \( -mtime +7 -o -name 'part.*' -mmin +60 \) -exec rm -f {} +
printf '%s\n' "$@" | xargs -P "$(getconf _NPROCESSORS_ONLN)" -I{} sh -c "$name_of"'
	if [ -f "$object" ]; then touch "$object"; exit; fi
	part=$cache/part.$$.o
	trap "rm -f $part" EXIT
	$CXX $flags ${own:+"$own"} -c "$1" -o "$part" && mv "$part" "$object"' - {}

# shellcheck disable=SC2086
if ! $CXX $flags -shared -pthread -o "$out.$$" $objects $libraries; then
	rm -f "$out.$$"
	# shellcheck disable=SC2012
	! ls $objects >/dev/null 2>&1 || rm -f $objects # one of them is damaged; the next run makes it again
	exit 1
fi
mv "$out.$$" "$out"
echo "$stamp" >"$out.stamp.$$" && mv "$out.stamp.$$" "$out.stamp"
