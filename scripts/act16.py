#!/usr/bin/env python3
"""What activations in half do to a model's logits on an NVIDIA GPU.

    act16.py MLARUN STEM KV FOLDER

STEM.gguf runs with the tokens of STEM.tokens and a cache of type KV (f32 or f16),
and three things are printed and bounded, as in runtime/doctor/reference, whose
comments say where the bounds come from:

* against the Go references, -device cpu -act f16: how far a token's logits are off,
  relative to their size, and for how many tokens other experts were chosen;
* against activations in float32 on the same GPU, the same;
* against STEM.logits.npy: the mean Kullback-Leibler divergence, and how many most
  likely tokens changed.
"""
import subprocess
import sys

import numpy as np

REFERENCE, FULL = 4e-3, 5e-3  # root mean square of a row's differences, relative to its logits
REROUTED = 15e-3  # from here on other experts were chosen
DIVERGENCE = 0.01  # nats


class Model:
    def __init__(self, mlarun, stem, kv, folder):
        self.mlarun, self.stem, self.kv, self.out = mlarun, stem, kv, folder + "/act16.npy"
        with open(stem + ".tokens") as f:
            self.tokens = next(line.split()[1:] for line in f if line.startswith("prompt "))

    def logits(self, device, act, tokens):
        subprocess.run([self.mlarun, "logits", "-quiet", "-device", device, "-act", act, "-kv", self.kv, "-model", self.stem + ".gguf",
                        "-tokens", ",".join(tokens), "-o", self.out], check=True)
        return np.load(self.out).astype(np.float64)

    def compare(self, one, other):
        """The greatest difference of tokens with the same experts, absolute and
        relative, and the number of the other tokens. After one of those the text
        begins anew, since its cache rows differ too."""
        worst = relative = rerouted = 0
        tokens = self.tokens
        while tokens:
            a, b = self.logits(*one, tokens), self.logits(*other, tokens)
            off = np.sqrt(((a - b) ** 2).mean(1) / (b**2).mean(1))
            changed = np.flatnonzero(~(off <= REROUTED))
            same = changed[0] if len(changed) else len(tokens)
            if same:
                worst, relative = max(worst, np.abs(a - b)[:same].max()), max(relative, off[:same].max())
            rerouted += len(changed) > 0
            tokens = tokens[same + 1 :]
        return worst, relative, rerouted


def log_softmax(x):
    x = x - x.max(1, keepdims=True)
    return x - np.log(np.exp(x).sum(1, keepdims=True))


def main():
    m = Model(*sys.argv[1:])
    rows, right = len(m.tokens), True
    name = f"act f16 {m.stem.split('/')[-1]}, {m.kv} cache, {rows} tokens"
    half = ("cuda", "f16")
    for what, other, allowed in ("the Go references", ("cpu", "f16"), REFERENCE), ("act f32", ("cuda", "f32"), FULL):
        worst, relative, rerouted = m.compare(half, other)
        right &= relative <= allowed and rerouted <= rows // 8
        print(f"{name}: against {what} {rerouted} tokens go to other experts, the others' logits differ by at most {worst:.2g}, {relative:.2g} of their size")
    got, want = log_softmax(m.logits(*half, m.tokens)), log_softmax(np.load(m.stem + ".logits.npy").astype(np.float64))
    divergence = (np.exp(want) * (want - got)).sum(1).mean()
    changed = int((got.argmax(1) != want.argmax(1)).sum())
    right &= divergence <= DIVERGENCE and changed <= rows // 24
    print(f"{name}: against the recorded logits a mean divergence of {divergence:.2g} nats, {changed} most likely tokens changed")
    sys.exit(not right)


main()
