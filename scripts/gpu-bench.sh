#!/usr/bin/env bash
# Speed on an NVIDIA GPU at real shapes with random weights: scripts/gpu-bench.sh OUT
#
# Writes OUT/speed.json, a list of {model, quant, act, depth, tok_s, sd, date,
# command}, and OUT/kernels-MODEL-QUANT-ACT.md, every kind of dispatch inside a replayed
# graph. MODELS, MLARUN, MLAGEN, REAL as in gpu-proof.sh; QUANTS, ACTS and DEPTHS say
# what is measured. The rows before a depth are left empty (bench -empty): attention
# reads as many bytes, and no minutes go into prompts.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:?usage: gpu-bench.sh OUT}
run=${MLARUN:-bin/mlarun}
gen=${MLAGEN:-bin/mlagen}
models=${MODELS:-$(mktemp -d)}
[ -n "${MODELS:-}" ] || trap 'rm -rf "$models"' EXIT
mkdir -p "$out" "$models"

rows=
for name in ${REAL:-youtu2b deepseekv2lite glm47flash}; do
	for quant in ${QUANTS:-q4_0 q4_k_m}; do
		file=$models/$name.gguf
		"$gen" synth -spec "specs/$name.yaml" -quant "$quant" -o "$file" >/dev/null
		for act in ${ACTS:-f32 f16}; do
			command="bench -device cuda -act $act -p 0 -n 256 -r 5 -empty -d ${DEPTHS:-0,4096,32768}"
			# shellcheck disable=SC2086
			"$run" $command -quiet -model "$file" -o json >"$models/speed.json"
			rows="$rows$(python3 - "$name" "$quant" "$command" "$models/speed.json" <<'P'
import datetime, json, sys
name, quant, command, path = sys.argv[1:]
for r in json.load(open(path)):
    print(json.dumps({"model": name, "quant": quant, "act": r["act"], "depth": r["depth"], "tok_s": round(r["tok_s"], 1), "sd": round(r["sd"], 2),
                      "date": datetime.date.today().isoformat(), "command": f"mlarun {command} -model {name}-{quant}.gguf"}))
P
)"$'\n'
			"$run" bench -device cuda -act "$act" -kernels -d "${KERNELS_AT:-0,32768}" -quiet -model "$file" >"$out/kernels-$name-$quant-$act.md"
		done
		rm "$file"
	done
done
printf '%s' "$rows" | python3 -c 'import json, sys; print("[\n  " + ",\n  ".join(l.strip() for l in sys.stdin if l.strip()) + "\n]")' | tee "$out/speed.json"
