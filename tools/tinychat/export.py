"""Writes a checkpoint as a GGUF file of architecture deepseek2, with the MTP layer where GLM-4.7-Flash's files have it.

    python3 export.py --checkpoint build/tinychat/checkpoint.pt --out testdata/tinychat.gguf

Weights become Q8_0, as llama-quantize's q8_0 has them: norms, router and biases stay in float32. With --float32 all do.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import torch

from vocab import CONTROL_TOKENS, MARKUP_TOKENS, Tokenizer

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools" / "tinyglm"))
import ggufio  # noqa: E402
from quant import FORMATS  # noqa: E402

TEMPLATE = ROOT / "runtime" / "chat" / "testdata" / "glm-4.7-flash.jinja"
_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4  # tokenizer.ggml.token_type
_MOSTLY_Q8_0, _ALL_F32 = 7, 0  # general.file_type
_SIGMOID = 2  # expert_gating_func
# Key of the metadata, without the architecture -> name in the configuration, where both have the same value.
HYPER = {
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "rope.freq_base": "rope_theta",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "expert_count": "n_routed_experts",
    "expert_used_count": "num_experts_per_tok",
    "leading_dense_block_count": "first_k_dense_replace",
    "vocab_size": "vocab_size",
    "attention.q_lora_rank": "q_lora_rank",
    "attention.kv_lora_rank": "kv_lora_rank",
    "attention.value_length_mla": "v_head_dim",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_shared_count": "n_shared_experts",
    "expert_weights_scale": "routed_scaling_factor",
    "rope.dimension_count": "qk_rope_head_dim",
    "nextn_predict_layers": "num_nextn_predict_layers",
}


def format_of(name: str, values: np.ndarray) -> str:
    return "F32" if values.ndim == 1 or "ffn_gate_inp" in name else "Q8_0"


def tensors(state: dict[str, torch.Tensor], config: dict) -> dict[str, np.ndarray]:
    """The file's tensors. The MTP layer's embedding and head are copies of the model's: so are those of GLM's files."""
    values = {name: value.float().cpu().numpy() for name, value in state.items()}
    nextn = f"blk.{config['num_hidden_layers']}.nextn."
    values[nextn + "embed_tokens.weight"] = values["token_embd.weight"]
    values[nextn + "shared_head_head.weight"] = values["output.weight"]
    return dict(sorted(values.items()))


def as_stored(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The state as the file's formats leave it."""
    def rounded(name: str, value: torch.Tensor) -> torch.Tensor:
        form = FORMATS[format_of(name, value)]
        values = form.decode(form.encode(value.float().cpu().numpy())).reshape(value.shape)
        return torch.from_numpy(values.copy()).to(value.device)

    return {name: rounded(name, value) for name, value in state.items()}


def config(metadata: dict) -> dict:
    """The model's configuration by a file's metadata."""
    def value(key: str):
        return metadata["deepseek2." + key]

    c = {name: value(key) for key, name in HYPER.items()}
    return c | {"num_hidden_layers": value("block_count") - value("nextn_predict_layers"),
                "qk_nope_head_dim": value("attention.key_length_mla") - value("rope.dimension_count")}


def metadata(c: dict, tokenizer: Tokenizer, file_type: int) -> dict:
    ids = tokenizer.ids
    kinds = dict.fromkeys(CONTROL_TOKENS, _CONTROL) | dict.fromkeys(MARKUP_TOKENS, _USER_DEFINED)
    hyper = {key: float(c[name]) if name == "rope_theta" else c[name] for key, name in HYPER.items()} | {
        "block_count": c["num_hidden_layers"] + c["num_nextn_predict_layers"],
        "attention.head_count_kv": 1,
        "expert_group_count": 1,
        "expert_group_used_count": 1,
        "expert_gating_func": _SIGMOID,
        "attention.key_length": c["kv_lora_rank"] + c["qk_rope_head_dim"],
        "attention.value_length": c["kv_lora_rank"],
        "attention.key_length_mla": c["qk_nope_head_dim"] + c["qk_rope_head_dim"],
        "expert_weights_norm": True,
    }
    return {
        "general.architecture": "deepseek2",
        "general.type": "model",
        "general.sampling.top_p": 0.95,  # these two as GLM-4.7-Flash's files
        "general.sampling.temp": 1.0,
        "general.name": "tinychat",
        "general.description": "A small model with the structure of GLM-4.7-Flash, trained on generated dialogues.",
        "general.license": "mit",
        "general.file_type": file_type,
        "general.quantization_version": 2,
        **{f"deepseek2.{key}": value for key, value in hyper.items()},
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "glm4",
        "tokenizer.ggml.tokens": tokenizer.tokens,
        "tokenizer.ggml.token_type": [kinds.get(token, _NORMAL) for token in tokenizer.tokens],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in tokenizer.merges],
        "tokenizer.ggml.bos_token_id": ids["[gMASK]"],
        "tokenizer.ggml.eos_token_id": ids["<|endoftext|>"],
        "tokenizer.ggml.eot_token_id": ids["<|user|>"],
        "tokenizer.ggml.eom_token_id": ids["<|observation|>"],
        "tokenizer.ggml.padding_token_id": ids["<|endoftext|>"],
        "tokenizer.ggml.unknown_token_id": ids["<|endoftext|>"],
        "tokenizer.ggml.add_bos_token": False,  # the template writes it
        "tokenizer.chat_template": TEMPLATE.read_text(),
    }


def write(path: Path, state: dict[str, torch.Tensor], config: dict, float32: bool = False) -> None:
    """Writes the file by renaming it into its place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ggufio.write(path, metadata(config, Tokenizer.load(), _ALL_F32 if float32 else _MOSTLY_Q8_0),
                 {name: ggufio.Tensor(values, "F32" if float32 else format_of(name, values))
                  for name, values in tensors(state, config).items()})


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--checkpoint", type=Path, required=True)
    args.add_argument("--out", type=Path, required=True)
    args.add_argument("--float32", action="store_true")
    args = args.parse_args()
    checkpoint = torch.load(args.checkpoint, map_location="cpu")
    write(args.out, checkpoint["state"], checkpoint["config"], args.float32)
    print(f"{args.out}: {args.out.stat().st_size} bytes, step {checkpoint['step']}")


if __name__ == "__main__":
    main()
