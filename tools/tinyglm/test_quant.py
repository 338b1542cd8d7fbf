"""python3 -m unittest discover -s tools/tinyglm"""

import tempfile
import unittest
from pathlib import Path

import numpy as np

import ggufio
from ggufio import Tensor
from quant import FORMATS

# Root-mean-square error allowed for values of variance 1. Rounding alone gives step/sqrt(12), where the step is a
# block's range (about ±2.1 for 32 such values, ±1.8 for 16) over the number of levels; the rest is for rounded scales.
NORMAL_ERROR = {"F32": 0.0, "Q5_0": 0.045, "Q8_0": 0.006, "Q4_K": 0.075, "Q6_K": 0.018}


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


class Formats(unittest.TestCase):
    def test_normal_values(self):
        values = normal(64, 256)
        for name, form in FORMATS.items():
            with self.subTest(name):
                packed = form.encode(values)
                self.assertEqual(len(packed), values.size // form.block_values * form.block_bytes)
                error = np.sqrt(np.square(form.decode(packed).reshape(values.shape) - values).mean())
                self.assertLessEqual(error, NORMAL_ERROR[name])

    def test_exact_on_its_own_output(self):
        """Values that a format can hold survive another round, up to the rounding of the scales."""
        for name, form in FORMATS.items():
            with self.subTest(name):
                once = form.decode(form.encode(normal(16, 256)))
                twice = form.decode(form.encode(once.reshape(16, 256)))
                self.assertLess(np.sqrt(np.square(once - twice).mean()), 0.4 * NORMAL_ERROR[name] + 1e-9)

    def test_constant_blocks(self):
        for name, form in FORMATS.items():
            for constant in (0.0, 0.25, -0.25):
                with self.subTest(name, constant=constant):
                    values = np.full((1, 256), constant, np.float32)
                    np.testing.assert_allclose(form.decode(form.encode(values)), values[0], atol=2e-4)

    def test_layout(self):
        """Blocks written out by hand from ggml's layouts."""
        half_one = b"\x00\x3c"
        q5 = half_one + bytes([1, 0, 0, 0x80]) + bytes([0x21] + [0] * 14 + [0xF0])
        want = np.full(32, -16.0)
        want[[0, 16, 31]] = 1, -14, 15
        np.testing.assert_array_equal(FORMATS["Q5_0"].decode(q5), want)

        q8 = half_one + bytes([1, 0x81] + [0] * 29 + [0x7F])
        np.testing.assert_array_equal(FORMATS["Q8_0"].decode(q8)[[0, 1, 2, 31]], [1, -127, 0, 127])

        scales = bytes([1, 2, 3, 0xC4, 5, 6, 7, 8, 0, 0, 0, 0xA9])  # sub-block 7: scale 9+48, minimum 10
        q4 = half_one + half_one + scales + bytes([0x21] + [0] * 126 + [0x30])
        got = FORMATS["Q4_K"].decode(q4).reshape(8, 32)
        self.assertEqual([got[0, 0], got[1, 0], got[3, 0], got[7, 31], got[7, 0]], [1 - 5, 4 - 6, -8, 57 * 3 - 10, -10])

        q6 = bytearray(210)
        q6[0], q6[32], q6[128], q6[192:208], q6[208:] = 0x21, 0x43, 0b11100100, bytes(range(1, 17)), half_one
        got = FORMATS["Q6_K"].decode(bytes(q6)).reshape(2, 4, 32)
        self.assertEqual(got[0, :, 0].tolist(), [1 * (1 - 32), 3 * (19 - 32), 5 * (34 - 32), 7 * (52 - 32)])


class Files(unittest.TestCase):
    def test_round_trip(self):
        metadata = {"a": 7, "b": True, "c": 0.5, "d": "text", "e": ["x", "yz"], "f": [1, -2]}
        tensors = {"m": Tensor(normal(2, 3, 32), "Q5_0"), "v": Tensor(normal(5), "F32")}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.gguf"
            ggufio.write(path, metadata, tensors)
            got_metadata, got = ggufio.read(path)
        self.assertEqual(got_metadata, metadata)
        np.testing.assert_array_equal(got["v"], tensors["v"].values)
        self.assertEqual(got["m"].shape, (2, 3, 32))

    def test_row_that_does_not_fit(self):
        with self.assertRaisesRegex(ValueError, "w: rows of 33 values"):
            ggufio.write(Path("unused.gguf"), {}, {"w": Tensor(normal(1, 33), "Q5_0")})


if __name__ == "__main__":
    unittest.main()
