"""How many held-out cases the model answers exactly.

The model reads each prompt with its right answer. If the likeliest token is right at every place of the answer, the
greedy text is that answer; so no text is generated. The same pass says how many guesses of the layer that predicts
would be right: at places where the model itself is.
"""

import random
from typing import NamedTuple

import numpy as np
import torch

import cases
from vocab import Tokenizer

ROUND = 64  # lengths are rounded up
FIRST = 1_000_000  # number of the first case: those of the tests have lower ones
STEPS = 2  # of the layer that predicts
BATCH = 32


class Padded(NamedTuple):
    tokens: torch.Tensor  # [cases, length]
    segments: torch.Tensor  # 0 after the end
    wanted: torch.Tensor  # tokens of the answer


def padded(count: int, device: torch.device) -> dict[str, Padded]:
    """A number of cases of each kind, each in a row."""
    tokenizer, out = Tokenizer.load(), {}
    for kind in cases.KINDS:
        made = [cases.make(random.Random(f"{kind} {FIRST + i}"), kind) for i in range(count)]
        prompts = [tokenizer.encode(case.prompt()) for case in made]
        answers = [tokenizer.encode(case.wanted()) for case in made]
        length = max(len(p) + len(a) for p, a in zip(prompts, answers))
        shape = (count, -(-length // ROUND) * ROUND)
        tokens, segments, wanted = np.zeros(shape, np.int64), np.zeros(shape, np.int16), np.zeros(shape, bool)
        for i, (p, a) in enumerate(zip(prompts, answers)):
            tokens[i, :len(p) + len(a)] = p + a
            segments[i, :len(p) + len(a)] = 1
            wanted[i, len(p):len(p) + len(a)] = True
        out[kind] = Padded(*(torch.from_numpy(x).to(device) for x in (tokens, segments, wanted)))
    return out


class Counts(NamedTuple):
    cases: int
    exact: int
    tokens: int  # of answers, where the model is right
    guessed: list[int]  # of these, guessed by the layer that predicts in its first step, in its second …


@torch.no_grad()
def count(model, kind: Padded) -> Counts:
    was_training = model.training
    model.eval()
    exact, tokens, guessed = 0, 0, [0] * STEPS
    for rows, segments, wanted in zip(*(x.split(BATCH) for x in kind)):
        logits = model(rows, segments, STEPS)
        target, asked = rows[:, 1:], wanted[:, 1:]
        right = [(x[:, :-1].argmax(-1) == target) & asked for x in logits]
        exact += (right[0] == asked).all(1).sum().item()
        tokens += right[0].sum().item()
        for i, step in enumerate(right[1:]):
            guessed[i] += (step & right[0]).sum().item()
    model.train(was_training)
    return Counts(len(kind.tokens), exact, tokens, guessed)


def line(model, kinds: dict[str, Padded]) -> str:
    counts = {name: count(model, kind) for name, kind in kinds.items()}
    shares = ", ".join(f"{name} {100 * c.exact / c.cases:.0f}" for name, c in counts.items())
    return f"exact %: {shares}; guesses right %: {guesses(counts.values())}"


def guesses(counts) -> str:
    tokens = max(1, sum(c.tokens for c in counts))
    return ", ".join(f"{100 * sum(c.guessed[i] for c in counts) / tokens:.1f}" for i in range(STEPS))


def table(model, kinds: dict[str, Padded]) -> str:
    rows = [f"{'kind':16}{'cases':>6}{'exact':>6}{'%':>7}  guesses right, %"]
    for name, kind in kinds.items():
        c = count(model, kind)
        rows.append(f"{name:16}{c.cases:6}{c.exact:6}{100 * c.exact / c.cases:7.1f}  {guesses([c])}")
    return "\n".join(rows)
