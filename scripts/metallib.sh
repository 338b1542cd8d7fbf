#!/bin/sh
# Compiles the Metal source of every bundle that Apple GPUs run with Apple's compiler into a folder, which
# is bin unless $1 names another: NAME-HASH.metallib, where HASH is the beginning of
# the source's SHA-256. mlarun takes a library of that very name from beside itself,
# or from -metallib DIR, and compiles the source where there is none.
# METAL_STD=metal3.2 compiles all of them for that version instead, only to see that
# it can be done; METAL_STD=list prints the versions that this compiler knows.
set -eu
cd "$(dirname "$0")/.."
out=${1:-bin}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# knows STD: the compiler takes this version. Only compiling something tells: Xcode 15
# refuses metal3.2, and in Xcode 26 xcrun finds a compiler that is yet to be downloaded
# (rule 22).
: >"$work/empty.metal"
knows() {
	xcrun -sdk macosx metal -std="$1" -c "$work/empty.metal" -o "$work/empty.air" >"$work/probe.txt" 2>&1
}

if ! knows metal3.1; then
	cat "$work/probe.txt" >&2
	echo "make metallib needs Apple's Metal compiler with -std=metal3.1: a Mac with Xcode 15 or later, and from Xcode 26 on its Metal toolchain (xcodebuild -downloadComponent MetalToolchain). Without it, mlarun compiles the kernels when it starts." >&2
	exit 1
fi
if [ "${METAL_STD:-}" = list ]; then
	for std in metal3.0 metal3.1 metal3.2 metal4.0; do
		if knows $std; then echo $std; fi
	done
	exit
fi

hash_of() {
	if command -v shasum >/dev/null 2>&1; then shasum -a 256 "$1"; else sha256sum "$1"; fi | cut -c 1-12
}

mkdir -p "$out"
# bundles FOLDER lists the bundles of a package: name, class of devices (- for any), activations,
# nextn for a layer that predicts (- for a model).
bundles() {
	awk -F'"' '
		/^\t{$/ { class = "-"; act = "f32"; layer = "-"; name = "" }
		/^\t\tClass:/ { class = $2 }
		/^\t\tActivations:.*F16/ { act = "f16" }
		/^\t\tJoined:/ { layer = "nextn" }
		/^\t\tName:/ { name = $2 }
		/^\t},$/ && name != "" { print name, class, act, layer; name = "" }' "$1/zmodel.go"
}

# whole FILE puts the files of the library that a line of //# names in its place, and a function with
# its mark for each use of a macro VARIANT, as runtime/plan/pieces does: the marks of the library name
# only what this text declares.
whole() {
	LC_ALL=C awk '
		# fill is a line of a macro with the arguments of a use.
		function fill(line,    out, word) {
			while (match(line, /[A-Za-z0-9_]+/)) {
				word = substr(line, RSTART, RLENGTH)
				out = out substr(line, 1, RSTART - 1) ((word in argument) ? argument[word] : word)
				line = substr(line, RSTART + RLENGTH)
			}
			return out line
		}
		# variant is a use of a macro: its arguments are names that the function uses, too.
		function variant(use,    args, n, i, j, list, words, line) {
			n = split(substr(use, 9, length(use) - 9), args, ", ")
			split("", argument)
			list = using
			for (i = 1; i <= n; i++) {
				argument[names[i]] = args[i]
				if (i > 1) list = list " " args[i]
			}
			line = "//: " args[1] " using"
			n = split(list, words, " ")
			for (i = 1; i <= n; i++) for (j = i; j > 1 && words[j] < words[j - 1]; j--) {
				use = words[j]; words[j] = words[j - 1]; words[j - 1] = use
			}
			for (i = 1; i <= n; i++) if (i == 1 || words[i] != words[i - 1]) line = line " " words[i]
			own[++count] = line
			for (i = 1; i <= height; i++) own[++count] = fill(body[i])
			own[++count] = ""
		}
		function is_mark(line) { return substr(line, 1, 3) == "//:" }
		function declared(line,    n, w, i) {
			n = is_mark(line) ? split(substr(line, 4), w, " ") : 0
			for (i = 1; i <= n && w[i] != "if" && w[i] != "using"; i++) known[w[i]] = 1
		}
		function only(line,    n, w, i, word) {
			if (!is_mark(line)) return line
			n = split(substr(line, 4), w, " ")
			line = "//:"
			for (i = 1; i <= n; i++) {
				if (w[i] == "if" || w[i] == "using") word = " " w[i]
				else if (word == "" || w[i] in known) {
					if (word != "" && word != said) { line = line word; said = word }
					line = line " " w[i]
				}
			}
			said = ""
			return line
		}
		FNR == 1 { nth++ }
		nth == 1 && /^\/\/#/ { file = $2; next }
		nth == 1 { if (file != "") library[file, ++lines[file]] = $0; next }
		/^\/\/# variants using/ { using = substr($0, 19); inside = 1; height = 0; next }
		inside && /^#define VARIANT/ { split(substr($0, 17, length($0) - 19), names, ", "); next }
		inside && /^VARIANT/ { variant($0); next }
		inside && /^#undef VARIANT/ { inside = 0; next }
		inside { sub(/ \\$/, ""); body[++height] = $0; next }
		{ own[++count] = $0; declared($0) }
		/^\/\/#/ && !at { at = count; many = split(substr($0, 4), files, " ") }
		END {
			for (f = 1; f <= many; f++) for (i = 1; i <= lines[files[f]]; i++) declared(library[files[f], i])
			for (i = 1; i <= count; i++) {
				if (i != at) print own[i]
				else for (f = 1; f <= many; f++) for (j = 1; j <= lines[files[f]]; j++) print only(library[files[f], j])
			}
		}' generated/library.metal "$1"
}

for folder in generated/*/; do bundles "$folder" | sed "s|^|$folder |"; done >"$work/bundles"
while read -r folder bundle class act layer; do
	if [ "$class" != - ] && [ "$class" != apple ]; then continue; fi
	file=${bundle%"${class#-}"}
	[ "$act" = f32 ] || file=${file%"$act"}
	file=${file%"${layer#-}"}
	# The text that the runtime has: which type activations are, what the bundle has of the
	# library, and its kernels.
	source=$work/$bundle.metal
	if [ "$act" = f16 ]; then echo '#define MLA_ACT half' >"$source"; else : >"$source"; fi
	whole "$folder$file${class#-}.metal" >>"$source"
	library=$bundle-$(hash_of "$source").metallib
	# As the runtime compiles: version 3.1, macOS 14, arithmetic as written and precise
	# functions, both of which -fno-fast-math asks for. That nothing is contracted is a
	# pragma in the source.
	std=metal3.1 macos=14.0
	case ${METAL_STD:-} in
	'' | metal3.1) ;;
	metal3.2) std=metal3.2 macos=15.0 ;;
	metal4.0) std=metal4.0 macos=26.0 ;;
	*) echo "METAL_STD=$METAL_STD: the kernels need metal3.1 or later; known are metal3.1, metal3.2 and metal4.0" >&2; exit 1 ;;
	esac
	xcrun -sdk macosx metal -std=$std -mmacosx-version-min=$macos -fno-fast-math -c "$source" -o "$work/$bundle.air"
	xcrun -sdk macosx metallib "$work/$bundle.air" -o "$work/$library"
	mv "$work/$library" "$out/$library"
	echo "$out/$library"
done <"$work/bundles"
