"""Computes in PyTorch what an exported file must give: its weights, dequantised, in float32 on the CPU.

    python3 oracle.py --gguf testdata/tinychat.gguf --out testdata/tinychat

Reads nothing but the file; writes tinychat.tokens (the ids of a held-out prompt, and how the likeliest text goes on),
tinychat.logits.npy (float32 [tokens, vocabulary]) and tinychat.nextn.logits.npy (float32 [tokens-1, vocabulary]: row i
is what the layer that predicts makes of the hidden state of token i and of token i+1), in the layout of
testdata/reference and testdata/models/nextn.
"""

import argparse
import itertools
import random
from pathlib import Path

import numpy as np
import torch

import cases
import export
from model import Model
from vocab import Tokenizer

GREEDY = 16  # tokens


def load(path: Path) -> Model:
    """The model with the file's weights. Missing and surplus weights are errors."""
    metadata, tensors = export.ggufio.read(path)
    config = export.config(metadata)
    nextn = f"blk.{config['num_hidden_layers']}.nextn."
    for copy, of in [("embed_tokens", "token_embd"), ("shared_head_head", "output")]:
        np.testing.assert_array_equal(tensors.pop(f"{nextn}{copy}.weight"), tensors[f"{of}.weight"])
    model = Model(config)
    model.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in tensors.items()})
    return model.eval()


def prompt() -> list[int]:
    """The first held-out sum with a prompt of some length, for tests that run at least 20 tokens."""
    tokenizer = Tokenizer.load()
    for i in itertools.count():
        ids = tokenizer.encode(cases.make(random.Random(f"oracle {i}"), "sum").prompt())
        if 32 <= len(ids) <= 64:
            return ids


def run(model: Model, ids: list[int], steps: int) -> list[torch.Tensor]:
    tokens = torch.tensor([ids])
    return [logits[0] for logits in model(tokens, torch.ones_like(tokens), steps)]


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--gguf", type=Path, required=True)
    args.add_argument("--out", type=Path, required=True)
    args = args.parse_args()
    ids, model = prompt(), load(args.gguf)
    whole = list(ids)
    with torch.no_grad():
        for _ in range(GREEDY):
            whole.append(run(model, whole, 0)[0][-1].argmax().item())
        logits, nextn = run(model, ids, 1)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    np.save(f"{args.out}.logits.npy", logits.numpy())
    np.save(f"{args.out}.nextn.logits.npy", nextn[1:].numpy())
    Path(f"{args.out}.tokens").write_text(
        "".join(f"{name} {' '.join(map(str, part))}\n" for name, part in [("prompt", ids), ("greedy", whole[len(ids):])]))
    print(f"{len(ids)} tokens, logits of standard deviation {logits.std():.2f}")


if __name__ == "__main__":
    main()
