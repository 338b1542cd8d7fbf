"""The vocabulary: byte-level BPE with the glm4 pre-tokeniser, and GLM's special tokens.

    python3 vocab.py

Learns the merges from training dialogues and writes vocab.json beside this file. It needs nothing but Python; the
same dialogues give the same file. Digits are never merged: the model adds column by column.
"""

import collections
import functools
import json
import re
from pathlib import Path

SIZE = 1024
# GLM's special tokens in GLM's order; they take the last ids. Files of GLM say that the first ten are control tokens
# and the others user-defined ones, which print as text.
CONTROL_TOKENS = ["<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|system|>", "<|user|>",
                  "<|assistant|>", "<|observation|>"]
MARKUP_TOKENS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>",
                 "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"]
SPECIAL_TOKENS = CONTROL_TOKENS + MARKUP_TOKENS
TRAINING_DIALOGUES = 20_000

# The glm4 pre-tokeniser of GGUF files, in the words of Python's re, whose \w lacks marks: so do the dialogues.
_LETTER = r"[^\W\d_]"
_SPLIT = re.compile(rf"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"
                    rf"|(?:(?!{_LETTER}|\d)[^\r\n])?{_LETTER}+|\d{{1,3}}"
                    rf"| ?(?:(?!{_LETTER}|\d)\S)+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
_SPECIAL = re.compile("(" + "|".join(map(re.escape, SPECIAL_TOKENS)) + ")")


def _byte_alphabet() -> list[str]:
    """The character that stands for each byte in GGUF vocabularies: GPT-2's."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(b if b in printable else next(others)) for b in range(256)]


_ALPHABET = _byte_alphabet()
_BYTE_OF = {c: b for b, c in enumerate(_ALPHABET)}


def _pieces(text: str) -> list[str]:
    return _SPLIT.findall(text)


def _spell(piece: str) -> tuple[str, ...]:
    return tuple(_ALPHABET[b] for b in piece.encode())


def _join(symbols: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    joined, i = [], 0
    while i < len(symbols):
        both = symbols[i:i + 2] == pair
        joined.append(symbols[i] + symbols[i + 1] if both else symbols[i])
        i += 2 if both else 1
    return tuple(joined)


class Tokenizer:
    """Tokens are in the byte alphabet, merges are pairs of them in the order of their rank."""

    def __init__(self, tokens: list[str], merges: list[list[str]]):
        self.tokens, self.merges = tokens, merges
        self.ids = {token: i for i, token in enumerate(tokens)}
        self._rank = {tuple(merge): i for i, merge in enumerate(merges)}
        self._piece = functools.lru_cache(1 << 16)(self._encode_piece)
        self._span = functools.lru_cache(1 << 14)(self._encode_span)

    @classmethod
    def load(cls, path: Path = Path(__file__).with_name("vocab.json")) -> "Tokenizer":
        stored = json.loads(path.read_text())
        return cls(stored["tokens"], [merge.split(" ") for merge in stored["merges"]])

    def _encode_piece(self, piece: str) -> list[int]:
        symbols = _spell(piece)
        while len(symbols) > 1:
            best = min(zip(symbols, symbols[1:]), key=lambda pair: self._rank.get(pair, len(self._rank)))
            if best not in self._rank:
                break
            symbols = _join(symbols, best)
        return [self.ids[s] for s in symbols]

    def _encode_span(self, span: str) -> list[int]:
        if span in SPECIAL_TOKENS:
            return [self.ids[span]]
        return [token for piece in _pieces(span) for token in self._piece(piece)]

    def encode(self, text: str) -> list[int]:
        """The tokens of a text; names of special tokens are these tokens."""
        return [token for span in _SPECIAL.split(text) if span for token in self._span(span)]

    def decode(self, ids: list[int]) -> str:
        data = b""
        for token in (self.tokens[i] for i in ids):
            data += token.encode() if token in SPECIAL_TOKENS else bytes(_BYTE_OF[c] for c in token)
        return data.decode("utf-8", "replace")


def learn(texts: list[str]) -> Tokenizer:
    counts = collections.Counter(piece for text in texts for span in _SPECIAL.split(text)
                                 if span not in SPECIAL_TOKENS for piece in _pieces(span))
    words = {_spell(piece): n for piece, n in sorted(counts.items()) if not any(c.isdigit() for c in piece)}
    tokens, merges = sorted(_ALPHABET), []
    while len(tokens) < SIZE - len(SPECIAL_TOKENS):
        pairs = collections.Counter()
        for symbols, n in words.items():
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += n
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(list(best))
        if "".join(best) not in tokens:  # two merges can make the same token
            tokens.append("".join(best))
        merged = collections.Counter()
        for symbols, n in words.items():
            merged[_join(symbols, best)] += n
        words = merged
    tokens += SPECIAL_TOKENS
    return Tokenizer(tokens, merges)


def main() -> None:
    import random

    import dialogue  # which needs no vocabulary
    rng = random.Random(0)
    tokenizer = learn([dialogue.make(rng).text() for _ in range(TRAINING_DIALOGUES)])
    stored = {"tokens": tokenizer.tokens, "merges": [" ".join(merge) for merge in tokenizer.merges]}
    Path(__file__).with_name("vocab.json").write_text(json.dumps(stored, ensure_ascii=False, indent=0) + "\n")
    print(f"{len(tokenizer.tokens)} tokens, {len(tokenizer.merges)} merges")


if __name__ == "__main__":
    main()
