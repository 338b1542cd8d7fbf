#!/usr/bin/env python3
"""Speed on an NVIDIA GPU at real shapes with random weights.

    scripts/gpu-bench.py OUT [--models youtu2b,...] [--quants q4_0,q4_k_m] [--acts f16,f32]
                             [--depths 0,4096,32768] [--kernels-at 64,32768] [--rounds 5]
                             [--steps load,decode,prompts,batches,caches,kernels]
                             [--llama-bench FILE] [--bin FOLDER] [--files FOLDER] [--commit ID]
    scripts/gpu-bench.py --prepare FOLDER [--models …] [--quants …] [--acts …]

Builds the two commands with the kernels of all bundles first where Go is (make ptx
build); elsewhere, and with --bin, they were built before. With --prepare they are built, with
bundle files of what is measured alone, so that they can be carried to such a machine as --bin;
that needs Go and clang-19.

Makes a file for every model and quantisation (mlagen synth), and on it measures, one
after the other on the same GPU:

* tokens per second (mlarun bench), and with --llama-bench those of llama.cpp's own
  llama-bench: OUT/speed.json, the rows of docs/performance.json;
* prompts, also deep in a context, 1 to 16 sessions side by side, and one session with a cache
  of halves beside one of bytes, with the first of --acts, in the same table;
* every kind of dispatch inside a replayed graph, with the first of --acts:
  OUT/kernels-MODEL-QUANT-ACT.md, and of batches and prompts OUT/kernels-MODEL-QUANT-ACT-rows.md;
* how long loading takes beside reading the file from the disk cache, and the peak
  of host memory: OUT/load.json.

All rows are written as they come, so a run that is cut short keeps what it has. The
rows before a depth are left empty (bench -empty): attention reads as many bytes, and
no minutes go into prompts. llama-bench runs its prompts.
"""
import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import gpu_bundles
import gpu_table


def arguments():
    split = lambda text: text.split(",")
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("out", nargs="?")
    a.add_argument("--prepare", metavar="FOLDER")
    a.add_argument("--models", type=split, default=split("youtu2b,deepseekv2lite,glm47flash"))
    a.add_argument("--quants", type=split, default=split("q4_0,q4_k_m"))
    a.add_argument("--acts", type=split, default=split("f16,f32"))
    a.add_argument("--depths", default="0,4096,32768")
    a.add_argument("--kernels-at", default="64,32768")
    a.add_argument("--rounds", default="5")
    a.add_argument("--steps", type=split, default=list(STEPS))
    a.add_argument("--llama-bench")
    a.add_argument("--bin", help="folder of mlarun and mlagen (default: bin, built anew where Go is)")
    a.add_argument("--files", help="folder for the files that are made (default: one that is removed)")
    a.add_argument("--commit", help="what the commands were built from, for the rows of speed.json")
    o = a.parse_args()
    if (o.out is None) == (o.prepare is None):
        a.error("give either OUT or --prepare FOLDER")
    return o


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def llama_cpp(o, path):
    """Tokens per second at each depth, by llama-bench; none without it."""
    if not o.llama_bench:
        return {}
    lines = output(o.llama_bench, "-m", path, "-ngl", "99", "-p", "0", "-n", "128", "-r", "2", "-d", o.depths, "-o", "jsonl").splitlines()
    rows = [json.loads(line) for line in lines if line.startswith("{")]
    if any("CUDA" not in r["backends"] for r in rows):
        sys.exit(f"{o.llama_bench} runs without CUDA: {rows[0]['backends']}")
    return {r["n_depth"]: round(r["avg_ts"], 1) for r in rows}


def speed(o, table, model, quant, path):
    other = llama_cpp(o, path)
    for act in o.acts:
        command = f"bench -act {act} -device cuda -p 0 -n 256 -r {o.rounds} -empty -d {o.depths}"
        for r in json.loads(output(f"{o.bin}/mlarun", *command.split(), "-quiet", "-model", path, "-o", "json")):
            table.add({"model": model, "quant": quant, "act": act, "depth": r["depth"], "tok_s": round(r["tok_s"], 1), "sd": round(r["sd"], 2),
                       "llamacpp_tok_s": other.get(r["depth"]),
                       "command": f"mlarun {command} -model {model}-{quant}.gguf"})


def several(o, table, model, quant, path, commands):
    """Rows of prompts, of sessions side by side and of caches."""
    for options in commands:
        command = f"bench -device cuda -act {o.acts[0]} {options}"
        for r in json.loads(output(f"{o.bin}/mlarun", *command.split(), "-quiet", "-model", path, "-o", "json")):
            table.add({"model": model, "quant": quant, "act": o.acts[0], "test": r["test"], "depth": r["depth"], "batch": r["batch"], "kv": r["kv"], "tok_s": round(r["tok_s"], 1),
                       "sd": round(r["sd"], 2), "command": f"mlarun {command}"})


PROMPTS = ["-p 512 -n 0 -d 0 -r 3", "-p 2048 -n 0 -d 0 -r 3", "-p 4096 -n 0 -d 0 -r 2", "-p 2048 -n 0 -d 16384,30720 -empty -r 2"]
BATCHES = ["-p 0 -n 64 -d 512 -empty -batch 1,2,4,8,16 -r 2"]
CACHES = [f"-kv {kv} -p 0 -n 256 -d 4096,32768 -empty -r 3" for kv in ("f16", "q8_0")]


def kernels(o, model, quant, path):
    act = o.acts[0]
    for suffix, options in ("", f"-d {o.kernels_at}"), ("-rows", "-width 2 -d 512"), ("-rows", "-width 8 -d 512"), ("-rows", "-width 16 -d 512"), ("-rows", "-width 512 -d 0"), ("-rows", "-width 2048 -d 0,16384"):
        command = f"bench -act {act} -device cuda -kernels {options}"
        title, tables = output(f"{o.bin}/mlarun", *command.split(), "-quiet", "-model", path).split("\n", 1)
        name = f"{o.out}/kernels-{model}-{quant}-{act}{suffix}.md"
        with open(name, "a" if suffix and os.path.exists(name) else "w") as f:
            commit = f", commit {o.commit}" if o.commit else ""
            f.write(f"{title}. {datetime.date.today()}{commit}, `mlarun {command}`\n{tables}")


# What is measured on each file, in this order.
STEPS = {
    "load": lambda o, speeds, loads, *file: load(o, loads, *file),
    "decode": lambda o, speeds, loads, *file: speed(o, speeds, *file),
    "prompts": lambda o, speeds, loads, *file: several(o, speeds, *file, PROMPTS),
    "batches": lambda o, speeds, loads, *file: several(o, speeds, *file, BATCHES),
    "caches": lambda o, speeds, loads, *file: several(o, speeds, *file, CACHES),
    "kernels": lambda o, speeds, loads, *file: kernels(o, *file),
}


def load(o, table, model, quant, path):
    start = time.monotonic()
    subprocess.run(["cat", path], check=True, stdout=subprocess.DEVNULL)
    read = time.monotonic() - start
    child = subprocess.Popen([f"{o.bin}/mlarun", "-v", "-device", "cuda", "-model", path, "-p", "a", "-n", "1"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"mlarun -v: {said}")
    table.add({"model": model, "quant": quant, "file_bytes": os.path.getsize(path), "cat_s": round(read, 2),
               "load_s": float(re.search(r"load ([0-9.]+) s", said)[1]), "peak_bytes": usage.ru_maxrss * 1024})


def build(o):
    """Makes the commands, and refuses those without the kernels of a bundle."""
    if not o.bin and shutil.which("go"):
        subprocess.run(["make", "ptx", "build"], check=True, stdout=subprocess.DEVNULL)
    o.bin = o.bin or "bin"
    carried = [m for m in o.models if os.path.exists(bundle(o, m))]
    report = subprocess.run([f"{o.bin}/mlarun", "doctor", "-device", "cuda", "-t", "1ns"], stdout=subprocess.PIPE, text=True).stdout
    names = [m for m in o.models if m not in carried]
    lacking = [line for line in report.splitlines() if names and "make ptx" in line and ("none of" in line or any(m in line for m in names))]
    if lacking:
        sys.exit("\n".join(lacking))


def bundle(o, model):
    """The bundle file that --prepare made."""
    return f"{o.bin}/{model}.mla"


def measure(o):
    os.makedirs(o.out, exist_ok=True)
    speeds, loads = (gpu_table.Table(f"{o.out}/{name}.json", o.commit) for name in ("speed", "load"))
    for model in o.models:
        for quant in o.quants:
            path = f"{o.files}/{model}-{quant}.gguf"
            if not os.path.exists(path):
                output(f"{o.bin}/mlagen", "synth", "-f", "-spec", f"specs/{model}.yaml", "-quant", quant, "-o", path)
            if os.path.exists(bundle(o, model)):
                shutil.copyfile(bundle(o, model), path.removesuffix(".gguf") + ".mla")
            for step in o.steps:
                STEPS[step](o, speeds, loads, model, quant, path)
            os.remove(path)


def main():
    o = arguments()
    o.out, o.prepare = [path and os.path.abspath(path) for path in (o.out, o.prepare)]
    os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/..")
    if o.prepare:
        return gpu_bundles.prepare(o.prepare, o.models, o.quants, o.acts)
    build(o)
    with tempfile.TemporaryDirectory() as folder:
        o.files = o.files or folder
        measure(o)


main()
