"""Computes in PyTorch what an exported file must give: its weights, dequantised, in float32 on the CPU.

    python3 oracle.py --gguf testdata/tinychat.gguf --out build/tinychat/oracle

Reads nothing but the file; writes oracle.tokens (the ids of a held-out prompt with its answer), oracle.logits.npy
(float32 [tokens, vocabulary]) and oracle.nextn.logits.npy (float32 [tokens-1, vocabulary]: row i is what the layer that
predicts makes of the hidden state of token i and of token i+1), in the layout of testdata/models/nextn.
"""

import argparse
import random
from pathlib import Path

import numpy as np
import torch

import cases
import export
from model import Model
from vocab import Tokenizer


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


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--gguf", type=Path, required=True)
    args.add_argument("--out", type=Path, required=True)
    args = args.parse_args()
    case = cases.make(random.Random("oracle"), "product answer")
    ids = Tokenizer.load().encode(case.prompt() + case.wanted())
    tokens = torch.tensor([ids])
    with torch.no_grad():
        logits, nextn = load(args.gguf)(tokens, torch.ones_like(tokens), 1)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    np.save(f"{args.out}.logits.npy", logits[0].numpy())
    np.save(f"{args.out}.nextn.logits.npy", nextn[0, 1:].numpy())
    Path(f"{args.out}.tokens").write_text("prompt " + " ".join(map(str, ids)) + "\n")
    print(f"{len(ids)} tokens, logits of standard deviation {logits.std():.2f}")


if __name__ == "__main__":
    main()
