"""Writes python.gguf with the reference implementation, the `gguf` package of the ggml project (0.19).

    pip install gguf==0.19.0 && python python.py python.gguf

The test `python.rs` states what must be read from it.
"""

import sys

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, quants

writer = GGUFWriter(sys.argv[1], "llama")
writer.add_custom_alignment(64)
writer.add_uint8("value.u8", 200)
writer.add_int8("value.i8", -100)
writer.add_uint16("value.u16", 60000)
writer.add_int16("value.i16", -30000)
writer.add_uint32("value.u32", 4000000000)
writer.add_int32("value.i32", -2000000000)
writer.add_uint64("value.u64", 2**63 + 1)
writer.add_int64("value.i64", -(2**62))
writer.add_float32("value.f32", 0.1)
writer.add_float64("value.f64", 0.1)
writer.add_bool("value.bool", True)
writer.add_string("value.string", "h\u00e9llo \U0001f980")
writer.add_array("array.strings", ["<s>", "", "\u2581the"])
writer.add_array("array.i32", [3, -1, 2])
writer.add_array("array.f32", [0.5, -1000.0])
writer.add_array("array.bool", [True, False])

# numpy has the slowest axis first: these are w[n,k], in the file k, n.
ramp = np.arange(2 * 5, dtype=np.float32).reshape(2, 5)
writer.add_tensor("plain.f32", ramp * 0.5)
writer.add_tensor("plain.f16", (ramp * -0.5).astype(np.float16))
writer.add_tensor("stack.i32", np.arange(2 * 3 * 4, dtype=np.int32).reshape(2, 3, 4))
# The largest element of each block is 127, so that scales are 1 and the integers come back exactly.
codes = (np.arange(3 * 64, dtype=np.float32) % 31 - 15).reshape(3, 64)
codes[:, ::32] = 127
writer.add_tensor("quant.q8_0", quants.quantize(codes, GGMLQuantizationType.Q8_0), raw_dtype=GGMLQuantizationType.Q8_0)
writer.add_tensor("vector.f32", np.array([1.5], dtype=np.float32))

writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
