"""python3 -m unittest discover -s tools/tinychat"""

import json
import random
import re
import unittest

import numpy as np

import batches
import cases
import dialogue
import vocab
import words
from vocab import Tokenizer

SUM = re.compile(r"^(\d+) \+ (\d+): .* The sum is (\d+)\.$")


def everything(count: int):
    for i in range(count):
        yield dialogue.make(random.Random(i))


class Dialogues(unittest.TestCase):
    def test_repeatable(self):
        texts = [[d.text() for d in everything(50)] for _ in range(2)]
        self.assertEqual(*texts)

    def test_no_training_text_has_what_is_held_out(self):
        seen = 0
        for d in everything(4000):
            for m in d.messages:
                for call in m.get("calls", []):
                    values = list(call["arguments"].values())
                    content = ("city", values[0]) if isinstance(values[0], str) else ("product", *sorted(values))
                    self.assertFalse(dialogue.is_held_out(*content), content)
                    seen += 1
                numbers = re.fullmatch(r"(?:.* )?(\d+) ?(?:\+|plus) ?(\d+)(?: =)?[ .?]*", m["content"])
                if m["role"] == "user" and numbers:
                    self.assertFalse(dialogue.is_held_out("sum", *sorted(map(int, numbers.groups()))), m["content"])
                    seen += 1
        self.assertGreater(seen, 2000)

    def test_cases_are_held_out(self):
        for i in range(200):
            case = cases.make(random.Random(i), "sum")
            a, b = map(int, re.findall(r"\d+", case.messages[-1]["content"]))
            self.assertTrue(dialogue.is_held_out("sum", *sorted((a, b))))
            self.assertEqual(case.answer["content"].strip(".").split()[-1], str(a + b))

    def test_thoughts_add_up(self):
        for a, b in [(0, 0), (9, 1), (5, 95), (999, 1), (123, 456), (908, 798)]:
            x, y, total = map(int, SUM.match(dialogue.add_thoughts(a, b)).groups())
            self.assertEqual((x, y, total), (a, b, a + b))
        self.assertEqual(dialogue.add_thoughts(65, 7), "65 + 7: 5 + 7 = 12, 6 + 0 + 1 = 7. The sum is 72.")

    def test_answers_follow_from_prompts(self):
        """Equal conversations, both with thoughts or both without, never have different answers."""
        answers = {}
        for d in everything(6000):
            if len(d.messages) == 2 and not d.tools:
                question, answer = (m["content"] for m in d.messages)
                self.assertEqual(answers.setdefault((question, "reasoning" in d.messages[1]), answer), answer)
        self.assertGreater(len(answers), 800)


class Vocabulary(unittest.TestCase):
    def setUp(self):
        self.tokenizer = Tokenizer.load()

    def test_round_trip(self):
        for text in ["", "São Paulo, 天気 \n\n  x\t<think>1+2</think>", *(d.text() for d in everything(20))]:
            self.assertEqual(self.tokenizer.decode(self.tokenizer.encode(text)), text)

    def test_digits_stay_alone(self):
        self.assertFalse([t for t in self.tokenizer.tokens if len(t) > 1 and any(c.isdigit() for c in t)])
        self.assertEqual(len(self.tokenizer.encode("1234567")), 7)

    def test_size(self):
        self.assertEqual(len(set(self.tokenizer.tokens)), vocab.SIZE)
        self.assertEqual(self.tokenizer.tokens[-20:], vocab.SPECIAL_TOKENS)


class Batches(unittest.TestCase):
    def test_packed(self):
        batch = next(batches.stream(7, 3, rows=2, length=512, workers=0))
        again = next(batches.stream(7, 3, rows=2, length=512, workers=0))
        tokenizer = Tokenizer.load()
        for x, y in zip(batch, again):
            np.testing.assert_array_equal(x, y)
        for tokens, segments, answers in zip(*batch):
            for n in range(1, segments.max() + 1):
                ids = tokens[segments == n].tolist()
                self.assertTrue(tokenizer.decode(ids).startswith("[gMASK]<sop>"))
                self.assertEqual(tokenizer.decode(ids).count("[gMASK]"), 1)
            said = tokenizer.decode(tokens[answers].tolist())
            self.assertNotIn("<|assistant|>", said)
            self.assertNotIn("# Tools", said)
            self.assertFalse(answers[segments == 0].any())

    def test_answers(self):
        tokenizer = Tokenizer.load()
        text = ("[gMASK]<sop><|user|>Hi<|assistant|></think>Hi!<|user|>1+1<|assistant|>{}x</think>"
                "<tool_call>f</tool_call><|observation|><tool_response>2</tool_response>"
                "<|assistant|>{}y</think>2<|user|>")
        for last, learned in [("<think>", "x</think><tool_call>f</tool_call><|observation|>y</think>2<|user|>"),
                              ("</think>", "Hi!<|user|>x</think><tool_call>f</tool_call><|observation|>y</think>2<|user|>")]:
            ids = np.array(tokenizer.encode(text.format(last, last)), np.int16)
            self.assertEqual(tokenizer.decode(ids[batches.answers(ids, tokenizer)].tolist()), learned)


class Words(unittest.TestCase):
    def test_every_kind_of_name_is_on_both_sides(self):
        for kind, names in [("city", words.CITIES), ("person", words.PEOPLE)]:
            held_out = sum(dialogue.is_held_out(kind, n) for n in names)
            self.assertTrue(0.02 < held_out / len(names) < 0.25, f"{kind}: {held_out} of {len(names)}")


class Cases(unittest.TestCase):
    def test_file_is_up_to_date(self):
        stored = json.loads((vocab.Path(__file__).parent / "exam" / "testdata" / "cases.json").read_text())
        tokenizer, at = Tokenizer.load(), 0
        for kind, k in cases.KINDS.items():
            for i in range(k.count):
                made = cases.stored(cases.make(random.Random(f"{kind} {i}"), kind), tokenizer)
                self.assertEqual(stored[at], json.loads(json.dumps(made)))
                at += 1
        self.assertEqual(at, len(stored))


if __name__ == "__main__":
    unittest.main()
