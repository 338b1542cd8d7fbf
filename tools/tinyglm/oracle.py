"""Computes with transformers what an exported file must give: its weights, dequantised, in float32 on the CPU.

    python3 oracle.py --dir build/tinyglm --gguf testdata/tinyglm.gguf

Reads the file itself and heldout.npy; writes beside the file tinyglm.logits.npy (float32 [48, vocabulary], the logits
at every position of a held-out prompt) and tinyglm.tokens (the prompt's ids and the 16 greedy ids that follow).
Prints the held-out perplexity and the greedy continuation of "func ".

The prompt is the start of a held-out file, past its licence: the one in which the router's choices are the clearest.
Where two experts score alike, rounding decides between them, and a test could not tell a rounding from an error.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

import ggufio
from export import from_gguf
from model import CONFIG, build, describe_loss, held_out_loss

PROMPT_TOKENS, GREEDY_TOKENS = 48, 16
SAMPLE_PROMPT, SAMPLE_TOKENS = "func ", 64


def load(path: Path):
    """The transformers model with the file's weights. Missing and surplus weights are errors."""
    _, tensors = ggufio.read(path)
    model = build()
    model.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in from_gguf(tensors).items()})
    return model.float().eval()


def routing_lead(model, ids: list[int]) -> float:
    """The least difference, over layers and positions, between the last chosen expert's score and the next one's."""
    leads = []

    def watch(gate, inputs, _):
        scores = F.linear(inputs[0].flatten(0, 1), gate.weight).sigmoid() + gate.e_score_correction_bias
        best = scores.topk(CONFIG["num_experts_per_tok"] + 1).values
        leads.append((best[:, -2] - best[:, -1]).min().item())

    hooks = [layer.mlp.gate.register_forward_hook(watch) for layer in model.model.layers if hasattr(layer.mlp, "gate")]
    model(input_ids=torch.tensor([ids]), use_cache=False)
    for hook in hooks:
        hook.remove()
    return min(leads)


def file_openings(held_out: np.ndarray, package: int, end: int) -> list[list[int]]:
    """The first PROMPT_TOKENS ids of every file, from its package clause on."""
    openings = []
    for file in np.split(held_out, np.flatnonzero(held_out == end) + 1):
        clauses = np.flatnonzero(file == package)
        if len(clauses) and len(file) >= clauses[0] + PROMPT_TOKENS:
            openings.append(file[clauses[0]:clauses[0] + PROMPT_TOKENS].tolist())
    return openings


@torch.no_grad()
def greedy(model, prompt: list[int], count: int, end: int) -> tuple[list[int], float]:
    """Returns up to count ids, and the smallest lead that a chosen logit had over the second best."""
    ids, lead = list(prompt), float("inf")
    while len(ids) < len(prompt) + count and ids[-1] != end:
        best = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1].topk(2)
        lead = min(lead, (best.values[0] - best.values[1]).item())
        ids.append(best.indices[0].item())
    return ids[len(prompt):], lead


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--dir", type=Path, required=True)
    args.add_argument("--gguf", type=Path, required=True)
    args = args.parse_args()

    tokenizer = Tokenizer.from_file(str(args.dir / "tokenizer.json"))
    end = tokenizer.token_to_id("<|endoftext|>")
    held_out = np.load(args.dir / "heldout.npy").astype(np.int64)
    model = load(args.gguf)

    openings = file_openings(held_out, tokenizer.token_to_id("package"), end)
    with torch.no_grad():
        prompt = max(openings, key=lambda ids: routing_lead(model, ids))
        logits = model(input_ids=torch.tensor([prompt]), use_cache=False).logits[0]
        print(f"prompt {tokenizer.decode(prompt)!r}, one of {len(openings)}, routing lead "
              f"{routing_lead(model, prompt):.1e}")
    np.save(args.gguf.with_suffix(".logits.npy"), logits.numpy())
    continuation, lead = greedy(model, prompt, GREEDY_TOKENS, end)
    lines = [f"{name} {' '.join(map(str, ids))}\n" for name, ids in (("prompt", prompt), ("greedy", continuation))]
    args.gguf.with_suffix(".tokens").write_text("".join(lines))
    print(f"continuation {tokenizer.decode(continuation)!r}, lead {lead:.3f}")

    ids, lead = greedy(model, tokenizer.encode(SAMPLE_PROMPT).ids, SAMPLE_TOKENS, end)
    print(f"greedy, lead {lead:.3f}\n{SAMPLE_PROMPT}{tokenizer.decode(ids)}")

    loss = held_out_loss(model, torch.from_numpy(held_out), CONFIG["max_position_embeddings"])
    print("held out, exported weights:", describe_loss(loss))


if __name__ == "__main__":
    main()
