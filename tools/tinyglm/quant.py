"""ggml block formats in numpy: the encoders that the export.py of the small models need and their decoders.

An encoder takes float32 rows whose length is a multiple of the block size and returns the packed bytes. Scales are
found by trying a range of step sizes around the obvious one, solving each for the least squared error, and keeping
the best; all blocks of a tensor are searched at once.

Layouts (little-endian, d and dmin are IEEE half floats):
  Q5_0   32 values, 22 bytes   d, u32 of fifth bits, 16 bytes of low nibbles (value j and j+16 share a byte)
  Q8_0   32 values, 34 bytes   d, 32 int8
  Q4_K  256 values, 144 bytes  d, dmin, 12 bytes of 6-bit scales and minimums, 128 bytes of nibbles
  Q6_K  256 values, 210 bytes  128 bytes of low nibbles, 64 bytes of high bit pairs, 16 int8 scales, d
"""

from typing import Callable, NamedTuple

import numpy as np


def _half(x: np.ndarray) -> np.ndarray:
    """Rounds to the nearest half float, as the file will hold it."""
    return x.astype(np.float16).astype(np.float32)


def _safe_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a/b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape, np.float32), where=b != 0)


def _fit_symmetric(x: np.ndarray, qmax: int) -> np.ndarray:
    """Scales s, [n], that minimise the error of x ≈ s·q for integers q in -qmax..qmax-1. x is [n, width].

    The value of largest magnitude is given the negative end of the range, which reaches one step further, so s may
    be negative.
    """
    extreme = np.take_along_axis(x, np.abs(x).argmax(1, keepdims=True), 1)[:, 0]
    best_scale = np.zeros(len(x), np.float32)
    best_gain = np.full(len(x), -1, np.float32)
    for delta in np.linspace(-1.5, 1.5, 31):
        inverse = _safe_divide(np.float32(-(qmax + delta)), extreme)
        q = np.clip(np.rint(x * inverse[:, None]), -qmax, qmax - 1)
        xq, qq = (x * q).sum(1), (q * q).sum(1)
        gain = _safe_divide(xq * xq, qq)  # the squared error is |x|² - gain
        better = gain > best_gain
        best_gain = np.where(better, gain, best_gain)
        best_scale = np.where(better, _safe_divide(xq, qq), best_scale)
    return best_scale


def _fit_affine(x: np.ndarray, qmax: int) -> tuple[np.ndarray, np.ndarray]:
    """Scales s and minimums m, both [n] and not negative, that minimise the error of x ≈ s·q - m, q in 0..qmax."""
    low = np.minimum(x.min(1), 0)
    width = np.float32(x.shape[1])
    span = np.maximum(x.max(1), 0) - low
    best = [np.zeros(len(x), np.float32), np.zeros(len(x), np.float32)]
    best_error = np.full(len(x), np.inf, np.float32)
    for delta in np.linspace(-1.0, 1.5, 26):
        inverse = _safe_divide(np.float32(qmax + delta), span)
        q = np.clip(np.rint((x - low[:, None]) * inverse[:, None]), 0, qmax)
        sum_q, sum_qq, sum_x, sum_xq = q.sum(1), (q * q).sum(1), x.sum(1), (x * q).sum(1)
        scale = _safe_divide(width * sum_xq - sum_x * sum_q, width * sum_qq - sum_q * sum_q)
        minimum = (scale * sum_q - sum_x) / width
        clamped = minimum < 0  # the format has no positive offset: fit through zero instead
        scale = np.maximum(np.where(clamped, _safe_divide(sum_xq, sum_qq), scale), 0)
        minimum = np.where(clamped, 0, minimum)
        error = np.square(scale[:, None] * q - minimum[:, None] - x).sum(1)
        better = error < best_error
        best_error = np.where(better, error, best_error)
        best = [np.where(better, scale, best[0]), np.where(better, minimum, best[1])]
    return best[0], best[1]


def encode_q5_0(x: np.ndarray) -> bytes:
    x = x.reshape(-1, 32)
    d = _half(_fit_symmetric(x, 16))
    q = (np.clip(np.rint(_safe_divide(x, d[:, None])), -16, 15) + 16).astype(np.uint8)
    fifth = np.packbits(q >> 4, axis=1, bitorder="little")
    low = (q[:, :16] & 15) | ((q[:, 16:] & 15) << 4)
    return np.concatenate([d.astype("<f2").view(np.uint8).reshape(-1, 2), fifth, low], 1).tobytes()


def decode_q5_0(data: bytes) -> np.ndarray:
    raw = np.frombuffer(data, np.uint8).reshape(-1, 22)
    d = raw[:, :2].copy().view("<f2").astype(np.float32)
    fifth = np.unpackbits(raw[:, 2:6], axis=1, bitorder="little")
    low = np.concatenate([raw[:, 6:] & 15, raw[:, 6:] >> 4], 1)
    return (d * ((low | (fifth << 4)).astype(np.float32) - 16)).reshape(-1)


def encode_q8_0(x: np.ndarray) -> bytes:
    x = x.reshape(-1, 32)
    d = _half(np.abs(x).max(1) / 127)
    q = np.clip(np.rint(_safe_divide(x, d[:, None])), -127, 127).astype(np.int8)
    return np.concatenate([d.astype("<f2").view(np.uint8).reshape(-1, 2), q.view(np.uint8)], 1).tobytes()


def decode_q8_0(data: bytes) -> np.ndarray:
    raw = np.frombuffer(data, np.uint8).reshape(-1, 34)
    d = raw[:, :2].copy().view("<f2").astype(np.float32)
    return (d * raw[:, 2:].copy().view(np.int8).astype(np.float32)).reshape(-1)


def _pack_scales(sc: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Packs eight 6-bit scales and minimums, [n, 8] each, into the 12 bytes of a K-quant block."""
    first = sc[:, :4] | ((sc[:, 4:] >> 4) << 6)
    second = m[:, :4] | ((m[:, 4:] >> 4) << 6)
    third = (sc[:, 4:] & 15) | ((m[:, 4:] & 15) << 4)
    return np.concatenate([first, second, third], 1).astype(np.uint8)


def _unpack_scales(packed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, second, third = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    sc = np.concatenate([first & 63, (third & 15) | ((first >> 6) << 4)], 1)
    m = np.concatenate([second & 63, (third >> 4) | ((second >> 6) << 4)], 1)
    return sc, m


def encode_q4_k(x: np.ndarray) -> bytes:
    x = x.reshape(-1, 8, 32)
    scale, minimum = (v.reshape(-1, 8) for v in _fit_affine(x.reshape(-1, 32), 15))
    d, dmin = _half(scale.max(1) / 63), _half(minimum.max(1) / 63)
    sc = np.clip(np.rint(_safe_divide(scale, d[:, None])), 0, 63).astype(np.uint8)
    m = np.clip(np.rint(_safe_divide(minimum, dmin[:, None])), 0, 63).astype(np.uint8)
    step, offset = (d[:, None] * sc)[..., None], (dmin[:, None] * m)[..., None]
    q = np.clip(np.rint(_safe_divide(x + offset, step)), 0, 15).astype(np.uint8)
    nibbles = q[:, 0::2] | (q[:, 1::2] << 4)  # sub-blocks 2c and 2c+1 share 32 bytes
    halves = np.stack([d, dmin], 1).astype("<f2").view(np.uint8)
    return np.concatenate([halves, _pack_scales(sc, m), nibbles.reshape(-1, 128)], 1).tobytes()


def decode_q4_k(data: bytes) -> np.ndarray:
    raw = np.frombuffer(data, np.uint8).reshape(-1, 144)
    d, dmin = raw[:, :4].copy().view("<f2").astype(np.float32).T
    sc, m = _unpack_scales(raw[:, 4:16])
    nibbles = raw[:, 16:].reshape(-1, 4, 32)
    q = np.stack([nibbles & 15, nibbles >> 4], 2).reshape(-1, 8, 32).astype(np.float32)
    return ((d[:, None] * sc)[..., None] * q - (dmin[:, None] * m)[..., None]).reshape(-1)


def encode_q6_k(x: np.ndarray) -> bytes:
    x = x.reshape(-1, 16, 16)
    scale = _fit_symmetric(x.reshape(-1, 16), 32).reshape(-1, 16)
    extreme = np.take_along_axis(scale, np.abs(scale).argmax(1, keepdims=True), 1)[:, 0]
    d = _half(extreme / -128)
    sc = np.clip(np.rint(_safe_divide(scale, d[:, None])), -128, 127).astype(np.int8)
    step = (d[:, None] * sc)[..., None]
    q = (np.clip(np.rint(_safe_divide(x, step)), -32, 31) + 32).astype(np.uint8)
    q = q.reshape(-1, 2, 4, 32)  # two halves of four runs of 32
    low = np.concatenate([q[:, :, 0] & 15 | (q[:, :, 2] & 15) << 4, q[:, :, 1] & 15 | (q[:, :, 3] & 15) << 4], 2)
    high = q[:, :, 0] >> 4 | q[:, :, 1] >> 4 << 2 | q[:, :, 2] >> 4 << 4 | q[:, :, 3] >> 4 << 6
    return np.concatenate([low.reshape(-1, 128), high.reshape(-1, 64), sc.view(np.uint8),
                           d.astype("<f2").view(np.uint8).reshape(-1, 2)], 1).tobytes()


def decode_q6_k(data: bytes) -> np.ndarray:
    raw = np.frombuffer(data, np.uint8).reshape(-1, 210)
    low, high = raw[:, :128].reshape(-1, 2, 2, 32), raw[:, 128:192].reshape(-1, 2, 1, 32)
    shifts = np.array([0, 2, 4, 6], np.uint8).reshape(4, 1)
    q = np.concatenate([low & 15, low >> 4], 2) | ((high >> shifts) & 3) << 4
    sc = raw[:, 192:208].view(np.int8).astype(np.float32)
    d = raw[:, 208:].copy().view("<f2").astype(np.float32)
    return ((d * sc)[..., None] * (q.reshape(-1, 16, 16).astype(np.float32) - 32)).reshape(-1)


class Format(NamedTuple):
    """One ggml tensor type: its number in GGUF, its block, and its two directions."""

    id: int
    block_values: int
    block_bytes: int
    encode: Callable[[np.ndarray], bytes]
    decode: Callable[[bytes], np.ndarray]


FORMATS = {
    "F32": Format(0, 1, 4, lambda x: x.astype("<f4").tobytes(), lambda data: np.frombuffer(data, "<f4")),
    "Q5_0": Format(6, 32, 22, encode_q5_0, decode_q5_0),
    "Q8_0": Format(8, 32, 34, encode_q8_0, decode_q8_0),
    "Q4_K": Format(12, 256, 144, encode_q4_k, decode_q4_k),
    "Q6_K": Format(14, 256, 210, encode_q6_k, decode_q6_k),
}
