"""Makes the folders beside it: tiny models with random weights, run by transformers (5.24 with torch 2.9.1 made these).

    python make.py

Each has config.json and model.safetensors as transformers writes them, and logits.json: the ids fed and all logits after each of them.
Weights are bf16, everything is computed in float32.
"""

import json
import pathlib
import shutil

import torch
from transformers import AutoModelForCausalLM, Gemma3TextConfig, LlamaConfig, Qwen2Config, Qwen3Config

COMMON = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
              vocab_size=64, max_position_embeddings=128, attn_implementation="eager")
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=16, rope_theta=10000.0)
MODELS = {
    "llama": LlamaConfig(**COMMON, tie_word_embeddings=True),
    "llama3": LlamaConfig(**COMMON, tie_word_embeddings=False, rope_scaling=LLAMA3),
    "qwen2": Qwen2Config(**COMMON, tie_word_embeddings=False, rope_theta=1e6),
    "qwen3": Qwen3Config(**COMMON, tie_word_embeddings=True, head_dim=32),
    "gemma3": Gemma3TextConfig(**{**COMMON, "hidden_size": 32, "num_hidden_layers": 6}, head_dim=16, sliding_window=4,
                               query_pre_attn_scalar=24),
}


def main():
    here = pathlib.Path(__file__).parent
    for seed, (name, config) in enumerate(MODELS.items()):
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
        with torch.no_grad():
            for parameter, values in model.named_parameters():
                middle = 1.0 if parameter.endswith("norm.weight") and name != "gemma3" else 0.0
                values.copy_(middle + torch.randn_like(values) * (0.3 if values.dim() == 1 else 0.2))
        folder = here / name
        shutil.rmtree(folder, ignore_errors=True)
        model.to(torch.bfloat16).save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)

        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        ids = torch.randint(0, config.vocab_size, (1, 14))
        with torch.no_grad():
            logits = model(ids).logits[0]
        text = json.dumps({"ids": ids[0].tolist(), "logits": [[round(x, 7) for x in row] for row in logits.tolist()]})
        (folder / "logits.json").write_text(text + "\n")


main()
