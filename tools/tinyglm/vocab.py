"""Trains tinyglm's byte-level BPE vocabulary and encodes the corpus with it.

    python3 vocab.py --dir build/tinyglm

Reads corpus.tar.xz; writes tokenizer.json, train.npy and heldout.npy (uint16 token streams in which every source
file ends with <|endoftext|>).
"""

import argparse
import tarfile
from pathlib import Path

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from model import CONFIG, SPECIAL_TOKENS

# The glm4 pre-tokeniser of GGUF files.
GLM4_SPLIT = (r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
              r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SPLIT_SPACE = 0.03  # share of the tokens with a leading space that training sees as two tokens


def read_corpus(path: Path) -> dict[str, list[str]]:
    """Returns the source files of the splits "train" and "heldout"."""
    splits = {"train": [], "heldout": []}
    with tarfile.open(path) as archive:
        for member in archive:
            split = member.name.partition("/")[0]
            if split in splits:
                splits[split].append(archive.extractfile(member).read().decode("utf-8", "replace"))
    return splits


def train_tokenizer(texts: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(GLM4_SPLIT), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=CONFIG["vocab_size"] - len(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    ))
    tokenizer.add_special_tokens(SPECIAL_TOKENS)  # numbered after the vocabulary, as GLM does
    return tokenizer


def encode(tokenizer: Tokenizer, texts: list[str]) -> np.ndarray:
    end = tokenizer.token_to_id("<|endoftext|>")
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    return np.concatenate([np.array(e.ids + [end], np.uint16) for e in encoded])


def split_spaces(tokenizer: Tokenizer, ids: np.ndarray) -> np.ndarray:
    """Writes some tokens " x" as " " and "x".

    A prompt such as "func " ends in a lone space token, which running text has only before digits. Without these
    splits the model would continue such a prompt with a number.
    """
    space = tokenizer.token_to_id("Ġ")
    rest = np.zeros(tokenizer.get_vocab_size(), np.uint16)
    for token, token_id in tokenizer.get_vocab().items():
        if token.startswith("Ġ") and (stripped := tokenizer.token_to_id(token[1:])) is not None:
            rest[token_id] = stripped
    chosen = np.random.default_rng(0).random(len(ids)) < SPLIT_SPACE
    positions = np.flatnonzero(chosen & (rest[ids] > 0))
    ids = ids.copy()
    ids[positions] = rest[ids[positions]]
    return np.insert(ids, positions, space)


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--dir", type=Path, required=True)
    folder = args.parse_args().dir

    corpus = read_corpus(folder / "corpus.tar.xz")
    tokenizer = train_tokenizer(corpus["train"])
    tokenizer.save(str(folder / "tokenizer.json"))
    train = split_spaces(tokenizer, encode(tokenizer, corpus["train"]))
    held_out = encode(tokenizer, corpus["heldout"])
    np.save(folder / "train.npy", train)
    np.save(folder / "heldout.npy", held_out)
    held_out_bytes = sum(len(text.encode()) for text in corpus["heldout"])
    print(f"vocabulary {tokenizer.get_vocab_size()}; {len(train)} training tokens, {len(held_out)} held-out tokens "
          f"({held_out_bytes / len(held_out):.3f} bytes each)")


if __name__ == "__main__":
    main()
