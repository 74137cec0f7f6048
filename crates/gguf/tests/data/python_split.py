"""Writes python-00001-of-00003.gguf and the two after it with the reference implementation, the `gguf` package of the ggml
project (0.19).

    pip install gguf==0.19.0 && python python_split.py python.gguf

The test `python.rs` states what must be read from them.
"""

import sys

import numpy as np
from gguf import GGUFWriter

writer = GGUFWriter(sys.argv[1], "llama", split_max_tensors=2, small_first_shard=True)
writer.add_string("general.name", "in three files")
writer.add_array("array.strings", ["<s>", "</s>"])
for number in range(4):
    writer.add_tensor(f"blk.{number}.attn_norm.weight", np.arange(5, dtype=np.float32) + 10 * number)

writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
