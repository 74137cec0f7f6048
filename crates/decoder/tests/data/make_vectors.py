#!/usr/bin/env python3
"""Makes the tokenizer's test data beside this file with llama.cpp's own library. README.md says what it needs.

    make_vectors.py --libraries DIR --model FILE --prompts FILE
"""

import argparse
import ctypes
import json
import pathlib
import random
import tempfile

import gguf

HERE = pathlib.Path(__file__).parent
PRE_TOKENIZERS = ["gpt-2", "smollm", "llama-bpe", "qwen2", "qwen35", "default"]
# Of `struct llama_model_params` in release v0.4.0.
MODEL_PARAMS_BYTES = 128  # more than it has
VOCAB_ONLY = 72  # offset of this field

# Appended to the cut vocabulary: (text, token type).
EXTRA_TOKENS = [
    ("ing>", gguf.TokenType.USER_DEFINED),
    ("<thing", gguf.TokenType.USER_DEFINED),  # overlaps the one above and is longer
    ("\n\n\n", gguf.TokenType.USER_DEFINED),
    ("</s>", gguf.TokenType.NORMAL),  # known as an end by its text
    ("<|unknown|>", gguf.TokenType.UNKNOWN),
    ("\u0120hello", gguf.TokenType.NORMAL),  # no merge leads to it
]


# One subject a line. "\u0120" and the like are what a vocabulary writes for a space: here they are only letters.
WRITTEN_TEXTS = [
    "", " ", "  ", "   ", "\n", "\n\n", "\n\n\n", "\n\n\n\n", "\t", "\t\t", "\r", "\r\n", "\r\n\r\n", " \n", "\n ", " \n ", "\t\n\t", "\x00", "a\x00b",
    "a", "A", "ab", " a", "a ", " a ", "  a", "a  ", "  a  ", "   a   b    c     d",
    "Hello", "Hello, world!", "Hello,world", " hello hello", "HELLO WoRLD", "hello\nworld", "hello\r\nworld", "hello \n world", "hello\n\n\nworld", "hello \t world",
    "The quick brown fox jumps over the lazy dog.", "the the the the", "internationalization", "antidisestablishmentarianism",
    "I'm you're he's we've they'll I'd don't", "I'M YOU'RE HE'S WE'VE THEY'LL I'D DON'T", "'s't'm'd're've'll", "''s 's' '' 'S", "it\u2019s don\u2019t", "rock'n'roll o'clock 'tis", "'\u017f \u212a's 'K",
    "0", "1", "12", "123", "1234", "12345", "123456789", " 1 12 123 1234", "3.14159", "-1.5e-10", "1,000,000", "2024-12-31", "12:34:56", "0x1F 0b1010 0o17", "a1b2c3", "1st 2nd 3rd", "\u00bd \u00b2 \u2167 \u0967\u0968 \u0661\u0662\u0663", "1\u00b2 10\u2075", "$1,234.56 \u20ac99",
    "!", "!!!", "...", "?!?!", "--", "---", "a-b", "a - b", "(a)", "[b]", "{c}", "\"quoted\"", "`code`", "a/b\\c", "#$%&*+=@^_~|", "<>", "a<b>c", "foo.bar()", "@user #tag", "~!@#$%^&*()_+{}|:\"<>?`-=[]\\;',./", " .  ,  ; ", "!\n", "!\n\n x", "...\r\n...", " )\n )", "//\n//\n",
    "def f(x):\n    return x ** 2\n", "for i in range(10):\n\tprint(i)\n", "int main(void) {\n    return 0;\n}\n", "fn main() { println!(\"{}\", 1 + 2); }", "if (a && b || !c) { x += 1; }", "<div class=\"x\">text</div>", "SELECT * FROM t WHERE a = 'b';", "a = [1, 2, 3]; b = {\"k\": null}", "https://example.com/path?q=1&r=a%20b#top", "user@example.com", "C:\\Users\\x\\y.txt", "/usr/local/bin:$PATH", "snake_case camelCase PascalCase kebab-case", "x = y  # comment", "        deep\n            deeper\n", "\tone\n\t\ttwo\n", "a;b;;c", "0;\n0;\n", "```python\nprint('hi')\n```", "| a | b |\n|---|---|\n", "- item\n- item\n  - nested\n", "# Title\n\nText.\n", "\\frac{1}{2} \\alpha",
    "na\u00efve caf\u00e9 \u00fcber \u00df\u00f8\u00e5", "cafe\u0301 n\u0303 u\u0308", "\u0301", " \u0301a", "a\u0301\u0302\u0303\u0304b", "Z\u0351\u036b\u0343a\u0329\u030ali\u0334g\u0338o", "\u0130stanbul \u0131\u0307", "\ufb01ne \ufb03", "\u00c5 \u212b A\u030a",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!", "\u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac", "\u4f60\u597d\uff0c\u4e16\u754c\uff01", "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8", "\ud55c\uad6d\uc5b4 \ud14d\uc2a4\ud2b8", "\u4e2d\u6587English\u6df7\u5408123", "\u300c\u5f15\u7528\u300d\u3001\u3002\u30fb", "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22", "\u0939\u093f\u0928\u094d\u0926\u0940", "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd", "\u10e5\u10d0\u10e0\u10d7\u10e3\u10da\u10d8", "\u0540\u0561\u0575\u0565\u0580\u0565\u0576",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u202eabc\u202c", "\u200fa\u200eb", "\u0627\u0644\u0633\u0644\u0627\u0645 123 abc",
    "\U0001f600", "\U0001f600\U0001f600", " \U0001f600 ", "hi\U0001f600there", "\U0001f44d\U0001f3fd", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f1eb\U0001f1f7", "\u2764\ufe0f", "\u00a9\u00ae\u2122", "\u2192\u21d2\u2200\u2203\u2208", "\U0001d54f\U0001d7d9", "\U00020000\U0002ebf0", "\U0001f9d1\u200d\U0001f4bb codes",
    "\u00a0", "a\u00a0b", " \u00a0 a", "\u2003\u2003a", "\u3000a\u3000\u3000b", "a\u200bb", "\u2028x\u2029y", "\u0085a", "a\x0b\x0cb", "\ufeffBOM",
    "\ufffd", "\ufffe\uffff", "\u00c3\u00a9 \u00e2\u20ac\u2122", "\\x00\\xff \\u1234 &amp;", "%E4%BD%A0", "\x1b[31mred\x1b[0m", "\x7f", "\x04\x06\x13\x14\x16\x1d", "a\x06b", "\U000f0000\U0010ffff", "\ue000", "\u0378\u0379", "a\u1c89b \U000105c0c", "\u0120hello\u010a\u0100", "\u2581x\u2581y", "<0x0A>",
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", "<|im_start|>", "<|im_end|><|im_end|>", " <|im_end|> ", "a<|endoftext|>b", "<|im_start|", "|im_start|>", "<|im_start|><|im_end", "<|im_<|im_end|>end|>", "<<|im_end|>>", "<|IM_END|>", "<repo_name>x<reponame>y<file_sep>", "<issue_start><issue_comment><issue_closed>", "<jupyter_start>\n<jupyter_code>1<jupyter_output>", "\n<|im_end|>\n", "  <|im_end|>  ", "don<|im_end|>'t", "1<|im_end|>2",
    "<thing>", "thing>", "<thing", "sing>ing>", "<<thing>>", "<thinging>", "\n\n\n\n\n\n\n", "a\n\n\nb", "</s>", "x</s>y", "<s></s>", "<|unknown|>", "a<|unknown|>b", " hello", " hello hello", "hello hello", " hellohello", " hello's", "\n hello",
    "a" * 500, "ab" * 300, "-" * 200, " " * 200, " " * 200 + "x", "\n" * 100 + "x", "\t" * 50 + "x", "0123456789" * 30, "\u4e00" * 100, "\U0001f600" * 60, "'s" * 50, "ACGT" * 100, "=" * 81 + "\n" + "=" * 81, "aaaaaaaaab" * 40, "(" * 30 + ")" * 30, "e\u0301" * 40,
]


class Llama:
    """llama.cpp with one vocabulary loaded."""

    def __init__(self, libraries: pathlib.Path, model: pathlib.Path):
        def load(pattern):
            return ctypes.CDLL(str(next(libraries.glob(pattern))), mode=ctypes.RTLD_GLOBAL)

        class Params(ctypes.Structure):
            _fields_ = [("bytes", ctypes.c_uint8 * MODEL_PARAMS_BYTES)]

        load("libggml-base*.so")
        ggml = load("libggml.*.so")
        ggml.ggml_backend_load.restype = ctypes.c_void_p
        ggml.ggml_backend_load(str(libraries / "libggml-cpu-x64.so").encode())
        self.llama = load("libllama.*.so")
        self.llama.llama_model_default_params.restype = Params
        self.llama.llama_model_load_from_file.restype = ctypes.c_void_p
        self.llama.llama_model_load_from_file.argtypes = [ctypes.c_char_p, Params]
        self.llama.llama_model_get_vocab.restype = ctypes.c_void_p
        self.llama.llama_model_get_vocab.argtypes = [ctypes.c_void_p]
        self.llama.llama_vocab_is_eog.restype = ctypes.c_bool
        self.llama.llama_vocab_is_eog.argtypes = [ctypes.c_void_p, ctypes.c_int32]
        self.llama.llama_vocab_n_tokens.argtypes = [ctypes.c_void_p]
        self.llama.llama_tokenize.argtypes = [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_bool, ctypes.c_bool,
        ]
        self.llama.llama_token_to_piece.argtypes = [
            ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_bool,
        ]
        self.llama.llama_detokenize.argtypes = [
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p, ctypes.c_int32, ctypes.c_bool, ctypes.c_bool,
        ]
        params = self.llama.llama_model_default_params()
        params.bytes[VOCAB_ONLY] = 1
        self.vocab = self.llama.llama_model_get_vocab(self.llama.llama_model_load_from_file(str(model).encode(), params))

    def encode(self, text: str, parse_special: bool) -> list[int]:
        data = text.encode()
        ids = (ctypes.c_int32 * (2 * len(data) + 8))()
        count = self.llama.llama_tokenize(self.vocab, data, len(data), ids, len(ids), True, parse_special)
        assert count >= 0
        return ids[:count]

    def token_bytes(self, token: int) -> bytes:
        piece = ctypes.create_string_buffer(1024)
        count = self.llama.llama_token_to_piece(self.vocab, token, piece, len(piece), 0, True)
        assert count >= 0
        return piece.raw[:count]

    def decode(self, ids: list[int]) -> bytes:
        text = ctypes.create_string_buffer(1024 * len(ids) + 1)
        tokens = (ctypes.c_int32 * len(ids))(*ids)
        count = self.llama.llama_detokenize(self.vocab, tokens, len(ids), text, len(text), False, True)
        assert count >= 0
        return text.raw[:count]

    def count(self) -> int:
        return self.llama.llama_vocab_n_tokens(self.vocab)

    def ends(self) -> list[int]:
        return [token for token in range(self.count()) if self.llama.llama_vocab_is_eog(self.vocab, token)]


def texts(prompts: pathlib.Path) -> list[str]:
    """Written texts, the prompts, and random ones of a fixed seed; none twice."""
    result = list(WRITTEN_TEXTS)
    result += [case["prompt"] for cases in json.loads(prompts.read_text()).values() for case in cases]
    alphabets = [
        "abcdefghijklmnopqrstuvwxyz ",
        "ABC xyz 0123456789 .,;:!?'\"()[]{}<>|/\\@#$%^&*-_=+`~",
        " \t\n\r\u00a0\u2003\u3000\u0085ab1.",
        "'sStTrReEvVmMlLdD ",
        "\u00e9\u00fc\u00df\u00f1\u0131\u017f\u212a\u0301\u0308 aoe",
        "\u4e00\u4e8c\u4e09\u65e5\u672c\u8a9e\u3042\u30a2\uac00\u3001\u3002 ",
        "\u05d0\u05d1\u0627\u0628\u0660\u0967\u2167\u00bd\u00b2 1a",
        "\U0001f600\U0001f44d\U0001f3fd\u200d\u2640\ufe0f\U0001f1eb\U0001f1f7 a!",
        "<|im_start|>user\n<|im_end|>",
        "".join(map(chr, range(1, 32))) + "\x7fab",
    ]
    rng = random.Random(20)
    for alphabet in alphabets:
        result += ["".join(rng.choices(alphabet, k=rng.randint(1, 40))) for _ in range(10)]
    for _ in range(20):
        points = [rng.choice([rng.randrange(0x20, 0x250), rng.randrange(0x20, 0x3000), rng.randrange(0x1F000, 0x20000)]) for _ in range(24)]
        result.append("".join(map(chr, points)))
    result.append("".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=3000)))
    return list(dict.fromkeys(result))


def metadata(model: pathlib.Path) -> tuple[list[str], list[int], list[str]]:
    fields = gguf.GGUFReader(model).fields
    return tuple(fields[f"tokenizer.ggml.{key}"].contents() for key in ("tokens", "token_type", "merges"))


def cut(model: pathlib.Path) -> dict:
    """The first thousand tokens of a model, which only need each other, and a few more."""
    tokens, types, merges = metadata(model)
    tokens, types = tokens[:1000], types[:1000]
    merges = [pair for pair in merges if pair.replace(" ", "") in set(tokens)]
    return {
        "tokens": tokens + [text for text, _ in EXTRA_TOKENS],
        "token_types": types + [int(ty) for _, ty in EXTRA_TOKENS],
        "merges": merges,
        "bos": 1,
        "eos": 2,
    }


def write(vocabulary: dict, pre: str, path: pathlib.Path):
    """The vocabulary as a file with no tensors."""
    writer = gguf.GGUFWriter(path, "llama")
    for add in ("block_count", "context_length", "embedding_length", "feed_forward_length", "head_count"):
        getattr(writer, f"add_{add}")(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(vocabulary["tokens"])
    writer.add_token_types(vocabulary["token_types"])
    writer.add_token_merges(vocabulary["merges"])
    writer.add_bos_token_id(vocabulary["bos"])
    writer.add_eos_token_id(vocabulary["eos"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def encoded(llama: Llama, cases: list[str]) -> dict:
    """The ids with special tokens parsed; and with them as text, by the index of the text, where that differs."""
    parse = [llama.encode(text, True) for text in cases]
    plain = [llama.encode(text, False) for text in cases]
    return {"parse": parse, "plain": {i: ids for i, ids in enumerate(plain) if ids != parse[i]}}


def save(name: str, value):
    (HERE / name).write_text(json.dumps(value, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", type=pathlib.Path, required=True, help="folder of libllama and libggml")
    parser.add_argument("--model", type=pathlib.Path, required=True, help="SmolLM2 as GGUF")
    parser.add_argument("--prompts", type=pathlib.Path, required=True, help="JSON: model -> [{prompt: …}]")
    args = parser.parse_args()

    cases = texts(args.prompts)
    llama = Llama(args.libraries, args.model)
    save("smollm2.json", {
        "ends": llama.ends(),
        "texts": cases,
        **encoded(llama, cases),
    })

    small = cut(args.model)
    save("vocabulary.json", small)
    short = [text for text in cases if len(text) <= 24]
    vectors = {"texts": short, "pre": {}}
    for pre in PRE_TOKENIZERS:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "vocabulary.gguf"
            write(small, pre, path)
            llama = Llama(args.libraries, path)
            vectors["pre"][pre] = encoded(llama, short)
            vectors["ends"] = llama.ends()
            vectors["bytes"] = [llama.token_bytes(token).hex() for token in range(llama.count())]
    save("vocabulary_vectors.json", vectors)


if __name__ == "__main__":
    main()
