#!/usr/bin/env python3
"""What the server costs and what it saves on an NVIDIA GPU, at real shapes with random weights.

    scripts/gpu-serve.py OUT [--bin FOLDER] [--files FOLDER] [--steps one,batch,...]
                             [--models youtu2b,glm47flash] [--limit 560] [--schedule 10000]
                             [--commit ID] [--device cuda] [--small]
    scripts/gpu-serve.py --prepare FOLDER

The second form needs Go and clang-19. It makes all that the first one takes from --bin: mlarun,
mlagen, serveload, and of each model a spec and a bundle file for Q4_0 and f16 activations with
kernels for NVIDIA GPUs; GLM-4.7-Flash's has the layer that predicts. The first form needs
neither; without --bin it prepares bin/serve.

Makes a file of each model (mlagen synth), and then, each step within a time of its own and all
within --limit seconds:

* references: the kernels of all rows that the model needs, each against its Go reference (mlarun doctor);
* one: a single stream beside mlarun bench;
* batch: 32 streams beside mlarun bench -batch 32;
* arrivals: how long a request waits for its first token that comes while 8 decode, and how
  long those wait between their tokens;
* prefix: the first token of a prompt of 32,768 tokens that was asked before;
* drafts: guesses by n-grams, on a text that repeats and on texts that do not;
* mtp: what a guess of the layer that predicts costs, and how many have to be right;
* restore: a prompt of 32,768 tokens from its file;
* one-on-host: one, where the host takes part in every token (-ahead 0);
* arrivals-8-rows: arrivals, with 8 rows of prompts beside 8 streams (-prompt-rows 8), as many as
  a replay of 16 rows has room for;
* schedule: steps of a random schedule twice, bit by bit (mlarun doctor -schedule).

Rows go to OUT/serve.json as they come, so a run that is cut short keeps what it has, and what
the programs said to OUT/serve.log. A table is printed last. A step that fails is a row with
its error, and the exit status is 1.

With --small the models are those of testdata, and lengths are small: a run of the script
itself, for any device.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import statistics
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
    a.add_argument("--bin", help="folder that --prepare made")
    a.add_argument("--files", help="folder for the files that are made (default: one that is removed)")
    a.add_argument("--steps", type=split, default=[name for name, *_ in STEPS])
    a.add_argument("--models", type=split, default=list(MODELS))
    a.add_argument("--limit", type=float, default=560, help="seconds for all of it")
    a.add_argument("--schedule", type=int, default=10000, help="steps of the random schedule")
    a.add_argument("--commit", help="what the programs were built from")
    a.add_argument("--device", default="cuda")
    a.add_argument("--small", action="store_true")
    o = a.parse_args()
    if (o.out is None) == (o.prepare is None):
        a.error("give either OUT or --prepare FOLDER")
    unknown = set(o.steps) - {name for name, *_ in STEPS} | set(o.models) - set(MODELS)
    if unknown:
        a.error(f"unknown: {', '.join(unknown)}")
    return o


# The spec of each model, and what is measured with its own file in the place of testdata's.
MODELS = {"youtu2b": "specs/youtu2b.yaml", "glm47flash": "specs/glm47flash.yaml"}
SMALL = "testdata/tinychat.gguf"
QUANT = "q4_0"


def prepare(folder):
    """All that a machine without Go and clang needs."""
    gpu_bundles.prepare(folder, MODELS, [QUANT], ["f16"], ["./scripts/serveload"], ["glm47flash"])


class Failure(Exception):
    """Why a step has no figures."""


class Run:
    """A run: its options, its rows, and how much time is left."""

    def __init__(self, o):
        self.o, self.table, self.end = o, gpu_table.Table(o.out + "/serve.json", o.commit), time.monotonic() + o.limit
        self.log = open(o.out + "/serve.log", "w")
        self.first = 1

    def add(self, **row):
        self.table.add(row)

    def program(self, limit, *command):
        """What a program prints on both outputs; it and all that it has started end in time."""
        limit = min(limit, self.end - time.monotonic())
        if limit < 1:
            raise Failure("no time is left")
        self.log.write(f"$ {' '.join(command)}\n")
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        try:
            out, err = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            raise Failure(f"longer than {limit:.0f} s: {err.strip()[-300:]}")
        finally:
            self.log.flush()
        self.log.write(f"{out}{err}\n")
        if child.returncode:
            raise Failure(f"exit status {child.returncode}: {(out + err).strip()[-300:]}")
        return out, err

    def file(self, model):
        return SMALL if self.o.small else f"{self.o.files}/{model}.gguf"

    def flags(self, model):
        """Flags of mlarun beside the model's."""
        device = ["-device", self.o.device]
        return device if self.o.small else device + ["-act", "f16", "-bundle", f"{self.o.bin}/{model}.mla"]

    def mlarun(self, model, limit, *flags, command=()):
        return self.program(limit, f"{self.o.bin}/mlarun", *command, "-model", self.file(model), *self.flags(model), *flags)

    def figure(self, step, model, figure, values, unit, goal=None, met=None):
        self.add(step=step, model=model, figure=figure, median=statistics.median(values), least=min(values), most=max(values), unit=unit, goal=goal, met=met)


def serveload(test, big, small, name=None, more=()):
    """A step that is a test of serveload's, maybe with more flags of mlarun and a name of its own."""
    def step(r, model, limit):
        flags = r.flags(model)
        out, _ = r.program(limit, f"{r.o.bin}/serveload", "-program", f"{r.o.bin}/mlarun", "-model", r.file(model), "-device", flags[1],
                           "-with", " ".join([*flags[2:], *more]), "-tests", test, "-o", "json", "-threads", str(min(os.cpu_count(), 8)), *(small if r.o.small else big).split())
        for row in json.loads(out):
            row["step"] = name or row["test"]
            del row["test"]
            r.add(model=model, **row)
    return step


def seconds(text):
    """Of a duration as Go or mlarun prints it: 197µs, 1.32ms, 1m2.5s, 272 ms."""
    units = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
    return sum(float(n) * units[u] for n, u in re.findall(r"([0-9.]+) ?(ms|µs|ns|h|m|s)", text))


def found(pattern, text):
    m = re.search(pattern, text)
    if not m:
        raise Failure(f"no {pattern!r} in {text.strip()[-300:]}")
    return m.groups()


def mtp(r, model, limit):
    """Of random weights no guess is right: what a round costs says how many would have to be, and the speed
    beside a run without guesses what trying costs. With f16 activations rounding tells the texts apart."""
    n = 200 if r.o.small else 1500
    per_round, guess, run, alone, even, share, caught, speed, beside = [], [], [], [], [], [], [], [], []
    for seed in range(3):
        flags = ["-v", "-raw", "-ignore-eos", "-p", f"Hello world, this is {seed}", "-n", str(n), "-temp", "0", "-c", str(n + 100)]
        without = float(found(r"generated \d+ tokens, ([0-9.]+) tok/s", r.mlarun(model, limit / 6, *flags)[1])[0])
        _, said = r.mlarun(model, limit / 6, "-draft", "mtp", *flags)
        rate, right, drafted, rounds, to_guess, to_run, single, pays, catching_up = found(
            r"generated \d+ tokens, ([0-9.]+) tok/s · (\d+) of (\d+) drafted tokens right · (\d+) drafts?, each (\S+) to draft and (\S+) to run; a token alone ([^:]+): they pay from (-?[0-9.]+) right a round; (\S+) to catch up", said)
        speed.append(float(rate))
        beside.append(float(rate) / without)
        caught.append(1e3 * seconds(catching_up))
        per_round.append(int(drafted) / int(rounds))
        guess.append(1e3 * seconds(to_guess))
        run.append(1e3 * seconds(to_run))
        alone.append(1e3 * seconds(single))
        even.append(float(pays))
        share.append(100 * float(pays) / per_round[-1])
    each = [(g + t - a) / n for g, t, a, n in zip(guess, run, alone, per_round)]
    for name, values, unit in [("guesses a round", per_round, ""), ("to guess, a round", guess, "ms"), ("to run the round", run, "ms"), ("a token alone", alone, "ms"),
                               ("a verified guess costs", each, "ms"), ("right guesses a round from which they pay", even, ""), ("the same, of all guesses", share, "%"),
                               ("to catch up", caught, "ms"), (f"a text of {n} tokens", speed, "tok/s")]:
        r.figure("mtp", model, name, values, unit)
    median = statistics.median(beside)
    r.figure("mtp", model, "its speed over that of a run without guesses", beside, "×", "≥ 0.97", median >= 0.97)


def restore(r, model, limit):
    """The file is in the disk cache, as it was just written."""
    n = 1000 if r.o.small else 32768
    with tempfile.TemporaryDirectory(dir=r.o.files) as folder:
        text, kept = folder + "/text", folder + "/prompt"
        words = random.Random(1).choices(["river", "green", "seven", "walk", "under", "stone", "light", "paper"], k=n)
        while True: # until it has as many tokens
            with open(text, "w") as f:
                f.write(" ".join(words))
            have = len(r.program(60, f"{r.o.bin}/mlarun", "tokenize", "-model", r.file(model), "-f", text)[0].split())
            if have <= n + n // 50:
                break
            words = words[:max(1, len(words) * n // have)]
        command = ["-v", "-chat=false", "-c", str(have + 64), "-f", text, "-n", "8", "-temp", "0", "-prompt-cache", kept]
        cold = seconds(found(r"first token ([0-9.]+ m?s)", r.mlarun(model, limit / 2, *command)[1])[0])
        took, first = [], []
        for _ in range(3):
            said = r.mlarun(model, limit / 6, *command)[1]
            took.append(seconds(found(r"tokens restored in ([0-9.]+ m?s)", said)[0]))
            first.append(seconds(found(r"first token ([0-9.]+ m?s)", said)[0]))
        size = os.path.getsize(kept)
    r.figure("restore", model, f"first token of a text of {have} tokens", [cold], "s")
    r.figure("restore", model, f"the same, restored from a file of {size} bytes", first, "s")
    median = statistics.median(took)
    r.figure("restore", model, "of that, to restore", took, "s", "≤ 1", median <= 1)


def references(r, model, limit):
    """All kernels, or as many as there is time for."""
    out, _ = r.mlarun(model, limit, "-n", "0", "-t", f"{limit - 20:.0f}s", command=["doctor"])
    checked, of = found(r"(\d+)(?: of (\d+))? launches checked", out)
    r.add(step="references", model=model, figure="launches of kernels that agree with their Go references", median=int(checked), unit="", goal=of or checked, met=not of)


def schedule(r, model, limit):
    steps = min(r.o.schedule, 300) if r.o.small else r.o.schedule
    start = time.monotonic()
    out, _ = r.mlarun(model, limit, "-schedule", str(steps), command=["doctor"])
    what, = found(r"(\d+ requests, .*)", out)
    same = re.search(r"(\d+) steps twice: the same tokens and bits of logits", out)
    r.add(step="schedule", model=model, figure=f"steps that are the same bits twice ({what})", median=int(same[1]) if same else 0, unit="", goal=f"{steps}", met=bool(same), wall_s=round(time.monotonic() - start))


# The steps in their order: name, models, seconds that each may take, and what it does.
BOTH, YOUTU, GLM = list(MODELS), ["youtu2b"], ["glm47flash"]
STEPS = [
    ("references", BOTH, 80, references),
    ("one", BOTH, 90, serveload("one", "-n 512 -r 3", "-n 64 -r 1")),
    ("batch", BOTH, 60, serveload("batch", "-n 128 -r 3 -width 32", "-n 32 -r 1 -width 8")),
    ("arrivals", BOTH, 60, serveload("arrivals", "-n 256 -r 8 -p 64", "-n 96 -r 2 -p 16")),
    ("prefix", BOTH, 90, serveload("prefix", "-prefix 32768 -r 5", "-prefix 1024 -r 2")),
    ("drafts", YOUTU, 90, serveload("drafts", "-n 1000 -r 3", "-n 200 -r 1")),
    ("mtp", GLM, 150, mtp),
    ("restore", GLM, 90, restore),
    ("one-on-host", BOTH, 90, serveload("one", "-n 512 -r 2", "-n 64 -r 1", "one-on-host", ["-ahead", "0"])),
    ("arrivals-8-rows", BOTH, 60, serveload("arrivals", "-n 256 -r 8 -p 64 -prompt-rows 8", "-n 96 -r 2 -p 16 -prompt-rows 8", "arrivals-8-rows")),
    ("schedule", YOUTU, 180, schedule),
]


def make(r):
    """Makes the files, side by side."""
    children = []
    for model in r.o.models:
        if r.o.small or os.path.exists(r.file(model)):
            continue
        children.append(subprocess.Popen([f"{r.o.bin}/mlagen", "synth", "-f", "-spec", f"{r.o.bin}/{model}.yaml", "-quant", QUANT, "-o", r.file(model)], stdout=subprocess.DEVNULL))
    for child in children:
        if child.wait(timeout=max(1, r.end - time.monotonic())):
            sys.exit("mlagen synth failed")


def measure(r):
    start = time.monotonic()
    make(r)
    print(f"files: {time.monotonic() - start:.0f} s", flush=True)
    for name, models, limit, step in STEPS:
        for model in models:
            if name not in r.o.steps or model not in r.o.models:
                continue
            start = time.monotonic()
            try:
                step(r, model, limit)
            except (Failure, ValueError) as err:
                r.add(step=name, model=model, error=str(err))
            print(f"{name} {model}: {time.monotonic() - start:.0f} s", flush=True)


def table(rows):
    print("\n| step | model | figure | median | least to greatest | goal | |\n|---|---|---|---:|---|---|---|")
    for row in rows:
        if "error" in row:
            print(f"| {row['step']} | {row['model']} | FAILED: {' '.join(row['error'].split())} | | | | |")
            continue
        met = {True: "met", False: "missed"}.get(row.get("met"), "")
        spread = f"{row['least']:.4g} to {row['most']:.4g}" if "least" in row else ""
        print(f"| {row['step']} | {row['model']} | {row['figure']} | {row['median']:.4g} {row['unit']} | {spread} | {row.get('goal') or ''} | {met} |")


def main():
    o = arguments()
    o.out = o.out and os.path.abspath(o.out)
    o.bin, o.prepare = (folder and os.path.abspath(folder) for folder in (o.bin, o.prepare))
    os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/..")
    if o.prepare or not o.bin:
        o.bin = o.prepare or os.path.abspath("bin/serve")
        prepare(o.bin)
    if o.prepare:
        return
    os.makedirs(o.out, exist_ok=True)
    if shutil.which("nvidia-smi"):
        subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    with tempfile.TemporaryDirectory() as folder:
        o.files = os.path.abspath(o.files or folder)
        r = Run(o)
        measure(r)
    table(r.table.rows)
    sys.exit(any("error" in row for row in r.table.rows))


main()
