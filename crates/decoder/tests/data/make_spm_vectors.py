#!/usr/bin/env python3
"""Makes the test data of SentencePiece vocabularies beside this file with llama.cpp's own library.

    make_spm_vectors.py --libraries DIR --gemma FILE --prompts FILE

README.md says what it needs.
"""

import argparse
import collections
import json
import pathlib
import random
import tempfile

import gguf

from make_vectors import Llama, encoded, save, texts

SPACE = "\u2581"
MERGES = 1500
RANDOM_TOKENS = 800
# What a file can say beside its tokens, by the name of the set of vectors.
VARIANTS = {
    "defaults": {},
    "no space": {"add_space_prefix": False, "add_bos_token": False, "add_eos_token": True},
    "phi-3": {"name": "a Phi-3 of a thousand tokens"},
}

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = (int(ty) for ty in gguf.TokenType)
UNDEFINED = 0
# The first of the vocabulary; the others follow from the texts.
FIRST_TOKENS = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)] + [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
OTHER_TOKENS = [
    ("<|user|>", CONTROL), ("<|assistant|>", CONTROL), ("<|endoftext|>", CONTROL),
    ("<end_of_turn>", NORMAL),  # known as an end by its text
    ("<s", NORMAL),  # leads to the control token where that is text
    (SPACE + "raw", USER_DEFINED),  # keeps its U+2581
    # Where white space belongs to the token before it, tokens of white space must differ in length from others: which of
    # equally long ones llama.cpp takes first is up to an unstable sort.
    ("\n\n", USER_DEFINED), ("\t\t\t", USER_DEFINED), (" " * 5, USER_DEFINED), (" x like", USER_DEFINED), ("\n" * 11, USER_DEFINED),
    ("ing>", USER_DEFINED), ("<thing", USER_DEFINED), ("[picture]", USER_DEFINED),
]

SPM_TEXTS = [
    "<s>", "<s>a", "a<s>", "<s> a", " <s> a <s> b", "a </s> b", "<unk>", "a<unk>b", "<s><s>", "<s> <s>", "<|user|>\nHi <|end|>\n<|assistant|>\n", "<|user|>   \t\n x", "<|endoftext|>  x", "</s>\n\n\n\n\nx", "[picture]  x", "[picture]\n\n\nx", " x like", "  x like", "a x like x like",
    "<end_of_turn>\n", "a raw b", "a\u2581raw b", "\u2581raw", "\u2581", "\u2581\u2581a", "a\u2581b", "a \u2581 b", "\u2581 \u2581", "  \u2581", " x", "  x", "   x", "      ", "       a",
    "<0x41>", "<0xe4>", "<0xE4>", "a<0x0A>b", "\u0080", "\u07ff", "\u0800", "\U00010000", "\U0010ffff", "\u4e00\u4e01\u4e02", "\u00f0\u0178\u02dc\u20ac",
    "\n" * 5, "\n" * 7, "\n" * 11, "\n" * 25, " " * 5, " " * 7, " " * 16 + "a", "\t" * 3, "\t \t\t\t\t  \n",
    "pneumonoultramicroscopicsilicovolcanoconiosis", "Donaudampfschifffahrtselektrizit\u00e4tenhauptbetriebswerkbauunterbeamtengesellschaft", "methionylthreonylthreonylglutaminylarginyl",
]
GEMMA_TEXTS = SPM_TEXTS + [
    "<start_of_turn>user\nWhy is the sky blue?<end_of_turn>\n<start_of_turn>model\n", "<bos>", "<bos><bos>", "<bos>Hello", " <bos> Hello", "<eos>", "a<eos>b", "<pad><pad>", "<mask>", "[multimodal]", "[multimodal] [multimodal]x", "<unused0>", "<unused99>x<unused100>", "<unused6241>", "<unused6242>", "<start_of_image>", "<end_of_image>x", "<start_of_turn", "start_of_turn>", "<<start_of_turn>>", "<START_OF_TURN>",
    "<table><tr><td>1</td></tr></table>", "<b>bold</b> <i>x</i>", "<h1>Title</h1>\n<p>Text</p>", "<ul>\n  <li>a</li>\n</ul>", "<br>", "<br/>", "</strong>", "<code>x</code>", "< table >", "<blockquote>",
    *["\n" * count + "x" for count in (8, 16, 30, 31, 32, 33, 62, 100)], *["a" + " " * count + "b" for count in (2, 3, 8, 15, 16, 29, 30, 31, 32, 33, 64, 100)], *["\t" * count + "x" for count in (2, 4, 8, 29, 30, 31, 32, 64)], " \n" * 20, "\n " * 20, "\n\t" * 20, "  \n\n  \n\n",
    "def fib(n):\n    if n < 2:\n        return n\n    return fib(n - 1) + fib(n - 2)\n\n\nprint([fib(i) for i in range(10)])\n",
    "impl<'a> Iterator for Lines<'a> {\n    type Item = &'a str;\n\n    fn next(&mut self) -> Option<&'a str> {\n        self.rest.split_once('\\n').map(|(line, _)| line)\n    }\n}\n",
    "#include <stdio.h>\n\nint main(void)\n{\n\tprintf(\"%d\\n\", 1 << 4);\n\treturn 0;\n}\n",
    "SELECT name, COUNT(*) AS n\nFROM people\nWHERE age >= 18\nGROUP BY name\nHAVING n > 1;\n", "{\"a\": [1, 2.5e-3, null, true], \"b\": {\"c\": \"\\u00e9\"}}", "$ ls -la | grep '^d' && echo \"done\" > /dev/null 2>&1", "\\begin{align}\n  E &= mc^2 \\\\\n\\end{align}", "```rust\nlet x = 1;\n```",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01", "\u10d2\u10d0\u10db\u10d0\u10e0\u10ef\u10dd\u10d1\u10d0", "\u0532\u0561\u0580\u0587", "\u12a0\u121b\u122d\u129b", "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd", "\u1019\u103c\u1014\u103a\u1019\u102c", "\u1797\u17b6\u179f\u17b6\u1781\u17d2\u1798\u17c2\u179a", "\u0f56\u0f7c\u0f51\u0f0b\u0f66\u0f90\u0f51", "\u0dc3\u0dd2\u0d82\u0dc4\u0dbd", "\u1403\u14c4\u1483\u144e\u1450\u1466", "\U00012000\U00012001", "\U00013000", "\U0001d11e",
    "Ti\u1ebfng Vi\u1ec7t c\u00f3 d\u1ea5u", "T\u00fcrk\u00e7e \u0130I\u0131i", "\u6c49\u5b57\u3001\u6f22\u5b57\uff08\u304b\u3093\u3058\uff09", "\uff21\uff22\uff23\uff11\uff12\uff13", "\u212b\u2160\u2460\u3231", "\U0001f468\U0001f3fb\u200d\u2764\ufe0f\u200d\U0001f48b\u200d\U0001f468\U0001f3ff", "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "\U0001fae8\U0001f6dc",
    "x" * 700, "ab" * 400, "antidis" * 60, "\u65e5" * 300, "\U0001f600" * 100, "=" * 300, "-" * 333, "." * 257, "0" * 400, "1234567890" * 40, "aA" * 200, "ACGTTGCA" * 60,
]


def train(cases: list[str], merges: int) -> list[str]:
    """The tokens that byte-pair encoding finds in the texts, the most frequent pair first."""
    symbols = [list(case.replace(" ", SPACE)) for case in cases]
    tokens = []
    while len(tokens) < merges:
        pairs = collections.Counter()
        for text in symbols:
            pairs.update(zip(text, text[1:]))
        (left, right), count = min(pairs.items(), key=lambda item: (-item[1], item[0]))
        if count < 2:
            break
        for text in symbols:
            at = 0
            while (at := at + 1) < len(text):
                if text[at - 1] == left and text[at] == right:
                    text[at - 1:at + 1] = [left + right]
        tokens.append(left + right)
    return tokens


def vocabulary(cases: list[str]) -> dict:
    """A vocabulary with many equal scores, missing characters, and tokens of all types that merges lead to."""
    rng = random.Random(21)
    characters = sorted({c for case in cases for c in case.replace(" ", SPACE)} | set(map(chr, range(32, 127))) - {" "})
    characters = [c for c in characters if c.isascii() or c == SPACE or rng.random() < 0.6]
    characters.remove("\0")  # ends a token for llama.cpp
    trained = train([case for case in cases if len(case) <= 120 and "\0" not in case], MERGES)
    pieces = characters + trained
    tokens = [*FIRST_TOKENS, *OTHER_TOKENS]
    scores = [0.0] * len(FIRST_TOKENS) + [-1000.0] * len(OTHER_TOKENS)
    tokens += [(c, NORMAL) for c in characters]
    scores += [0.0] * len(characters)
    for rank, token in enumerate(trained):
        ty = rng.choices([NORMAL, UNUSED, CONTROL, UNDEFINED], [100, 2, 1, 1])[0]
        tokens.append((token, NORMAL if ty == CONTROL and len(token) < 12 else ty))
        scores.append(-float(rank))
    for _ in range(RANDOM_TOKENS):
        tokens.append((rng.choice(pieces) + rng.choice(pieces), NORMAL))
        scores.append(rng.choice([0.0, -0.0, -3.5, -40.0, -40.0, -700.0, -700.25, 2.0, 1e30]))
    known = {}
    for (token, ty), score in zip(tokens, scores):
        known.setdefault(token, (ty, score))
    return {
        "tokens": list(known),
        "token_types": [ty for ty, _ in known.values()],
        "scores": [score for _, score in known.values()],
    }


def write(vocabulary: dict, variant: dict, path: pathlib.Path):
    """The vocabulary as a file with no tensors; without the keys that have defaults."""
    writer = gguf.GGUFWriter(path, "llama")
    for add in ("block_count", "context_length", "embedding_length", "feed_forward_length", "head_count"):
        getattr(writer, f"add_{add}")(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(vocabulary["tokens"])
    writer.add_token_types(vocabulary["token_types"])
    writer.add_token_scores(vocabulary["scores"])
    for key, value in variant.items():
        if key == "name":
            writer.add_name(value)
        else:
            writer.add_bool(f"tokenizer.ggml.{key}", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def concatenations(tokens: list[str], count: int) -> list[str]:
    """Texts made of random tokens, which merges have most to do with."""
    rng = random.Random(22)
    return ["".join(rng.choices(tokens, k=rng.randint(2, 6))).replace(SPACE, " ") for _ in range(count)]


def decoded(llama: Llama, lists: list[list[int]]) -> list[str]:
    """The bytes of ids, in hexadecimal digits."""
    return [llama.decode(ids).hex() for ids in lists]


def unique(cases: list[str]) -> list[str]:
    return list(dict.fromkeys(cases))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", type=pathlib.Path, required=True, help="folder of libllama and libggml")
    parser.add_argument("--gemma", type=pathlib.Path, required=True, help="Gemma 3 as GGUF")
    parser.add_argument("--prompts", type=pathlib.Path, required=True, help="JSON: model -> [{prompt: …}]")
    args = parser.parse_args()

    common = texts(args.prompts)
    small = vocabulary(unique(SPM_TEXTS + common))
    save("spm_vocabulary.json", small)
    normal = [token for token, ty in zip(small["tokens"], small["token_types"]) if ty == NORMAL]
    cases = unique([text for text in common if len(text) <= 24] + SPM_TEXTS + concatenations(normal, 200))
    rng = random.Random(23)
    lists = [rng.choices(range(len(small["tokens"])), k=rng.randint(0, 6)) for _ in range(100)]
    vectors = {"texts": cases, "lists": lists, "variants": {}}
    for name, variant in VARIANTS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "vocabulary.gguf"
            write(small, variant, path)
            llama = Llama(args.libraries, path)
            vectors["variants"][name] = {**encoded(llama, cases), "decoded": decoded(llama, lists)}
            vectors["ends"] = llama.ends()
            vectors["bytes"] = [llama.token_bytes(token).hex() for token in range(llama.count())]
    save("spm_vectors.json", vectors)

    llama = Llama(args.libraries, args.gemma)
    normal = [token for token in gguf.GGUFReader(args.gemma).fields["tokenizer.ggml.tokens"].contents() if token[0] != "<"]
    cases = unique(common + GEMMA_TEXTS + concatenations(normal, 60))
    save("gemma3.json", {"ends": llama.ends(), "texts": cases, **encoded(llama, cases)})


if __name__ == "__main__":
    main()
