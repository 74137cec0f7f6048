"""Makes gptq.safetensors and awq.safetensors beside it: weights that AutoGPTQ 0.7.1 and AutoAWQ 0.2.9 packed, and what these read them back as.

    pip download --no-deps auto-gptq==0.7.1 autoawq==0.2.9      (unpacked into one folder)
    python make.py FOLDER                                       (with torch, transformers and numpy)

The packages are not installed, since both want a GPU: the files that pack and unpack are imported by themselves.
"""

import importlib.util
import pathlib
import sys
import types

import torch
from safetensors.torch import save_file

N, K, GROUP = 32, 128, 32
HERE = pathlib.Path(__file__).parent


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def weights():
    """A layer, and scales and zero points of its groups, [n, groups]: weights are exactly what codes stand for."""
    torch.manual_seed(7)
    scales = (torch.rand(N, K // GROUP) * 0.05 + 0.01).half().float()
    zeros = torch.randint(1, 16, (N, K // GROUP)).float()
    codes = torch.randint(0, 16, (N, K)).float()
    layer = torch.nn.Linear(K, N, bias=False)
    spread = lambda of_groups: of_groups.repeat_interleave(GROUP, dim=1)
    layer.weight.data = (codes - spread(zeros)) * spread(scales)
    return layer, scales, zeros


def gptq(folder):
    package = folder / "auto_gptq/nn_modules/qlinear"
    module = load("qlinear_cuda_old", package / "qlinear_cuda_old.py")
    layer, scales, zeros = weights()
    packed = module.QuantLinear(4, GROUP, K, N, bias=False, weight_dtype=torch.float16)
    packed.pack(layer, scales.clone(), zeros.clone(), None)
    # In float32, so that nothing is rounded on the way back.
    packed.scales = packed.scales.float()
    dequantized = packed(torch.eye(K)).t().contiguous()
    tensors = dict(qweight=packed.qweight, qzeros=packed.qzeros, scales=scales.t().contiguous().half(), g_idx=packed.g_idx)
    save_file({**{f"w.{name}": tensor for name, tensor in tensors.items()}, "dequantized": dequantized}, HERE / "gptq.safetensors")


def awq(folder):
    package = next(folder.glob("autoawq-*")) / "awq"
    for name in ["awq", "awq.utils", "awq.modules", "awq.modules.linear", "awq.modules.triton"]:
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []
    utils = types.ModuleType("awq.utils.module")
    utils.try_import = lambda name: (None, "not needed")
    sys.modules["awq.utils.module"] = utils
    device = types.ModuleType("awq.utils.utils")
    device.get_best_device = lambda: "cpu"
    sys.modules["awq.utils.utils"] = device
    packing = load("awq.utils.packing_utils", package / "utils/packing_utils.py")
    module = load("awq.modules.linear.gemm", package / "modules/linear/gemm.py")
    layer, scales, zeros = weights()
    by_groups = lambda of_groups: of_groups.t().contiguous()
    packed = module.WQLinear_GEMM.from_linear(layer, 4, GROUP, scales=by_groups(scales), zeros=by_groups(zeros))
    unpacked = packing.dequantize_gemm(packed.qweight, packed.qzeros, packed.scales.float(), 4, GROUP)
    tensors = dict(qweight=packed.qweight, qzeros=packed.qzeros, scales=packed.scales)
    tensors = {f"w.{name}": tensor.contiguous() for name, tensor in tensors.items()}
    save_file({**tensors, "dequantized": unpacked.t().contiguous()}, HERE / "awq.safetensors")


folder = pathlib.Path(sys.argv[1])
gptq(folder)
awq(folder)
