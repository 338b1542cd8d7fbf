#!/bin/sh
# Makes what goes beside the programs into a package: scripts/extras.sh FOLDER makes
# FOLDER/man, FOLDER/completions, FOLDER/licenses (the texts of all dependencies, for
# every system that is released) and, after make ptx, FOLDER/mla_nvidia_kernels.tar. VERSION is the version that manual pages name.
set -eu
cd "$(dirname "$0")/.."
out=${1:?usage: extras.sh FOLDER}
go=${GO:-go}
rm -rf "$out"
mkdir -p "$out/man" "$out/completions"
CGO_ENABLED=0 "$go" build -tags release -ldflags "-s -w -X mla/runtime/system/buildinfo.version=${VERSION:-}" -o "$out/bin/" ./cmd/mlarun ./cmd/mlagen
for program in mlarun mlagen; do
	"$out/bin/$program" man >"$out/man/$program.1"
	"$out/bin/$program" completion bash >"$out/completions/$program.bash"
	"$out/bin/$program" completion zsh >"$out/completions/_$program"
	"$out/bin/$program" completion fish >"$out/completions/$program.fish"
done
rm -rf "$out/bin"
# The kernels for NVIDIA GPUs that `make ptx` made: a file of its own, to unpack beside mlarun.
if ls generated/*/*.ptx.gz >/dev/null 2>&1; then
	tar --sort=name --owner=0 --group=0 --numeric-owner --mode=0644 --mtime="@$(git log -1 --format=%ct)" \
		--transform='s|.*/||' -cf "$out/mla_nvidia_kernels.tar" generated/*/*.ptx.gz
else
	echo "extras: without mla_nvidia_kernels.tar, as make ptx has not run" >&2
fi
GO="$go" sh scripts/licenses.sh save "$out/licenses"
