"""Trains tinyglm on a CUDA device.

    python3 train.py --dir build/tinyglm

Reads train.npy and heldout.npy; writes checkpoint.pt, the float32 state of the transformers model. The defaults are
those of the model that ships.

AdamW on random crops, with linear warm-up and then linear decay to zero. The last part of the run uses crops as long
as the context. Experts are balanced without an auxiliary loss: after every step the selection bias of each expert
that got more than its share goes down a little and that of the others up (arXiv:2408.15664).
"""

import argparse
import math
import time
import types
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from model import CONFIG, build, describe_loss, held_out_loss

BATCH_TOKENS = 65_536
SHORT_CROP, LONG_CROP = 512, CONFIG["max_position_embeddings"]
LONG_SHARE = 0.15  # of the steps, at the end
PEAK_RATE = 3e-3
WARMUP_STEPS = 200
BIAS_RATE = 2e-3
REPORT_EVERY = 250


def all_experts(self, hidden_states, top_k_index, top_k_weights):
    """Evaluates every expert for every token and weights most of them by zero.

    At this width that is faster than gathering tokens per expert, and it compiles to plain matrix products.
    Also counts in self.load how often training selected each expert.
    """
    weights = torch.zeros(len(hidden_states), self.num_experts, dtype=top_k_weights.dtype, device=hidden_states.device)
    weights = weights.scatter(1, top_k_index, top_k_weights)
    if torch.is_grad_enabled():
        with torch.no_grad():
            self.load.add_((weights > 0).sum(0))
    width = self.down_proj.shape[2]
    gate_up = F.linear(hidden_states, self.gate_up_proj.flatten(0, 1)).unflatten(1, (self.num_experts, 2 * width))
    gate, up = gate_up.chunk(2, dim=-1)
    activations = F.silu(gate) * up * weights.unsqueeze(-1).to(gate.dtype)
    return F.linear(activations.flatten(1), self.down_proj.permute(1, 0, 2).flatten(1)).to(hidden_states.dtype)


def initialise(model, dropout: float) -> list:
    """Shrinks the layers' output projections for depth and puts dropout on everything that joins the residual stream;
    returns the MoE blocks, ready for training."""
    depth_scale = 1 / math.sqrt(2 * CONFIG["num_hidden_layers"])
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "o_proj" in name or "down_proj" in name:
                parameter.mul_(depth_scale)

    def drop(module, _, output):
        return F.dropout(output, dropout, module.training)

    model.model.embed_tokens.register_forward_hook(drop)
    for layer in model.model.layers:
        layer.self_attn.o_proj.register_forward_hook(drop)
        layer.mlp.register_forward_hook(drop)

    blocks = [layer.mlp for layer in model.model.layers if hasattr(layer.mlp, "experts")]
    for block in blocks:
        block.experts.register_buffer("load", torch.zeros(CONFIG["n_routed_experts"], device="cuda"), persistent=False)
        block.experts.forward = types.MethodType(all_experts, block.experts)
    return blocks


def balance(blocks, rate: float) -> torch.Tensor:
    """Moves the selection biases towards even load; returns the largest expert's load over the even share."""
    worst = torch.zeros((), device="cuda")
    for block in blocks:
        load = block.experts.load
        block.gate.e_score_correction_bias.add_(rate * torch.sign(load.mean() - load))
        worst = torch.maximum(worst, load.max() / load.mean())
        load.zero_()
    return worst


def learning_rate(step: int, steps: int) -> float:
    """The share of the peak rate."""
    return min((step + 1) / WARMUP_STEPS, 1 - step / steps)


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--dir", type=Path, required=True)
    args.add_argument("--steps", type=int, default=6500)
    args.add_argument("--dropout", type=float, default=0.1)
    args.add_argument("--weight-decay", type=float, default=1.5)
    args = args.parse_args()

    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    model = build().cuda()
    blocks = initialise(model, args.dropout)
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": args.weight_decay},
                                   {"params": vectors, "weight_decay": 0.0}],
                                  lr=PEAK_RATE, betas=(0.9, 0.95), fused=True)
    tokens = torch.from_numpy(np.load(args.dir / "train.npy").astype(np.int32)).cuda()
    held_out = torch.from_numpy(np.load(args.dir / "heldout.npy").astype(np.int64)).cuda()
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(tokens)} tokens")

    @torch.compile(dynamic=False)
    def loss_of(ids):
        with torch.autocast("cuda", torch.bfloat16):
            hidden = model.model(input_ids=ids[:, :-1], use_cache=False).last_hidden_state
            logits = model.lm_head(hidden)
        return F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten())

    started = time.monotonic()
    for step in range(args.steps):
        crop = SHORT_CROP if step < (1 - LONG_SHARE) * args.steps else LONG_CROP
        at = torch.randint(len(tokens) - crop, (BATCH_TOKENS // crop, 1), device="cuda")
        ids = tokens[at + torch.arange(crop + 1, device="cuda")].long()
        rate = learning_rate(step, args.steps)
        for group in optimizer.param_groups:
            group["lr"] = PEAK_RATE * rate
        loss = loss_of(ids)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        worst = balance(blocks, BIAS_RATE * rate)
        if step % REPORT_EVERY == 0:
            print(f"step {step} loss {loss.item():.4f} busiest expert {worst.item():.2f} "
                  f"seconds {time.monotonic() - started:.0f}", flush=True)

    model.eval()  # no dropout
    print("held out, trained weights:", describe_loss(held_out_loss(model, held_out, LONG_CROP)))
    state = {name: value.cpu() for name, value in model.state_dict().items()}
    torch.save(state, args.dir / "checkpoint.pt")


if __name__ == "__main__":
    main()
