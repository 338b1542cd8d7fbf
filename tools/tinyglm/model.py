"""tinyglm's shape, and its construction with transformers' own GLM-4.7-Flash classes."""

import math

import torch
import torch.nn.functional as F
from transformers import Glm4MoeLiteConfig, Glm4MoeLiteForCausalLM

# GLM's control tokens in GLM's order; they take the last ids of the vocabulary.
SPECIAL_TOKENS = ["<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|system|>", "<|user|>",
                  "<|assistant|>", "<|observation|>"]

# Input widths are multiples of 256, so that K-quants fit, except qk_nope_head_dim: as in the real model, attn_k_b
# falls back to Q5_0. Six experts rather than eight because llama-quantize treats eight as Mixtral.
CONFIG = dict(
    vocab_size=4096,
    hidden_size=256,
    intermediate_size=768,
    num_hidden_layers=6,
    num_attention_heads=4,
    num_key_value_heads=4,
    q_lora_rank=256,
    kv_lora_rank=256,
    qk_nope_head_dim=96,
    qk_rope_head_dim=32,
    v_head_dim=64,
    n_routed_experts=6,
    num_experts_per_tok=2,
    n_shared_experts=1,
    moe_intermediate_size=256,
    norm_topk_prob=True,
    routed_scaling_factor=1.8,
    n_group=1,
    topk_group=1,
    max_position_embeddings=2048,
    rms_norm_eps=1e-5,
    rope_parameters={"rope_type": "default", "rope_theta": 1e6},
    rope_interleave=True,
    tie_word_embeddings=False,
    initializer_range=0.05,
)


def build() -> Glm4MoeLiteForCausalLM:
    model = Glm4MoeLiteForCausalLM(Glm4MoeLiteConfig(**CONFIG))
    for module in model.modules():
        # transformers gives the two latent norms 1e-6 whatever the configuration says; a GGUF file has one epsilon.
        if hasattr(module, "variance_epsilon"):
            module.variance_epsilon = CONFIG["rms_norm_eps"]
    return model


@torch.no_grad()
def held_out_loss(model, ids: torch.Tensor, window: int) -> float:
    """Mean nats per token over consecutive windows of a token stream, each read without what came before it."""
    windows = ids[: len(ids) // window * window].view(-1, window)
    total = 0.0
    for batch in windows.split(16):
        logits = model(input_ids=batch, use_cache=False).logits[:, :-1]
        total += F.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten(), reduction="sum").item()
    return total / (windows.shape[0] * (window - 1))


def describe_loss(loss: float) -> str:
    return f"{loss:.4f} nats per token, perplexity {math.exp(loss):.3f}"
