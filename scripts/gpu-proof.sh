#!/usr/bin/env bash
# Everything that wants a real NVIDIA GPU, in one call: scripts/gpu-proof.sh OUT
#
# Needs the two commands with the kernels of all bundles: it builds them where Go is
# (make ptx build TAGS=); elsewhere they were built before, in bin or where MLARUN and MLAGEN
# say. Needs python3 with numpy, and for the last step NVIDIA's compute-sanitizer. Random models of real
# shapes are made in $MODELS (default: a folder that is removed at the end).
# The report goes to OUT/report.txt; the exit status is 1 if anything is wrong.
# Steps and the sanitizer's tools run side by side: on 16 cores that takes a third of
# the time. STEPS and TOOLS say which, REAL which models of real shapes.
set -uo pipefail
cd "$(dirname "$0")/.."

out=${1:?usage: gpu-proof.sh OUT}
run=${MLARUN:-bin/mlarun}
gen=${MLAGEN:-bin/mlagen}
models=${MODELS:-$(mktemp -d)}
[ -n "${MODELS:-}" ] || trap 'rm -rf "$models"' EXIT
steps=${STEPS:-references act16 kernels replays stress sanitizer}
real=${REAL:-youtu2b deepseekv2lite glm47flash}
tools=${TOOLS:-memcheck racecheck initcheck synccheck}
mkdir -p "$out" "$models"
report=$out/report.txt
: >"$report"

say() { printf '%s\n' "$*" | tee -a "$report"; }
wrong() { say "WRONG: $*"; }

# The file of real shapes with random weights that prepare made.
model() { echo "$models/$1.gguf"; }

prepare() {
	if [ -z "${MLARUN:-}${MLAGEN:-}" ] && command -v go >/dev/null; then
		make ptx build TAGS= >/dev/null || { wrong "make ptx build TAGS="; exit 1; }
	fi
	if lacking=$("$run" doctor -device cuda -n 0 -t 1ns | grep 'not made: .*make ptx'); then
		wrong "$run was built without some kernels: $lacking"
		exit 1
	fi
	for name in $real; do
		"$gen" synth -f -spec "specs/$name.yaml" -quant "${QUANT:-q4_0}" -o "$(model "$name")" >/dev/null || wrong "no file of $name"
	done
}

# Logits of the reference files and the shipped models against the recorded ones.
# Tolerances as in the tests: 1e-3 with an f32 cache, 0.05 with an f16 cache.
references() {
	for file in testdata/reference/*.gguf testdata/*.gguf; do
		for kv in f32 f16; do
			tokens=$(sed -n 's/^prompt //p' "${file%.gguf}.tokens" | tr ' ' ',')
			"$run" logits -quiet -device cuda -kv $kv -model "$file" -tokens "$tokens" -o "$models/references.npy" &&
				python3 - "${file%.gguf}" $kv "$models/references.npy" <<'P' >>"$report" || wrong "$file, $kv cache"
import sys
import numpy as np
stem, kv, path = sys.argv[1:]
got, want = np.load(path), np.load(stem + ".logits.npy")
worst = float(np.abs(got.reshape(want.shape) - want).max())
print(f"logits {stem.split('/')[-1]}, {kv} cache: {len(want)} rows, largest difference {worst:.2g}")
sys.exit(not worst <= (1e-3 if kv == "f32" else 0.05))
P
		done
	done
}

# Activations in half, for every file that has a bundle with them: each kernel that it
# needs against its Go reference, then whole tokens, see act16.py.
act16() {
	for file in testdata/reference/*.gguf testdata/*.gguf; do
		"$run" inspect "$file" | grep -q '^With -act f16' || continue
		log=$out/act16.$(basename "$file" .gguf).txt
		"$run" doctor -device cuda -n 0 -act f16 -model "$file" >"$log" 2>&1 || wrong "kernels of $file with -act f16, see $(basename "$log")"
		say "act f16 $(basename "$file"): $(sed -n 's/^ *\([0-9]* launches checked\)/\1/p' "$log")"
		for kv in f32 f16; do
			python3 scripts/act16.py "$run" "${file%.gguf}" $kv "$models" 2>&1 | tee -a "$report"
			[ "${PIPESTATUS[0]}" = 0 ] || wrong "$file, $kv cache, -act f16"
		done
	done
}

# Every variant of every kernel against its Go reference.
kernels() {
	"$run" doctor -device cuda -n 0 -t "${SECONDS_FOR_KERNELS:-300s}" >"$out/doctor.txt" 2>&1 || wrong "doctor, see doctor.txt"
	grep -E 'launches checked|^result' "$out/doctor.txt" | tee -a "$report"
}

# The same 1,000 tokens three times, with the logits' bits, and with the sampler
# on either side.
replays() {
	for name in $real; do
		file=$(model "$name")
		for round in 1 2 3; do
			"$run" -quiet -device cuda -model "$file" -p 'Once upon a time' -n 1000 -temp 0.8 -seed 5 -ahead $((round * 4 - 4)) >"$models/text.$round" 2>>"$report" ||
				wrong "1,000 tokens of $name"
		done
		cmp "$models/text.1" "$models/text.2" && cmp "$models/text.1" "$models/text.3" &&
			say "replays $name: 1,000 tokens, three times the same text (the CPU picks, then the GPU 4 and 8 ahead)" || wrong "replays of $name differ"
	done
}

# A million replays of a token, bit by bit: what depends on the order of threads or
# dispatches shows, if it is often enough. Two tokens take turns.
stress() {
	set -- testdata/*.gguf testdata/reference/*-mini-*.gguf
	for file in "$@"; do
		"$run" doctor -quiet -device cuda -stress $((${REPLAYS:-1000000} / $#)) -model "$file" >"$out/stress.$(basename "$file" .gguf).txt" 2>&1 || wrong "stress of $file"
		grep -hE '^  stress|replays|differ|FAILED' "$out/stress.$(basename "$file" .gguf).txt" | tee -a "$report"
	done
}

# compute-sanitizer on whole tokens: the small models, and the real widths.
sanitizer() {
	command -v compute-sanitizer >/dev/null || { wrong "compute-sanitizer is not installed"; return; }
	files=$(ls testdata/reference/*-mini-*.gguf testdata/*.gguf)
	for name in $real; do files="$files $(model "$name")"; done
	for tool in $tools; do sanitize "$tool" "$files" & done
	wait
}

# sanitize TOOL FILES runs one of the sanitizer's tools.
sanitize() {
	for file in $2; do
		log=$out/$1.$(basename "$file" .gguf).txt
		timeout "${SECONDS_FOR_A_FILE:-300}" compute-sanitizer --tool "$1" --error-exitcode 9 "$run" -quiet -device cuda -ahead 2 -model "$file" -p 'func' -n 3 -temp 0.8 >"$log" 2>&1
		status=$?
		say "$1 $(basename "$file"): $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -1), exit $status"
		[ $status = 0 ] || wrong "$1 on $file, see $(basename "$log")"
	done
}

say "$(date -u +%F) $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null)"
prepare
for step in $steps; do
	(
		report=$out/$step.txt
		: >"$report"
		$step
	) >/dev/null &
done
wait
for step in $steps; do
	say "== $step"
	tee -a "$report" <"$out/$step.txt"
done
failed=$(grep -c '^WRONG' "$report")
say "$([ "$failed" = 0 ] && echo 'all right' || echo "$failed wrong")"
[ "$failed" = 0 ]
