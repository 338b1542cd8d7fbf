"""Writes and reads GGUF version 3 files: metadata, then tensor descriptions, then aligned tensor data."""

import os
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quant import FORMATS

ALIGNMENT = 32
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_SCALARS = {_UINT32: "<I", _INT32: "<i", _FLOAT32: "<f", _BOOL: "<?"}
_FORMAT_BY_ID = {f.id: f for f in FORMATS.values()}


class Tensor(NamedTuple):
    """Values in float32 and the name of the ggml format that stores them. The last axis is the contiguous one."""

    values: np.ndarray
    format: str


def _string(s: str) -> bytes:
    data = s.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: Any) -> bytes:
    """The type number and bytes of one metadata value; integers are unsigned, integers in lists signed."""
    match value:
        case bool():
            return struct.pack("<I?", _BOOL, value)
        case int():
            return struct.pack("<II", _UINT32, value)
        case float():
            return struct.pack("<If", _FLOAT32, value)
        case str():
            return struct.pack("<I", _STRING) + _string(value)
        case [str(), *_]:
            return struct.pack("<IIQ", _ARRAY, _STRING, len(value)) + b"".join(map(_string, value))
        case [int(), *_]:
            return struct.pack(f"<IIQ{len(value)}i", _ARRAY, _INT32, len(value), *value)
    raise TypeError(f"no GGUF type for {type(value).__name__} {value!r:.40}")


def _padding(length: int) -> bytes:
    return bytes(-length % ALIGNMENT)


def write(path: Path, metadata: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    head = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(metadata))]
    head += [_string(key) + _value(value) for key, value in metadata.items()]
    data, offset = [], 0
    for name, tensor in tensors.items():
        form = FORMATS[tensor.format]
        shape = tensor.values.shape[::-1]
        if shape[0] % form.block_values:
            raise ValueError(f"{name}: rows of {shape[0]} values do not divide into {tensor.format} blocks")
        head.append(_string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, form.id, offset))
        packed = form.encode(np.ascontiguousarray(tensor.values, np.float32))
        data += [packed, _padding(len(packed))]
        offset += len(packed) + len(data[-1])
    header = b"".join(head)
    partial = path.with_suffix(".partial")
    partial.write_bytes(header + _padding(len(header)) + b"".join(data))
    os.replace(partial, path)


class _Reader:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def scalars(self, layout: str) -> tuple:
        values = struct.unpack_from(layout, self.data, self.at)
        self.at += struct.calcsize(layout)
        return values

    def string(self) -> str:
        (length,) = self.scalars("<Q")
        self.at += length
        return self.data[self.at - length:self.at].decode()

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            element, count = self.scalars("<IQ")
            return [self.value(element) for _ in range(count)]
        return self.scalars(_SCALARS[kind])[0]


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Returns the metadata and every tensor dequantised to float32, of files that write() made."""
    reader = _Reader(path.read_bytes())
    magic, version, n_tensors, n_metadata = reader.scalars("<4sIQQ")
    if magic != b"GGUF" or version != 3:
        raise ValueError(f"{path} is not a GGUF version 3 file")
    metadata = {}
    for _ in range(n_metadata):
        key = reader.string()
        metadata[key] = reader.value(*reader.scalars("<I"))
    infos = []
    for _ in range(n_tensors):
        name = reader.string()
        (n_dims,) = reader.scalars("<I")
        infos.append((name, reader.scalars(f"<{n_dims}Q"), *reader.scalars("<IQ")))
    start = reader.at + len(_padding(reader.at))
    tensors = {}
    for name, shape, kind, offset in infos:
        form = _FORMAT_BY_ID[kind]
        length = int(np.prod(shape)) // form.block_values * form.block_bytes
        packed = reader.data[start + offset:start + offset + length]
        tensors[name] = form.decode(packed).reshape(shape[::-1])
    return metadata, tensors
