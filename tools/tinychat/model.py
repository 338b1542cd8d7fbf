"""The model in PyTorch: the structure of GLM-4.7-Flash with its layer that predicts the token after next (MTP).

Modules are named as tensors of GGUF files are, so the state of the model is the content of the file.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# As in GLM, keys are as long as values, the first layer is dense, and the router picks by sigmoids and biases. Widths
# are multiples of 32, the block of Q8_0.
CONFIG = dict(
    vocab_size=1024,
    hidden_size=256,
    num_hidden_layers=5,  # and the MTP layer after them
    num_attention_heads=4,
    q_lora_rank=128,
    kv_lora_rank=128,
    qk_nope_head_dim=32,
    qk_rope_head_dim=32,
    v_head_dim=64,
    intermediate_size=512,
    first_k_dense_replace=1,
    n_routed_experts=8,
    num_experts_per_tok=2,
    n_shared_experts=1,
    moe_intermediate_size=96,
    routed_scaling_factor=1.8,
    rms_norm_eps=1e-5,
    rope_theta=1e6,
    max_position_embeddings=2048,
    num_nextn_predict_layers=1,
)
INITIAL_DEVIATION = 0.05


class Norm(nn.Module):
    def __init__(self, width: int, eps: float):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x: Tensor) -> Tensor:
        x = x.float()
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


class Weight(nn.Module):
    """A tensor of any shape under the name .weight."""

    def __init__(self, *shape: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape))


class Bias(nn.Module):
    """Selection biases of experts: no gradient, the training moves them."""

    def __init__(self, width: int):
        super().__init__()
        self.register_buffer("bias", torch.zeros(width))


def linear(inputs: int, outputs: int) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias=False)


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """RoPE of neighbouring pairs. x is [batch, rows, heads, width], angles are [rows, width/2]."""
    a, b = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2).to(x.dtype)


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """[batch, heads, rows, width] each; mask is [batch, 1, rows, rows], True where a row sees another."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    scores = (q @ k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
    return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v


class Layer(nn.Module):
    """A layer of latent attention and a dense network or experts."""

    def __init__(self, c: dict, dense: bool):
        super().__init__()
        width, eps = c["hidden_size"], c["rms_norm_eps"]
        self.heads, self.nope, self.rope, self.latent = (c[k] for k in ("num_attention_heads", "qk_nope_head_dim",
                                                                         "qk_rope_head_dim", "kv_lora_rank"))
        self.attn_norm = Norm(width, eps)
        self.attn_q_a = linear(width, c["q_lora_rank"])
        self.attn_q_a_norm = Norm(c["q_lora_rank"], eps)
        self.attn_q_b = linear(c["q_lora_rank"], self.heads * (self.nope + self.rope))
        self.attn_kv_a_mqa = linear(width, self.latent + self.rope)
        self.attn_kv_a_norm = Norm(self.latent, eps)
        self.attn_k_b = Weight(self.heads, self.latent, self.nope)
        self.attn_v_b = Weight(self.heads, c["v_head_dim"], self.latent)
        self.attn_output = linear(self.heads * c["v_head_dim"], width)
        self.ffn_norm = Norm(width, eps)
        self.dense = dense
        if dense:
            self.ffn_gate, self.ffn_up = linear(width, c["intermediate_size"]), linear(width, c["intermediate_size"])
            self.ffn_down = linear(c["intermediate_size"], width)
            return
        experts, inner = c["n_routed_experts"], c["moe_intermediate_size"]
        self.used, self.scale = c["num_experts_per_tok"], c["routed_scaling_factor"]
        self.ffn_gate_inp, self.exp_probs_b = linear(width, experts), Bias(experts)
        self.ffn_gate_exps, self.ffn_up_exps = Weight(experts, inner, width), Weight(experts, inner, width)
        self.ffn_down_exps = Weight(experts, width, inner)
        shared = inner * c["n_shared_experts"]
        self.ffn_gate_shexp, self.ffn_up_shexp = linear(width, shared), linear(width, shared)
        self.ffn_down_shexp = linear(shared, width)
        self.register_buffer("load", torch.zeros(experts), persistent=False)  # how often training selected each expert

    def attention(self, x: Tensor, angles: Tensor, mask: Tensor) -> Tensor:
        q = self.attn_q_b(self.attn_q_a_norm(self.attn_q_a(x))).unflatten(-1, (self.heads, -1))
        q_nope, q_rope = q.split([self.nope, self.rope], -1)
        latent, k_rope = self.attn_kv_a_mqa(x).split([self.latent, self.rope], -1)
        latent = self.attn_kv_a_norm(latent)
        k_nope = torch.einsum("btc,hcd->bthd", latent, self.attn_k_b.weight)
        v = torch.einsum("btc,hdc->bthd", latent, self.attn_v_b.weight)
        k_rope = rotate(k_rope.unsqueeze(2), angles).expand(-1, -1, self.heads, -1)
        q = torch.cat([q_nope, rotate(q_rope, angles).to(q_nope.dtype)], -1)
        k = torch.cat([k_nope, k_rope.to(k_nope.dtype)], -1)
        out = attend(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), mask)
        return self.attn_output(out.transpose(1, 2).flatten(2))

    def experts(self, x: Tensor) -> Tensor:
        """Evaluates every expert for every token and weights most of them by zero: at this width that is faster than
        gathering tokens by expert."""
        with torch.autocast(x.device.type, enabled=False):  # the choice is made in float32, as when the model runs
            scores = self.ffn_gate_inp(x.float()).sigmoid()
        chosen = (scores + self.exp_probs_b.bias).topk(self.used, -1).indices
        weights = torch.zeros_like(scores).scatter(-1, chosen, scores.gather(-1, chosen))
        if self.training:
            with torch.no_grad():
                self.load.add_((weights > 0).flatten(0, -2).sum(0))
        weights = weights / weights.sum(-1, keepdim=True) * self.scale
        gate, up = (F.linear(x, w.weight.flatten(0, 1)).unflatten(-1, w.weight.shape[:2])
                    for w in (self.ffn_gate_exps, self.ffn_up_exps))
        inner = F.silu(gate) * up * weights.unsqueeze(-1).to(up.dtype)
        routed = F.linear(inner.flatten(-2), self.ffn_down_exps.weight.transpose(0, 1).flatten(1))
        return routed + self.ffn_down_shexp(F.silu(self.ffn_gate_shexp(x)) * self.ffn_up_shexp(x))

    def forward(self, x: Tensor, angles: Tensor, mask: Tensor) -> Tensor:
        x = x + self.attention(self.attn_norm(x), angles, mask)
        h = self.ffn_norm(x)
        return x + (self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h)) if self.dense else self.experts(h))


class NextN(nn.Module):
    """What the layer that predicts has beside a layer's tensors. GLM's files also have copies of the embedding and the
    head there, which training shares, as DeepSeek-V3's does."""

    def __init__(self, c: dict):
        super().__init__()
        width, eps = c["hidden_size"], c["rms_norm_eps"]
        self.eh_proj = linear(2 * width, width)
        self.enorm, self.hnorm, self.shared_head_norm = Norm(width, eps), Norm(width, eps), Norm(width, eps)


class Model(nn.Module):
    def __init__(self, c: dict):
        super().__init__()
        self.config = c
        layers = c["num_hidden_layers"]
        self.token_embd = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.blk = nn.ModuleList(Layer(c, n < c["first_k_dense_replace"]) for n in range(layers + 1))
        self.blk[layers].nextn = NextN(c)
        self.output_norm = Norm(c["hidden_size"], c["rms_norm_eps"])
        self.output = linear(c["hidden_size"], c["vocab_size"])
        for name, p in self.named_parameters():
            if p.ndim > 1:
                deep = any(part in name for part in ("attn_output", "ffn_down"))
                nn.init.normal_(p, std=INITIAL_DEVIATION / (math.sqrt(2 * layers) if deep else 1))

    def surroundings(self, segments: Tensor) -> tuple[Tensor, Tensor]:
        """RoPE's angles and the mask of attention for rows of packed dialogues. Distances are all that RoPE shows, so
        positions may go on from one dialogue to the next."""
        rows, width = segments.shape[1], self.config["qk_rope_head_dim"]
        exact = dict(device=segments.device, dtype=torch.float64)
        rates = self.config["rope_theta"] ** (-torch.arange(0, width, 2, **exact) / width)
        angles = torch.arange(rows, **exact)[:, None] * rates
        causal = torch.ones(rows, rows, dtype=torch.bool, device=segments.device).tril()
        return angles.float(), ((segments[:, :, None] == segments[:, None, :]) & causal)[:, None]

    def forward(self, tokens: Tensor, segments: Tensor, steps: int) -> list[Tensor]:
        """Logits [batch, rows, vocabulary]: the model's, then those of the layer that predicts, for a number of steps. All
        of row i say what token i+1 is. In step 1 the layer has the model's hidden state of row i-1, in the next ones
        its own: as when it guesses several tokens in a row."""
        angles, mask = self.surroundings(segments)
        layer = self.blk[-1]
        embedding = self.token_embd(tokens)
        x = embedding
        for block in self.blk[:-1]:
            x = block(x, angles, mask)
        hidden = self.output_norm(x)
        logits = [self.output(hidden)]
        first = torch.ones_like(segments[:, :1], dtype=torch.bool)
        begins = torch.cat([first, segments[:, 1:] != segments[:, :-1]], 1).unsqueeze(-1)
        for _ in range(steps):
            before = F.pad(hidden[:, :-1], (0, 0, 1, 0)).masked_fill(begins, 0)  # there is none before the first token
            joined = torch.cat([layer.nextn.enorm(embedding), layer.nextn.hnorm(before)], -1)
            hidden = layer.nextn.shared_head_norm(layer(layer.nextn.eh_proj(joined), angles, mask))
            logits.append(self.output(hidden))
        return logits
