"""PyTorch's int4pack, and its product of floats, for `cargo xtask bench --kernels --path PATH --torch PYTHON`.

Needs torch and numpy. ATEN_CPU_CAPABILITY (avx512, avx2, default) is torch's own way to choose its kernels; by default it takes the best.
"""

import peer

try:
    import numpy as np
    import torch
except ImportError as error:
    peer.missing(error)

INNER_K_TILES = 2  # Has no effect on a CPU.


def int4pack(case, data):
    """The codes as torch packs them, by tokens of bf16."""
    n, k = case["n"], case["k"]
    group = data["codes"]["group"]
    codes = np.fromfile(data["codes"]["codes"], np.uint8).reshape(-1, k)
    scales = np.fromfile(data["codes"]["scales"], "<u2").reshape(-1, k // group, 2)
    repeat = -(-n // len(codes))
    codes, scales = (np.concatenate([part] * repeat)[:n] for part in (codes, scales))
    scales = torch.from_numpy(np.ascontiguousarray(scales.swapaxes(0, 1)).view(np.int16)).view(torch.bfloat16)
    packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(torch.from_numpy(codes).int(), INNER_K_TILES)
    x = torch.from_numpy(np.fromfile(data["x"], "<f4").reshape(-1, k)).bfloat16()
    return lambda: torch.ops.aten._weight_int4pack_mm_for_cpu(x, packed, group, scales)


def floats(case, data):
    """The weights as floats, by tokens of floats."""
    n, k = case["n"], case["k"]
    rows = np.fromfile(data["rows"], "<f4").reshape(-1, k)
    weights = torch.from_numpy(np.concatenate([rows] * -(-n // len(rows)))[:n].copy())
    x = torch.from_numpy(np.fromfile(data["x"], "<f4").reshape(-1, k))
    return lambda: torch.nn.functional.linear(x, weights)


def prepare(case, data):
    """Both settings, and what is told of them."""
    torch.set_num_threads(case["threads"])
    sides = {"int4pack": int4pack(case, data), "f32": floats(case, data)}
    layouts = {"int4pack": f"int4pack, group {data['codes']['group']}", "f32": "f32"}
    prepared = [
        {
            "setting": setting,
            "layout": layouts[setting],
            # The same codes and scales.
            "requantized": False,
            "sample": multiply().float()[data["tokens"]].reshape(-1).tolist(),
        }
        for setting, multiply in sides.items()
    ]
    return prepared, sides


def main():
    torch.set_grad_enabled(False)
    peer.serve(torch.__version__, f"int4pack and f32, {torch.backends.cpu.get_cpu_capability()}", prepare)


if __name__ == "__main__":
    peer.run(main)
