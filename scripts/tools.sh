#!/bin/sh
# Makes sure that what tests need is there: scripts/tools.sh test|prove
#
# test:  clang-19 (the strict MSL front end, the executor and the simulators), its sanitizer
#        libraries and a C++ compiler's headers.
# prove: also a C compiler (the race detector links with it), Chromium or Chrome (the server's
#        page and that of mlagen describe -html) and Node with npm (clients in JavaScript); on
#        x86-64 Linux a cross compiler's headers and libraries for arm64 and an emulator, too.
#
# On Debian the script installs what is missing; elsewhere it names it and fails.
set -eu
tier=${1:?usage: tools.sh test|prove}

missing=""
have() { command -v "$1" >/dev/null 2>&1; }

clang=""
for name in "${CXX:-clang++-19}" clang++-19 /opt/homebrew/opt/llvm/bin/clang++ /usr/local/opt/llvm/bin/clang++; do
	if have "$name"; then clang="$name"; fi
done
[ -n "$clang" ] || missing="clang-19"
case "$(uname -s)" in
Linux)
	ls /usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.asan* >/dev/null 2>&1 || missing="$missing libclang-rt-19-dev"
	have g++ || missing="$missing g++"
	;;
esac

if [ "$tier" = prove ]; then
	have cc || have gcc || missing="$missing gcc libc6-dev"
	browser=""
	for name in chromium chromium-browser google-chrome google-chrome-stable /Applications/Chromium.app /Applications/Google\ Chrome.app; do
		if have "$name" || [ -d "$name" ]; then browser="$name"; fi
	done
	[ -n "$browser" ] || missing="$missing chromium"
	have node || missing="$missing nodejs"
	have npm || missing="$missing npm"
	if [ "$(uname -sm)" = "Linux x86_64" ]; then
		have aarch64-linux-gnu-g++ || missing="$missing g++-aarch64-linux-gnu"
		have qemu-aarch64 || missing="$missing qemu-user"
	fi
fi
[ -n "$missing" ] || exit 0

as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"
if have apt-get && { [ -z "$as_root" ] || have sudo; }; then
	echo "installing $missing" >&2
	$as_root apt-get update -qq
	# shellcheck disable=SC2086
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
	exit 0
fi
echo "make $tier needs: $missing" >&2
echo "Debian: apt-get install $missing    macOS: brew install llvm node; brew install --cask chromium" >&2
exit 1
