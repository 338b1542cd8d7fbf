"""Held-out cases: prompts whose content is in no training dialogue, each with the only right answer.

    python3 cases.py --out exam/testdata/cases.json

The same program gives the same cases. Package exam has the model answer them through the project's engine.
"""

import argparse
import json
import random
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

import dialogue
import render
from dialogue import Context
from vocab import Tokenizer


class Kind(NamedTuple):
    """Cases of one kind."""

    turn: str  # of dialogue.TURNS
    answer: int  # which assistant's message of the turn is asked for
    tools: bool  # whether tools that the turn needs are declared
    count: int  # in the file


KINDS = {
    "sum": Kind("sum", 0, False, 80),
    "count": Kind("count", 0, False, 30),
    "name": Kind("introduction", 0, False, 20),
    "small talk": Kind("talk", 0, False, 20),
    "weather call": Kind("weather", 0, True, 40),
    "weather answer": Kind("weather", 1, True, 30),
    "product call": Kind("product", 0, True, 40),
    "product answer": Kind("product", 1, True, 30),
}


class Case(NamedTuple):
    kind: str
    messages: list[dict]  # of the prompt
    tools: list[dict]
    thinking: bool
    keep_thinking: bool
    answer: dict  # the assistant's message

    def prompt(self) -> str:
        return render.prompt(self.messages, self.tools, self.thinking, self.keep_thinking)

    def wanted(self) -> str:
        """What the model should write, with the token that ends its turn."""
        end = "<|observation|>" if "calls" in self.answer else "<|user|>"
        return render.answer_text(self.answer, self.thinking) + end


def make(rng: random.Random, kind: str) -> Case:
    """A case, half of them with thoughts, some with turns of training dialogues before."""
    k = KINDS[kind]
    while True:
        c = Context(thinking=rng.random() < 0.5)
        messages, tools = dialogue.begin(rng, c, k.tools or rng.random() < 0.2)
        if k.tools and k.turn not in c.tools:
            continue
        messages += dialogue.turns(rng, c, rng.choices([0, 1, 2], [4, 2, 1])[0])
        c.held_out = True
        messages += dialogue.TURNS[k.turn][0](rng, c)
        keep = rng.random() < 0.1
        last_user = max(i for i, m in enumerate(messages) if m["role"] == "user")
        at = [i for i in range(last_user, len(messages)) if messages[i]["role"] == "assistant"][k.answer]
        before = dialogue.forget(rng, messages[:at], c.thinking, keep)
        return Case(kind, before, tools, c.thinking, keep, messages[at])


def stored(case: Case, tokenizer: Tokenizer) -> dict:
    """A case as the file has it, with checks of the prompt's text and tokens. JSON texts stand as they were rendered."""
    def message(m: dict) -> dict:
        calls = [{"name": call["name"], "arguments": json.dumps(call["arguments"], ensure_ascii=False)}
                 for call in m.get("calls", [])]
        return {k: v for k, v in m.items() if k != "calls"} | ({"calls": calls} if calls else {})

    text = case.prompt() + case.wanted()
    ids = np.array(tokenizer.encode(text), "<u2")
    return {"kind": case.kind, "messages": [message(m) for m in case.messages],
            "tools": [json.dumps(tool, ensure_ascii=False) for tool in case.tools], "thinking": case.thinking,
            "keep_thinking": case.keep_thinking, "answer": message(case.answer), "wanted": case.wanted(),
            "text_crc": zlib.crc32(text.encode()), "tokens": len(ids), "tokens_crc": zlib.crc32(ids.tobytes())}


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--out", type=Path, required=True)
    args = args.parse_args()
    tokenizer = Tokenizer.load()
    cases = [stored(make(random.Random(f"{kind} {i}"), kind), tokenizer)
             for kind, k in KINDS.items() for i in range(k.count)]
    lines = ",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(f"[\n{lines}\n]\n")
    print(f"{args.out}: {len(cases)} cases, {args.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
