#!/bin/sh
# Brings the libraries of the server's page into the repository, from npm: KaTeX for maths and
# highlight.js for code. Versions are fixed here. Of KaTeX's fonts only those come along that
# answers of models use, in one format; its style sheet loses the others.
#
# Usage: scripts/page-vendor.sh [FOLDER]   (default: where the page has them)
set -eu
katex=0.19.1
highlight=11.12.0
out=${1:-runtime/serve/server/page/vendor}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

(cd "$work" && npm pack --silent "katex@$katex" "@highlightjs/cdn-assets@$highlight" >/dev/null)
for name in katex highlightjs-cdn-assets; do
	mkdir "$work/$name"
	tar -xzf "$work/$name"-[0-9]*.tgz -C "$work/$name" --strip-components=1
done
rm -rf "$out"
mkdir -p "$out/fonts"
gzip -9 -n -c "$work/katex/dist/katex.min.js" >"$out/katex.js.gz"
gzip -9 -n -c "$work/highlightjs-cdn-assets/es/highlight.min.js" >"$out/highlight.js.gz"
cp "$work/katex/LICENSE" "$out/katex.LICENSE"
cp "$work/highlightjs-cdn-assets/LICENSE" "$out/highlight.LICENSE"
fonts="AMS-Regular Caligraphic-Regular Fraktur-Regular Main-Bold Main-Italic Main-Regular Math-BoldItalic Math-Italic
	SansSerif-Regular Script-Regular Size1-Regular Size2-Regular Size3-Regular Size4-Regular Typewriter-Regular"
for f in $fonts; do
	cp "$work/katex/dist/fonts/KaTeX_$f.woff2" "$out/fonts/"
done
# One rule a line; a rule of a font stays if its file is there.
sed 's/}/}\n/g' "$work/katex/dist/katex.min.css" | while IFS= read -r rule; do
	file=$(printf '%s' "$rule" | sed -n 's/.*url(\(fonts\/[A-Za-z0-9_-]*\.woff2\)).*/\1/p')
	[ -z "$file" ] || [ -e "$out/$file" ] || continue
	printf '%s\n' "$rule" | sed 's/,url([^)]*\.\(woff\|ttf\)) format("[a-z]*")//g'
done >"$out/katex.css"
chmod 644 "$out"/* "$out"/fonts/* && chmod 755 "$out/fonts"
