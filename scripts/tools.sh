#!/bin/sh
# Makes sure that the tools the tests need are there: clang-19 (the strict MSL
# front end, the executor and the simulator), its sanitizer libraries, a C++
# compiler's headers (which the race detector's linking needs too), and Chromium or Chrome,
# which open the server's page and that of mlagen describe -html, and Node with npm, for
# OpenAI's client in JavaScript; on x86-64
# Linux also a cross compiler's headers and libraries for arm64 and an emulator
# (make arm64). Installs them on Debian, names them elsewhere.
set -eu

missing=""
command -v clang-19 >/dev/null 2>&1 || command -v /opt/homebrew/opt/llvm/bin/clang >/dev/null 2>&1 || missing="clang-19"
case "$(uname -s)" in
Linux) ls /usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.asan* >/dev/null 2>&1 || missing="$missing libclang-rt-19-dev" ;;
esac
command -v g++ >/dev/null 2>&1 || command -v clang++ >/dev/null 2>&1 || missing="$missing g++"
command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 || missing="$missing gcc libc6-dev"
browser=""
for name in chromium chromium-browser google-chrome google-chrome-stable /Applications/Chromium.app /Applications/Google\ Chrome.app; do
	if command -v "$name" >/dev/null 2>&1 || [ -d "$name" ]; then browser="$name"; fi
done
[ -n "$browser" ] || missing="$missing chromium"
command -v node >/dev/null 2>&1 || missing="$missing nodejs"
command -v npm >/dev/null 2>&1 || missing="$missing npm"
case "$(uname -sm)" in
"Linux x86_64")
	command -v aarch64-linux-gnu-g++ >/dev/null 2>&1 || missing="$missing g++-aarch64-linux-gnu"
	command -v qemu-aarch64 >/dev/null 2>&1 || missing="$missing qemu-user"
	;;
esac
[ -n "$missing" ] || exit 0

as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"
if command -v apt-get >/dev/null 2>&1 && { [ -z "$as_root" ] || command -v sudo >/dev/null 2>&1; }; then
	echo "installing $missing" >&2
	$as_root apt-get update -qq
	# shellcheck disable=SC2086
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
	exit 0
fi
echo "the tests need: $missing" >&2
echo "Debian: apt-get install $missing    macOS: brew install llvm node; brew install --cask chromium" >&2
exit 1
