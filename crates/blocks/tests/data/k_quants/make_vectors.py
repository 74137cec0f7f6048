"""Makes the vectors of tests/k_quants.rs: `python make_vectors.py LIBGGML_BASE.so`, in this folder.

Rows and blocks are generated as there, operation by operation; f32 is numpy's, rounded after each operation.
"""

import ctypes
import pathlib
import sys

import numpy as np

F = np.float32
MASK = (1 << 64) - 1
MAX = np.finfo(F).max


class Random:
    """SplitMix64, as `keepq_goldens::inputs::Random`."""

    def __init__(self, seed):
        self.state = seed

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return z ^ z >> 31

    def below(self, bound):
        return ((self.bits() >> 32) * bound) >> 32

    def unit(self):
        return F(self.bits() >> 40) / F(1 << 24)

    def gaussian(self):
        total = F(0)
        for _ in range(12):
            total += self.unit()
        return total - F(6)

    def sign(self):
        return F(1) if self.bits() >> 63 == 0 else F(-1)


class Row:
    def __init__(self, random):
        self.scale = power(random.below(40) - 30)
        self.centre = random.gaussian() * self.scale
        self.at = random.below(256)
        self.width = 16 << random.below(2)
        self.offsets = [random.gaussian() for _ in range(16)]
        self.sizes = [random.unit() for _ in range(16)]


def power(exponent):
    return F(2.0**exponent)


def from_bits(bits):
    return np.uint32(bits).view(F)


def spikes(offset, size, random):
    height = np.trunc(size * F(24))
    ulps = {0: F(0), 1: height}.get(random.below(24), np.trunc(height * F(0.5)))
    return -abs(offset) * (F(1) + ulps * power(-23))


def cube(v):
    return v * v * v * F(0.02)


KINDS = [
    lambda i, b, row, random: random.gaussian() * row.scale,
    lambda i, b, row, random: (random.gaussian() * row.sizes[b] + row.offsets[b]) * row.scale,
    lambda i, b, row, random: abs(row.centre),
    lambda i, b, row, random: -abs(row.centre),
    lambda i, b, row, random: F(0) * random.sign(),
    lambda i, b, row, random: row.scale * F(100) if i == row.at else random.gaussian() * row.scale,
    lambda i, b, row, random: row.centre if i == row.at else F(0),
    lambda i, b, row, random: row.centre if i % 2 == 0 else -row.centre,
    lambda i, b, row, random: random.gaussian() * F(2e-15) * row.sizes[b],
    lambda i, b, row, random: from_bits(random.below(1 << 23)) * random.sign(),
    lambda i, b, row, random: random.gaussian() * power(60 + 4 * b),
    lambda i, b, row, random: MAX * random.unit() * random.sign(),
    lambda i, b, row, random: (random.unit() + F(0.25)) * row.scale,
    lambda i, b, row, random: (random.unit() + F(0.25)) * -row.scale,
    lambda i, b, row, random: row.centre * (F(1) + (F(random.below(9)) - F(4)) * power(-23)),
    lambda i, b, row, random: row.offsets[b] * (F(1) + (F(random.below(17)) - F(8)) * power(-22)),
    lambda i, b, row, random: row.offsets[b] * row.scale,
    lambda i, b, row, random: (F(random.below(64)) - F(31.5)) * row.scale,
    lambda i, b, row, random: random.gaussian() * row.scale if random.below(16) == 0 else F(0),
    lambda i, b, row, random: from_bits((1 + random.below(254)) << 23 | random.bits() & 0x807FFFFF),
    lambda i, b, row, random: cube(random.gaussian()),
    lambda i, b, row, random: (F(random.below(4)) - F(1)) * row.scale * F(1 + b),
    lambda i, b, row, random: (F(random.below(31)) - F(15)) * row.scale,
    lambda i, b, row, random: random.gaussian() * power(-6 * b),
    lambda i, b, row, random: spikes(row.offsets[b], row.sizes[b], random),
]
SEEDS = 4
RARE = [(24, 673), (15, 156), (17, 70), (17, 53), (17, 3178), (5, 12850), (8, 12), (1, 24), (5, 25), (5, 355), (23, 41)]
SCALES = [0x2C31, 0xA1F3, 0x0001, 0x7BFF, 0x7C00, 0x7E01, 0x8000, 0xB555]
# Name, bytes of a block, offsets of its scales.
TYPES = [("q2_K", 84, [80, 82]), ("q3_K", 110, [108]), ("q4_K", 144, [0, 2]), ("q5_K", 176, [0, 2]), ("q6_K", 210, [208])]


def make_row(kind, seed):
    random = Random(seed << 8 | kind)
    row = Row(random)
    return np.array([KINDS[kind](i, i // row.width, row, random) for i in range(256)], F)


def make_blocks(size, scales_at):
    random = Random(size)
    for n in range(len(SCALES)):
        block = bytearray(random.bits() & 255 for _ in range(size))
        for i, at in enumerate(scales_at):
            block[at : at + 2] = SCALES[(n + 3 * i) % len(SCALES)].to_bytes(2, "little")
        yield bytes(block)


def main():
    ggml = ctypes.CDLL(sys.argv[1])
    rows = [(kind, seed) for seed in range(SEEDS) for kind in range(len(KINDS))] + RARE
    x = np.concatenate([make_row(*row) for row in rows])
    for name, size, scales_at in TYPES:
        encoded = ctypes.create_string_buffer(len(rows) * size)
        ggml[f"quantize_row_{name}_ref"](x.ctypes.data_as(ctypes.c_void_p), encoded, ctypes.c_int64(x.size))
        blocks = b"".join(make_blocks(size, scales_at))
        floats = np.empty(len(SCALES) * 256, F)
        ggml[f"dequantize_row_{name}"](blocks, floats.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(floats.size))
        pathlib.Path(f"{name.lower()}.bin").write_bytes(encoded.raw + floats.astype("<f4").tobytes())


if __name__ == "__main__":
    main()
