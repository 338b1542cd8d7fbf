"""Quantises a checkpoint and writes it as a GGUF file of architecture deepseek2.

    python3 export.py --dir build/tinyglm --out testdata/tinyglm.gguf

Reads checkpoint.pt and tokenizer.json. The tensor types are those that llama-quantize's Q4_K_M gives this shape.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch

import ggufio
from ggufio import Tensor
from model import CONFIG, SPECIAL_TOKENS

_NORMAL, _CONTROL = 1, 3  # tokenizer.ggml.token_type
_MOSTLY_Q4_K_M = 15  # general.file_type
_SIGMOID = 2  # expert_gating_func

# GGUF name -> transformers name, for the tensors that both store alike. N is the layer.
SAME = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output.weight": "lm_head.weight",
    "output_norm.weight": "model.norm.weight",
}
SAME_IN_LAYER = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q_a.weight": "self_attn.q_a_proj.weight",
    "attn_q_a_norm.weight": "self_attn.q_a_layernorm.weight",
    "attn_q_b.weight": "self_attn.q_b_proj.weight",
    "attn_kv_a_mqa.weight": "self_attn.kv_a_proj_with_mqa.weight",
    "attn_kv_a_norm.weight": "self_attn.kv_a_layernorm.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
    "ffn_gate_inp.weight": "mlp.gate.weight",
    "exp_probs_b.bias": "mlp.gate.e_score_correction_bias",
    "ffn_down_exps.weight": "mlp.experts.down_proj",
    "ffn_gate_shexp.weight": "mlp.shared_experts.gate_proj.weight",
    "ffn_up_shexp.weight": "mlp.shared_experts.up_proj.weight",
    "ffn_down_shexp.weight": "mlp.shared_experts.down_proj.weight",
}


def same_names() -> dict[str, str]:
    """SAME and SAME_IN_LAYER of every layer, including names that only dense or only MoE layers have."""
    names = dict(SAME)
    for n in range(CONFIG["num_hidden_layers"]):
        names |= {f"blk.{n}.{gguf}": f"model.layers.{n}.{hf}" for gguf, hf in SAME_IN_LAYER.items()}
    return names


def to_gguf(state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Renames the tensors of a checkpoint, and splits kv_b_proj and gate_up_proj as the GGUF layout wants them."""
    tensors = {gguf: state[hf] for gguf, hf in same_names().items() if hf in state}
    heads, nope = CONFIG["num_attention_heads"], CONFIG["qk_nope_head_dim"]
    for n in range(CONFIG["num_hidden_layers"]):
        kv_b = state[f"model.layers.{n}.self_attn.kv_b_proj.weight"].reshape(heads, -1, CONFIG["kv_lora_rank"])
        tensors[f"blk.{n}.attn_k_b.weight"] = kv_b[:, :nope].transpose(0, 2, 1)  # absorbed into the query
        tensors[f"blk.{n}.attn_v_b.weight"] = kv_b[:, nope:]
        gate_up = state.get(f"model.layers.{n}.mlp.experts.gate_up_proj")
        if gate_up is not None:
            gate, up = np.split(gate_up, 2, axis=1)
            tensors |= {f"blk.{n}.ffn_gate_exps.weight": gate, f"blk.{n}.ffn_up_exps.weight": up}
    return dict(sorted(tensors.items()))


def from_gguf(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The inverse of to_gguf."""
    state = {hf: tensors[gguf] for gguf, hf in same_names().items() if gguf in tensors}
    for n in range(CONFIG["num_hidden_layers"]):
        k_b, v_b = tensors[f"blk.{n}.attn_k_b.weight"], tensors[f"blk.{n}.attn_v_b.weight"]
        kv_b = np.concatenate([k_b.transpose(0, 2, 1), v_b], axis=1)
        state[f"model.layers.{n}.self_attn.kv_b_proj.weight"] = kv_b.reshape(-1, CONFIG["kv_lora_rank"])
        if f"blk.{n}.ffn_gate_exps.weight" in tensors:
            gate_up = [tensors[f"blk.{n}.ffn_{half}_exps.weight"] for half in ("gate", "up")]
            state[f"model.layers.{n}.mlp.experts.gate_up_proj"] = np.concatenate(gate_up, axis=1)
    return state


def format_of(name: str, values: np.ndarray) -> str:
    """The type that llama-quantize's Q4_K_M gives a tensor of this architecture."""
    if values.ndim == 1 or "ffn_gate_inp" in name:
        return "F32"
    if name == "output.weight":
        return "Q6_K"
    if values.shape[-1] % 256:
        return "Q5_0"
    if "ffn_down" in name:
        layer, layers = int(name.split(".")[1]), CONFIG["num_hidden_layers"]
        more_bits = layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2
        return "Q6_K" if more_bits else "Q4_K"
    return "Q4_K"


def metadata(tokenizer: dict) -> dict:
    c = CONFIG
    hyper = {
        "block_count": c["num_hidden_layers"],
        "context_length": c["max_position_embeddings"],
        "embedding_length": c["hidden_size"],
        "feed_forward_length": c["intermediate_size"],
        "attention.head_count": c["num_attention_heads"],
        "attention.head_count_kv": 1,
        "rope.freq_base": c["rope_parameters"]["rope_theta"],
        "attention.layer_norm_rms_epsilon": c["rms_norm_eps"],
        "expert_count": c["n_routed_experts"],
        "expert_used_count": c["num_experts_per_tok"],
        "expert_group_count": c["n_group"],
        "expert_group_used_count": c["topk_group"],
        "expert_gating_func": _SIGMOID,
        "leading_dense_block_count": 1,
        "vocab_size": c["vocab_size"],
        "attention.q_lora_rank": c["q_lora_rank"],
        "attention.kv_lora_rank": c["kv_lora_rank"],
        "attention.key_length": c["kv_lora_rank"] + c["qk_rope_head_dim"],
        "attention.value_length": c["kv_lora_rank"],
        "attention.key_length_mla": c["qk_nope_head_dim"] + c["qk_rope_head_dim"],
        "attention.value_length_mla": c["v_head_dim"],
        "expert_feed_forward_length": c["moe_intermediate_size"],
        "expert_shared_count": c["n_shared_experts"],
        "expert_weights_scale": c["routed_scaling_factor"],
        "expert_weights_norm": c["norm_topk_prob"],
        "rope.dimension_count": c["qk_rope_head_dim"],
    }
    ids = tokenizer["model"]["vocab"] | {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    tokens = sorted(ids, key=ids.get)
    return {
        "general.architecture": "deepseek2",
        "general.type": "model",
        "general.name": "tinyglm",
        "general.description": "A small model with the structure of GLM-4.7-Flash, trained on the source code of "
                               "the Go distribution (The Go Authors, BSD-3-Clause).",
        "general.license": "bsd-3-clause",
        "general.file_type": _MOSTLY_Q4_K_M,
        "general.quantization_version": 2,
        **{f"deepseek2.{key}": value for key, value in hyper.items()},
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "glm4",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [_CONTROL if token in SPECIAL_TOKENS else _NORMAL for token in tokens],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in tokenizer["model"]["merges"]],
        "tokenizer.ggml.bos_token_id": ids["[gMASK]"],
        "tokenizer.ggml.eos_token_id": ids["<|endoftext|>"],
        "tokenizer.ggml.eot_token_id": ids["<|user|>"],
        "tokenizer.ggml.eom_token_id": ids["<|observation|>"],
        "tokenizer.ggml.padding_token_id": ids["<|endoftext|>"],
        "tokenizer.ggml.unknown_token_id": ids["<|endoftext|>"],
        "tokenizer.ggml.add_bos_token": False,
    }


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--dir", type=Path, required=True)
    args.add_argument("--out", type=Path, required=True)
    args = args.parse_args()

    checkpoint = torch.load(args.dir / "checkpoint.pt")
    tensors = to_gguf({name: value.float().numpy() for name, value in checkpoint.items()})
    tokenizer = json.loads((args.dir / "tokenizer.json").read_text())
    ggufio.write(args.out, metadata(tokenizer),
                 {name: Tensor(values, format_of(name, values)) for name, values in tensors.items()})
    print(f"{args.out}: {args.out.stat().st_size} bytes, {sum(t.size for t in tensors.values())} weights")


if __name__ == "__main__":
    main()
