"""ONNX Runtime's MatMulNBits (4 bits, accuracy level 4) for `cargo xtask bench --kernels --onnxruntime PYTHON`.

Needs onnxruntime, onnx and numpy.
"""

import peer

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    peer.missing(error)

BITS = 4
# int8 activations, the fastest that there is.
ACCURACY_LEVEL = 4
BLOCKS = (32, 128)


def quantize(rows, block):
    """Rows [n,k] as codes of 4 bits around 8: packed [n,k/block,block/2], scales [n,k/block], and the rows that these mean."""
    n, k = rows.shape
    groups = rows.reshape(n, k // block, block)
    extreme = np.take_along_axis(groups, np.abs(groups).argmax(-1)[..., None], -1)
    scales = (extreme / -8).astype(np.float32)
    scales[scales == 0] = 1
    codes = np.clip(np.rint(groups / scales) + 8, 0, 15).astype(np.uint8)
    packed = codes[..., 0::2] | (codes[..., 1::2] << 4)
    means = ((codes.astype(np.float32) - 8) * scales).reshape(n, k)
    return packed, scales[..., 0], means


def session(packed, scales, case, block, copies):
    """A session that multiplies `A` by each copy of the weights in turn."""
    n, k = case["n"], case["k"]
    nodes, weights, outputs = [], [], []
    for copy in range(copies):
        names = [f"{name}{copy}" for name in ("codes", "scales", "y")]
        nodes.append(
            onnx.helper.make_node(
                "MatMulNBits",
                ["A", names[0], names[1]],
                [names[2]],
                domain="com.microsoft",
                N=n,
                K=k,
                bits=BITS,
                block_size=block,
                accuracy_level=ACCURACY_LEVEL,
            )
        )
        # Equal weights would become one, which the caches hold: each copy begins at another row.
        codes, factors = (np.roll(part, -copy, axis=0) for part in (packed, scales))
        weights.append(onnx.numpy_helper.from_array(codes, names[0]))
        weights.append(onnx.numpy_helper.from_array(factors.reshape(-1), names[1]))
        outputs.append(onnx.helper.make_tensor_value_info(names[2], onnx.TensorProto.FLOAT, ["m", n]))
    tokens = onnx.helper.make_tensor_value_info("A", onnx.TensorProto.FLOAT, ["m", k])
    graph = onnx.helper.make_graph(nodes, "matmul", [tokens], outputs, weights)
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    model = onnx.helper.make_model(graph, opset_imports=imports)
    model.ir_version = 9
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = case["threads"]
    options.inter_op_num_threads = 1
    # Threads may spin between two multiplications, but not while others have their turn.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def prepare(case, data):
    """A side for each block length that divides k, and what is told of it."""
    n, k, m = case["n"], case["k"], case["m"]
    rows = np.fromfile(data["rows"], "<f4").reshape(-1, k)
    x = np.fromfile(data["x"], "<f4").reshape(m, k)
    sides, prepared = {}, []
    for block in (block for block in BLOCKS if k % block == 0):
        packed, scales, means = quantize(rows, block)
        repeat = -(-n // len(rows))
        all_packed, all_scales = (np.concatenate([part] * repeat)[:n] for part in (packed, scales))
        run = session(all_packed, all_scales, case, block, data["copies"])
        y = run.run(None, {"A": x})[0]
        setting = f"block {block}"
        sides[setting] = lambda run=run: run.run(None, {"A": x})
        prepared.append(
            {
                "setting": setting,
                "layout": f"MatMulNBits, accuracy level {ACCURACY_LEVEL}",
                "requantized": not np.array_equal(means, rows),
                "sample": y[data["tokens"]].reshape(-1).tolist(),
            }
        )
    return prepared, sides


def main():
    # Its warnings would come between the answers.
    onnxruntime.set_default_logger_severity(3)
    about = f"MatMulNBits, {BITS} bits, accuracy level {ACCURACY_LEVEL}"
    peer.serve(onnxruntime.__version__, about, prepare)


if __name__ == "__main__":
    peer.run(main)
