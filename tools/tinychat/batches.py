"""Training batches: dialogues packed into rows, made by worker processes while the model trains.

Batch i of a seed is always the same, whoever makes it and whenever.
"""

import collections
import multiprocessing
import random
from typing import Iterator, NamedTuple

import numpy as np

import dialogue
from vocab import Tokenizer

HARD_SHARE = 0.5  # of the dialogues
AHEAD = 4  # batches under way for each worker


class Batch(NamedTuple):
    """Rows of tokens, [rows, length] each. Dialogues of a row do not see each other: segment 0 is padding."""

    tokens: np.ndarray  # int16
    segments: np.ndarray  # int16, counts the dialogues of a row from 1
    answers: np.ndarray  # bool: the token is one that an assistant wrote


def answers(ids: np.ndarray, tokenizer: Tokenizer) -> np.ndarray:
    """Which tokens to learn, of those an assistant wrote: from the end of the <think> or </think> that its turn is begun with
    up to the token that ends it. Where the last turn has thoughts, turns without lost theirs: what they say did not
    come without thoughts, so it is not learned."""
    special = {name: tokenizer.ids[name] for name in ("<|assistant|>", "<|user|>", "<|observation|>")}
    marks = np.zeros(len(ids), bool)
    starts = np.flatnonzero(ids == special["<|assistant|>"]) + 2
    begin = ids[starts - 1]
    for start in starts[begin == begin[-1]]:
        ends = np.flatnonzero((ids[start:] == special["<|user|>"]) | (ids[start:] == special["<|observation|>"]))
        marks[start:start + ends[0] + 1] = True
    return marks


def pack(texts: Iterator[str], tokenizer: Tokenizer, rows: int, length: int) -> Batch:
    """Fills rows with as many texts as fit; those longer than a row are left out."""
    batch = Batch(np.zeros((rows, length), np.int16), np.zeros((rows, length), np.int16), np.zeros((rows, length), bool))
    row, used, count = 0, 0, 0
    for text in texts:
        ids = np.array(tokenizer.encode(text), np.int16)
        if len(ids) > length:
            continue
        if used + len(ids) > length:
            row, used, count = row + 1, 0, 0
        if row == rows:
            return batch
        count += 1
        here = slice(used, used + len(ids))
        batch.tokens[row, here], batch.segments[row, here] = ids, count
        batch.answers[row, here] = answers(ids, tokenizer)
        used += len(ids)
    return batch


_worker_tokenizer = None


def _start_worker() -> None:
    global _worker_tokenizer
    _worker_tokenizer = Tokenizer.load()


def drawn(rng: random.Random) -> dialogue.Dialogue:
    return dialogue.make(rng, dialogue.HARD if rng.random() < HARD_SHARE else dialogue.TURNS)


def make(seed: int, index: int, rows: int, length: int) -> Batch:
    rng = random.Random(f"{seed} {index}")
    return pack((drawn(rng).text() for _ in iter(int, 1)), _worker_tokenizer, rows, length)


def stream(seed: int, first: int, rows: int, length: int, workers: int) -> Iterator[Batch]:
    """Batches from index first on. With 0 workers they are made when they are asked for."""
    if workers == 0:
        _start_worker()
        while True:
            yield make(seed, first, rows, length)
            first += 1
    # A process that is spawned has nothing of a parent that uses a GPU.
    with multiprocessing.get_context("spawn").Pool(workers, _start_worker) as pool:
        under_way = collections.deque()
        while True:
            while len(under_way) < AHEAD * workers:
                under_way.append(pool.apply_async(make, (seed, first, rows, length)))
                first += 1
            yield under_way.popleft().get()
