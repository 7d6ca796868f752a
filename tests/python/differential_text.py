"""Inputs of differential.py that are text, and what other readers make of them: Python's json and csv."""

import csv
import io
import json
import re

import changes

# ---- JSON

JSON_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[-+.\w]+|\s+|.', re.DOTALL)
# What readers of JSON disagree about most.
JSON_ODD = [
    *b"NaN Infinity -Infinity nan -inf -0 -0.0 0 01 1. .5 +1 1e5 1E+05 1e - 1e400 -1e400 1e-400 4.9e-324 0.1 8.5e-1".split(),
    *b"9007199254740993 123456789012345678901234567890 2.2250738585072011e-308 1.7976931348623157e308".split(),
    *b"1.7976931348623159e308 0e0 0.30000000000000004 true nul None 'a' /**/ // { } [ ] , :".split(),
    *rb'"" "\u00e9" "\ud834\udd1e" "\uD834\uDD1E" "\ud834" "\udd1e\ud834" "\ud834\u0041" "\u0000" "\x" "\u12"'.split(),
    *(rb'"\/\b\f\n\r\t\"\\"', b'"a\tb"', b'"\x00"', b'"\xff\xfe"', "é".encode(), '"\U0001d11e"'.encode()),
    *(b"\n", b"\r", b"\t", b"\x0b", b"\xc2\xa0", b"\xef\xbb\xbf"),
]
JSON_SEEDS = [
    b'{"step": 1, "loss": 0.5, "tags": ["a", "b\\u00e9"], "nested": {"x": [1, 2.5e-3, null, true, false], "y": {}}}',
    b'[1, -2, 3.25, 1e10, "text", [], {}, [[["deep"]]], {"a": {"b": {"c": []}}}]',
]


def json_inputs(corpus, chance):
    seeds = JSON_SEEDS + changes.kept(corpus, "json_documents", "trainer_state", "keras_history")
    seeds += [line for data in changes.kept(corpus, "jsonl", "titan_events") for line in data.splitlines()[:3]]
    seeds = [seed for seed in seeds if seed.startswith((b"{", b"["))]
    while True:
        tokens = JSON_TOKEN.findall(chance.choice(seeds)[:4000])
        for _ in range(chance.randint(1, 3)):
            tokens = tokens[:1] + changes.tokens_changed(tokens[1:], JSON_ODD, chance)
        data = b"".join(tokens)
        yield changes.bytes_changed(data, chance) if chance.random() < 0.1 else data


def json_tokens(value, out):
    """The tokens of a parsed document; containers by a list of what is still to do, as deep as they are."""
    todo = [value]
    while todo:
        value = todo.pop()
        if isinstance(value, Mark):
            out.append(value.token)
        elif isinstance(value, Pairs):
            out.append("{")
            todo.append(Mark("}"))
            for key, inner in reversed(value.pairs):
                todo += [inner, Mark(["key", hex_of(key)])]
        elif isinstance(value, list):
            out.append("[")
            todo += [Mark("]"), *reversed(value)]
        elif isinstance(value, bool) or value is None:
            out.append(value)
        elif isinstance(value, str):
            out.append(["text", hex_of(value)])
        else:
            out.append(["number", value])
    return out


class Pairs:
    """An object with its keys in order, also those that come twice."""

    def __init__(self, pairs):
        self.pairs = pairs


class Mark:
    def __init__(self, token):
        self.token = token


def hex_of(text):
    return text.encode(
        "utf-8", "surrogatepass" if not any("\udc80" <= c <= "\udcff" for c in text) else "surrogateescape"
    ).hex()


def json_expected(data):
    """(tokens, None), or (None, why it is refused)."""
    text = data.decode("utf-8", "surrogateescape")
    decoder = json.JSONDecoder(object_pairs_hook=Pairs, parse_int=float)
    try:
        value, _ = decoder.raw_decode(text, len(text) - len(text.lstrip(" \t\n\r")))
        return json_tokens(value, []), None
    except (ValueError, RecursionError) as error:
        return None, str(error)


def json_difference(data, found):
    if not data.lstrip(b" \t\n\r").startswith((b"{", b"[")):
        return changes.Stated("a document that is no container: no reader of vigil takes one")
    expected, refused = json_expected(data)
    if refused and "escape" in refused and found["whole"]:
        return changes.Stated("escapes that are none stay as they stand in the text")
    if refused and found["whole"] and re.search(rb"(?i)(?<!\w)(?:nan|inf)(?!\w)", data):
        return changes.Stated("words for numbers that are not finite, as other writers have them")
    if refused and found["whole"] and re.search(rb"\d\.(?:[eE]|[^\w]|$)", data):
        return changes.Stated("a number that ends in its point, as numpy prints it")
    if found["whole"] != (expected is not None):
        return f"json: {refused or 'read'}; vigil: {'read' if found['whole'] else 'refused'}"
    if expected is None:
        return None
    tokens = [["number", float(t[1])] if isinstance(t, list) and t[0] == "number" else t for t in found["tokens"]]
    for a, b in zip(expected, tokens, strict=False):
        if not changes.same(a, b):
            if surrogate(a):
                return changes.Stated("half of a surrogate pair stands for no character")
            return f"json: {a}, vigil: {b}"
    return None if len(expected) == len(tokens) else f"json: {len(expected)} tokens, vigil: {len(tokens)}"


def surrogate(token):
    """Whether a text holds half of a pair."""
    if not isinstance(token, list) or token[0] == "number":
        return False
    return re.search(rb"\xed[\xa0-\xbf]", bytes.fromhex(token[1])) is not None


# ---- tables

CSV_ODD = [
    *b'nan inf -inf Infinity 1e400 -0 .5 5. +1 1e 1e-400 0x10 1_000 007 - --1 1e+5 1E5 0.1 "a,b" "a""b" a"b , " ""'.split(),
    *b"123456789012345678901234567890 2.2250738585072011e-308 1.7976931348623159e308 9007199254740993".split(),
    *(b"\n", b"\r\n", b'"a\nb"', b" ", b'" 1 "', b"", b"\t", b"1 2"),
]


def csv_inputs(corpus, chance):
    seeds = [data[1:] for data in changes.kept(corpus, "csv")] + [b'step,loss,note\n1,0.5,"a"\n2,0.25,b\n3,,"c, d"\n']
    while True:
        tokens = re.findall(rb'[^,"\n]+|.', chance.choice(seeds)[:4000], re.DOTALL)
        for _ in range(chance.randint(1, 4)):
            tokens = changes.tokens_changed(tokens, CSV_ODD, chance)
        yield b"".join(tokens)


def csv_expected(data):
    """Rows of cells by Python's csv; None where it refuses."""
    text = data.decode("latin-1")
    try:
        return list(csv.reader(io.StringIO(text, newline=""), skipinitialspace=True))
    except csv.Error:
        return None


PLAIN_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


BEHIND_QUOTE = re.compile(rb'(?:^|[,\n]) *"(?:[^"]|"")*"[^",\r\n]')


def csv_difference(data, found):
    if BEHIND_QUOTE.search(data) or re.search(rb"\r(?!\n)", data):
        return changes.Stated("text behind a closing quote, and lone carriage returns")
    expected = csv_expected(data)
    if expected is None:
        return changes.Stated("csv refuses the text")
    rows = [[(bytes.fromhex(text), number) for text, number in row] for row in found["rows"]]
    expected = [row or [""] for row in expected]  # an empty line is a row of one empty cell
    if found["open"]:  # a quote that does not close: what is behind it is a row for Python and none for vigil
        expected = expected[: len(rows)]
    if len(expected) != len(rows):
        return f"csv: {len(expected)} rows, vigil: {len(rows)}"
    for row, cells in zip(expected, rows, strict=True):
        if len(row) != len(cells):
            return f"csv: {row}, vigil: {cells}"
        for text, (ours, number) in zip(row, cells, strict=True):
            problem = cell_difference(text, ours, number)
            if problem:
                return problem
    return None


def cell_difference(text, ours, number):
    text = text.strip(" \t\r\n")
    raw = ours.decode("latin-1").strip(" \t\r\n")
    if text not in (raw, raw.replace('""', '"')):  # doubled quotes stay doubled
        return f"csv: {text!r}, vigil: {ours!r}"
    if PLAIN_NUMBER.fullmatch(text) and (number is None or not changes.same(float(text), float(number))):
        return f"csv: {text!r} as a number, vigil: {number}"
    return None
