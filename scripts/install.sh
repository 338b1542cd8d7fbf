#!/bin/sh
# Copies the programs in $BIN with their manual pages and completions below a folder:
# scripts/install.sh PREFIX; scripts/install.sh -remove PREFIX removes these files alone.
set -eu
remove=
if [ "$1" = -remove ]; then
	remove=yes
	shift
fi
prefix=$1

# put MODE FILE installs what comes on standard input, in one step.
put() {
	file="$prefix/$2"
	if [ -n "$remove" ]; then
		rm -f "$file"
		return
	fi
	mkdir -p "$(dirname "$file")"
	cat >"$file.new"
	chmod "$1" "$file.new"
	mv "$file.new" "$file"
}

for program in mlarun mlagen; do
	put 755 "bin/$program" <"$BIN/$program"
	"$BIN/$program" man | put 644 "share/man/man1/$program.1"
	"$BIN/$program" completion bash | put 644 "share/bash-completion/completions/$program"
	"$BIN/$program" completion zsh | put 644 "share/zsh/site-functions/_$program"
	"$BIN/$program" completion fish | put 644 "share/fish/vendor_completions.d/$program.fish"
done
for kernels in "$BIN"/*.ptx.gz; do # for NVIDIA GPUs, where `make ptx` made them
	if [ -e "$kernels" ]; then put 644 "share/mla/$(basename "$kernels")" <"$kernels"; fi
done
[ -z "$remove" ] || exit 0
echo "installed mlarun and mlagen in $prefix/bin"
# What shells do not look at by themselves, as on macOS: the user has to say it once.
case ":$PATH:" in
*":$prefix/bin:"*) ;;
*) echo "$prefix/bin is not in your PATH. Add to your shell's profile: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
if command -v zsh >/dev/null 2>&1; then
	folder=$prefix/share/zsh/site-functions
	# shellcheck disable=SC2016
	zsh -c 'print -l $fpath' 2>/dev/null | grep -qxF "$folder" ||
		echo "zsh completes after this line in ~/.zshrc, in front of compinit: fpath=($folder \$fpath)"
fi
if ! ls /usr/share/bash-completion/bash_completion /etc/bash_completion /opt/homebrew/etc/profile.d/bash_completion.sh /usr/local/etc/profile.d/bash_completion.sh >/dev/null 2>&1; then
	echo "bash completes after this line in ~/.bashrc: for f in mlarun mlagen; do . $prefix/share/bash-completion/completions/\$f; done"
fi
