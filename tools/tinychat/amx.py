"""The model's losses and gradients on a CPU with AMX, by amx/gradients.c, for machines without a GPU.

Every step copies the weights to one flat array, from which amx/gradients.c reads, and the gradients back from another.
"""

import ctypes
import math
import subprocess
import tempfile
from pathlib import Path

import torch
from torch import Tensor

from model import Model

FLAGS = ["-Ofast", "-march=sapphirerapids", "-mprefer-vector-width=512", "-fopenmp", "-shared", "-fPIC"]


def order(config: dict) -> list[str]:
    """Names of the parameters in the order of lay_out in amx/gradients.c."""
    layers = config["num_hidden_layers"]
    names = []
    for i in range(layers + 1):
        names += [f"blk.{i}.{part}.weight" for part in ("attn_norm", "attn_q_a", "attn_q_a_norm", "attn_q_b",
                                                        "attn_kv_a_mqa", "attn_kv_a_norm", "attn_k_b", "attn_v_b",
                                                        "attn_output", "ffn_norm")]
        parts = ["ffn_gate", "ffn_up", "ffn_down"]
        if i < config["first_k_dense_replace"]:
            names += [f"blk.{i}.{part}.weight" for part in parts]
        else:
            names += [f"blk.{i}.ffn_gate_inp.weight"] + [f"blk.{i}.{part}_{kind}.weight" for kind in ("exps", "shexp")
                                                         for part in parts]
    nextn = [f"blk.{layers}.nextn.{part}.weight" for part in ("eh_proj", "enorm", "hnorm", "shared_head_norm")]
    return names + ["token_embd.weight", "output_norm.weight", "output.weight"] + nextn


def macros(config: dict, steps: int) -> list[str]:
    head = config["qk_nope_head_dim"] + config["qk_rope_head_dim"]
    values = {
        "HIDDEN": config["hidden_size"], "LAYERS": config["num_hidden_layers"], "HEADS": config["num_attention_heads"],
        "Q_LORA": config["q_lora_rank"], "LATENT": config["kv_lora_rank"], "NOPE": config["qk_nope_head_dim"],
        "ROPE": config["qk_rope_head_dim"], "VALUE": config["v_head_dim"], "DENSE_INNER": config["intermediate_size"],
        "DENSE_LAYERS": config["first_k_dense_replace"], "EXPERTS": config["n_routed_experts"],
        "USED": config["num_experts_per_tok"], "EXPERT_INNER": config["moe_intermediate_size"],
        "ROUTED_SCALE": config["routed_scaling_factor"], "EPSILON": config["rms_norm_eps"],
        "VOCABULARY": config["vocab_size"], "MTP_STEPS": steps, "SCORE_SCALE": f"{1 / math.sqrt(head)}f",
    }
    return [f"-D{name}={value}" for name, value in values.items()]


class Amx:
    """Computes gradients of a model. Raises OSError on other CPUs."""

    def __init__(self, model: Model, steps: int, shares: list[float], threads: int):
        config = model.config
        self.model, self.steps, self.threads = model, steps, threads
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "amx.so"
            source = Path(__file__).with_name("amx") / "gradients.c"
            subprocess.run(["cc", *FLAGS, *macros(config, steps), str(source), "-o", str(library), "-lm"], check=True)
            self.library = ctypes.CDLL(str(library))
        count = self.library.prepare()
        parameters = dict(model.named_parameters())
        names = order(config)
        if set(names) != set(parameters):
            raise ValueError(f"names differ: {set(names) ^ set(parameters)}")
        if count != sum(p.numel() for p in parameters.values()):
            raise OSError(f"this CPU has no AMX, or amx/gradients.c is of another model ({count})")
        self.weights, self.gradients = torch.empty(count), torch.zeros(count)
        self.turned = [name.endswith("attn_k_b.weight") for name in names]  # [heads, latent, nope], wanted by rows
        self.parameters = [parameters[name] for name in names]
        self.shares = torch.tensor(shares)
        self.biased = [layer for layer in model.blk if not layer.dense]
        self.angles: dict[int, tuple[Tensor, Tensor]] = {}

    def flat_parts(self, flat: Tensor):
        """Each parameter and its part of a flat array, in the shape of the parameter."""
        at = 0
        for p, turned in zip(self.parameters, self.turned):
            part = flat[at:at + p.numel()]
            at += p.numel()
            yield p, part.view(p.shape[0], p.shape[2], p.shape[1]).transpose(1, 2) if turned else part.view(p.shape)

    def losses(self, tokens: Tensor, targets: Tensor, segments: Tensor) -> list[Tensor]:
        """Mean nats per target, the model's, then of the layer that predicts; sets the gradients of all parameters.

        All are [batch, rows]; a target is the next token, negative where there is none to learn.
        """
        batch, rows = tokens.shape
        for p, part in self.flat_parts(self.weights):
            part.copy_(p.detach())
        tokens, targets, segments = (x.to(torch.int32).contiguous() for x in (tokens, targets, segments))
        if rows not in self.angles:
            angles, _ = self.model.surroundings(segments[:1])
            self.angles[rows] = angles.cos().contiguous(), angles.sin().contiguous()
        cos, sin = self.angles[rows]
        experts = self.model.config["n_routed_experts"]
        bias, load = torch.zeros(len(self.model.blk), experts), torch.zeros(len(self.model.blk), experts)
        for i, layer in enumerate(self.model.blk):
            if not layer.dense:
                bias[i] = layer.exp_probs_b.bias
        out = torch.zeros(1 + self.steps)
        pointers = [ctypes.c_void_p(x.data_ptr()) for x in (tokens, segments, targets, self.shares, cos, sin, bias, load, out)]
        self.library.gradients(ctypes.c_void_p(self.weights.data_ptr()), ctypes.c_void_p(self.gradients.data_ptr()),
                               self.threads, batch, rows, *pointers)
        for p, part in self.flat_parts(self.gradients):
            p.grad = part.contiguous()
        for i, layer in enumerate(self.model.blk):
            if not layer.dense:
                layer.load.add_(load[i])
        return list(out)
