"""python3 -m unittest discover -s tools/tinychat; needs torch"""

import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import amx
import batches
import export
import measure
import oracle
import train
from model import CONFIG, Model

SMALL = CONFIG | train.SMALL


def model() -> Model:
    torch.manual_seed(1)
    made = Model(SMALL)
    for layer in made.blk:
        if not layer.dense:
            layer.exp_probs_b.bias.normal_(std=0.1)
    return made.eval()


def packed() -> list[torch.Tensor]:
    batch = next(batches.stream(1, 0, rows=2, length=448, workers=0))
    return [torch.from_numpy(batch.tokens).long(), torch.from_numpy(batch.segments), torch.from_numpy(batch.answers)]


class Packing(unittest.TestCase):
    def test_dialogues_do_not_see_each_other(self):
        tokens, segments, _ = packed()
        m = model()
        with torch.no_grad():
            together = m(tokens, segments, 2)
            for n in range(1, segments[0].max() + 1):
                here = segments[0] == n
                alone = m(tokens[:1, here], segments[:1, here], 2)
                for x, y in zip(together, alone):
                    self.assertLess((x[0, here] - y[0]).abs().max(), 1e-4)
        self.assertGreater(segments[0].max(), 1)

    def test_later_tokens_are_not_seen(self):
        tokens, segments, _ = packed()
        changed = tokens.clone()
        changed[:, 200:] = 5
        m = model()
        with torch.no_grad():
            for x, y in zip(m(tokens, segments, 2), m(changed, segments, 2)):
                self.assertLess((x - y)[:, :200].abs().max(), 1e-5)
                self.assertGreater((x - y)[:, 200:].abs().max(), 1e-2)


class Training(unittest.TestCase):
    def test_loss_falls(self):
        batch, m = packed(), model().train()
        optimizer = torch.optim.AdamW(m.parameters(), lr=3e-3)
        totals = []
        for _ in range(8):
            parts = train.losses(m, *batch)
            sum(parts).backward()
            optimizer.step()
            optimizer.zero_grad()
            totals.append([p.item() for p in parts])
        self.assertEqual(len(totals[0]), 1 + train.MTP_STEPS)
        for first, last in zip(totals[0], totals[-1]):
            self.assertLess(last, 0.9 * first)

    def test_experts_are_balanced(self):
        m = model().train()
        train.losses(m, *packed())
        layer = m.blk[1]
        before, load = layer.exp_probs_b.bias.clone(), layer.load.clone()
        train.balance(m, 0.01)
        moved = layer.exp_probs_b.bias - before
        self.assertLess(moved[load.argmax()], 0)
        self.assertGreater(moved[load.argmin()], 0)
        self.assertEqual(layer.load.sum(), 0)


class Tiles(unittest.TestCase):
    def test_gradients(self):
        """amx/gradients.c against PyTorch's, one matrix or vector at a time."""
        batch, m = packed(), model().train()
        parts = train.losses(m, *batch)
        sum(share * part for share, part in zip(train.SHARES, parts)).backward()
        wanted = {name: p.grad.clone() for name, p in m.named_parameters()}
        loads = [layer.load.clone() for layer in m.blk if not layer.dense]
        tiles = amx.Amx(m, train.MTP_STEPS, train.SHARES, threads=2)
        for layer in m.blk:
            if not layer.dense:
                layer.load.zero_()
        got = tiles.losses(batch[0], train.targets(*batch), batch[1])
        for x, y in zip(got, parts):
            self.assertAlmostEqual(x.item(), y.item(), delta=5e-3)
        for layer, load in zip((layer for layer in m.blk if not layer.dense), loads):
            self.assertEqual(layer.load.sum(), load.sum())
            self.assertLess((layer.load - load).abs().max(), 10)  # tokens between two experts
        for name, p in m.named_parameters():
            # Products of bfloat16 are 2^-9 off, ten layers one after the other; few tokens change their experts.
            alike = F.cosine_similarity(p.grad.flatten(), wanted[name].flatten(), dim=0).item()
            self.assertGreater(alike, 0.98, name)
            self.assertAlmostEqual((p.grad.norm() / wanted[name].norm()).item(), 1, delta=0.05, msg=name)


class Files(unittest.TestCase):
    def test_round_trip(self):
        m = model()
        tokens, segments, _ = packed()
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            for float32, within in [(True, 1e-6), (False, 0.02)]:  # mean: some tokens change their experts
                path = Path(folder) / "x.gguf"
                export.write(path, m.state_dict(), SMALL, float32)
                loaded = oracle.load(path)
                self.assertEqual(set(loaded.config), set(SMALL))
                for key, value in loaded.config.items():
                    self.assertAlmostEqual(value, SMALL[key], places=6)
                for x, y in zip(m(tokens, segments, 1), loaded(tokens, segments, 1)):
                    self.assertLess((x - y).abs().mean(), within)
            stored = Model(SMALL).eval()
            stored.load_state_dict(export.as_stored(m.state_dict()))
            for x, y in zip(loaded(tokens, segments, 1), stored(tokens, segments, 1)):
                self.assertLess((x - y).abs().max(), 1e-5)


class Oracle:
    """A model that knows what comes, but for one token of one row."""

    training = False

    def eval(self):
        pass

    def train(self, mode):
        pass

    def __init__(self, wrong: tuple[int, int]):
        self.wrong = wrong

    def __call__(self, tokens, segments, steps):
        logits = F.one_hot(tokens.roll(-1, 1), CONFIG["vocab_size"]).float()
        last = logits.clone()
        logits[self.wrong] = logits[self.wrong].roll(1)
        return [logits, last, last.roll(1, -1)]


class Measure(unittest.TestCase):
    def test_counts(self):
        kind = measure.padded(4, torch.device("cpu"))["sum"]
        at = np.flatnonzero(kind.wanted[2].numpy())[0] - 1  # where the first token of an answer is predicted
        answers = int(kind.wanted.sum())
        self.assertEqual(measure.count(Oracle((2, at)), kind), measure.Counts(4, 3, answers - 1, [answers - 1, 0]))
        self.assertEqual(measure.count(Oracle((2, at - 1)), kind), measure.Counts(4, 4, answers, [answers, 0]))


if __name__ == "__main__":
    unittest.main()
