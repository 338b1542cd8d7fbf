#!/usr/bin/env python3
"""Draws docs/performance.svg from docs/performance.json: tokens per second at each
depth, this project beside llama.cpp. Run it after the figures have changed."""
import json
import pathlib

HERE = pathlib.Path(__file__).parent
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 760, 320, 60, 60, 40
COLOURS = {"mla": "#2a6f97", "llama.cpp": "#c9ada7"}

rows = [r for r in json.loads((HERE / "performance.json").read_text()) if r["quant"] == "q4_0" and r["act"] == "f16" and "test" not in r]
models = list(dict.fromkeys(r["model"] for r in rows))
scale = (HEIGHT - BOTTOM - TOP) / max(r["tok_s"] for r in rows)
slot = (WIDTH - LEFT - 10) / len(rows)
out = [
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
    '<rect width="100%" height="100%" fill="white"/>',
    f'<text x="{LEFT}" y="20">decode, tok/s, batch 1, Q4_0, half activations, one NVIDIA H200</text>',
]
for i, (name, colour) in enumerate(COLOURS.items()):
    x = WIDTH - 200 + i * 90
    out.append(f'<rect x="{x}" y="10" width="12" height="12" fill="{colour}"/><text x="{x + 16}" y="20">{name}</text>')
for tick in range(0, 1101, 100):
    y = HEIGHT - BOTTOM - tick * scale
    if y >= TOP:
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                   f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick}</text>')
for i, r in enumerate(rows):
    x = LEFT + i * slot
    for j, (value, colour) in enumerate(zip((r["tok_s"], r["llamacpp_tok_s"]), COLOURS.values())):
        height = value * scale
        out.append(f'<rect x="{x + 8 + j * slot * 0.38:.1f}" y="{HEIGHT - BOTTOM - height:.1f}" width="{slot * 0.36:.1f}" height="{height:.1f}" fill="{colour}"/>')
    out.append(f'<text x="{x + slot / 2:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{r["depth"]:,}</text>')
for i, model in enumerate(models):
    x = LEFT + (i + 0.5) * slot * len(rows) / len(models)
    out.append(f'<text x="{x:.1f}" y="{HEIGHT - 22}" text-anchor="middle" font-weight="bold">{model}</text>')
out.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 6}" text-anchor="middle">tokens in the cache before</text></svg>')
(HERE / "performance.svg").write_text("\n".join(out) + "\n")
