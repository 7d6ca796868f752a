"""Inputs of differential.py that are binary, and what other readers make of them: pickletools and an unpickler that knows
no class, tensorboard and W&B's own reader."""

import io
import pickle
import pickletools
import struct
import tempfile

import changes
import framing

# ---- pickles

PICKLED = [
    {"learning_rate": 5e-5, "steps": 1000, "name": "run", "flag": True, "none": None, "deep": {"a": {"b": (1, 2)}}},
    [0, 1, -1, 255, 256, 65535, 65536, -(2**31), 2**31, 2**62, -(2**63), 0.0, -0.0, 1e300, float("inf")],
    ("text", "é", "\U0001d11e", "a\\b'\"\n", b"bytes\xff\n", bytearray(b"array"), {1, 2}, frozenset({3})),
    ([], {}, (), (1,), (1, 2, 3, 4), [1, 2.5, "x"]),
    {f"key_{at}": at / 7 for at in range(20)},
]


def opcode_slices(data):
    """The bytes of each opcode up to where pickletools goes."""
    starts, codes = [], []
    try:
        for code, _, at in pickletools.genops(data):
            starts.append(at)
            codes.append(code)
    except Exception:  # noqa: BLE001 pickletools raises what its decoders raise
        pass
    ends = [*starts[1:], len(data)]
    return [(code, data[at:end]) for code, at, end in zip(codes, starts, ends, strict=True)]


LENGTHS = {
    pickletools.TAKEN_FROM_ARGUMENT1: 1,
    pickletools.TAKEN_FROM_ARGUMENT4: 4,
    pickletools.TAKEN_FROM_ARGUMENT4U: 4,
    pickletools.TAKEN_FROM_ARGUMENT8U: 8,
}


def opcode_changed(chance):
    """Changes an argument, with the length before it made right."""

    def edit(item):
        code, data = item
        if code.arg is None:
            return item
        length = LENGTHS.get(code.arg.n, 0)
        argument = data[1 + length :]
        if code.arg.n == pickletools.UP_TO_NEWLINE:
            changed = changes.bytes_changed(argument[:-1], chance) + b"\n"
        elif length:
            changed = changes.bytes_changed(argument, chance)[: 255 if length == 1 else None]
        else:
            changed = changes.odd_number(chance).to_bytes(8, "little")[: len(argument)]
        return code, data[:1] + (len(changed).to_bytes(length, "little") if length else b"") + changed

    return edit


def pickle_inputs(corpus, chance):
    seeds = [opcode_slices(pickle.dumps(value, protocol)) for value in PICKLED for protocol in range(6)]
    seeds += [opcode_slices(changes.kept(corpus, "training_args")[0][15:])]
    while True:
        slices = chance.choice(seeds)
        for _ in range(chance.randint(1, 3)):
            slices = changes.frames_changed(slices, chance, opcode_changed(chance))
            if chance.random() < 0.3:  # an opcode of another pickle
                slices.insert(chance.randrange(len(slices) + 1), chance.choice(chance.choice(seeds)))
        data = b"".join(data for code, data in slices if code.name != "FRAME")
        if chance.random() < 0.5:
            yield framed(data)
        else:
            yield changes.bytes_changed(data, chance) if chance.random() < 0.2 else data


def framed(data):
    """With one frame around all of it, behind the protocol."""
    return data[:2] + b"\x95" + struct.pack("<Q", len(data) - 2) + data[2:] if data[:1] == b"\x80" else data


class Plain(pickle._Unpickler):
    """Knows no class and calls nothing: plain values or an error. Of python's two unpicklers the one in Python: that in C
    reads "I+1" as True, and loses its place where a frame ends inside an opcode."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"imports {module}.{name}")

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("a persistent id")


class TooDeep(Exception):
    pass


class Unknown(Exception):
    pass


def from_vigil(values, at, depth=0):
    """The value at an index as Python's; lists stand for tuples and sets, too."""
    if depth > 50:
        raise TooDeep
    kind, *rest = values[at]
    if kind == "none":
        return None
    if kind == "truth":
        return rest[0]
    if kind == "whole":
        return int(rest[0])
    if kind == "number":
        return float(rest[0])
    if kind == "text":
        return bytes.fromhex(rest[0])
    items = [from_vigil(values, item, depth + 1) for item in rest[0]] if kind in ("list", "dict") else None
    if items is None:
        raise Unknown
    return ("list", items) if kind == "list" else ("dict", list(zip(items[::2], items[1::2], strict=False)))


def plain(value, depth=0):
    """The same of what Python read."""
    if depth > 50:
        raise TooDeep
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, (list, tuple)):
        return "list", [plain(item, depth + 1) for item in value]
    if isinstance(value, (set, frozenset)):
        return "set", [plain(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return "dict", [(plain(key, depth + 1), plain(item, depth + 1)) for key, item in value.items()]
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return None  # stated: a number of more than 64 bits is read as nothing
    if value is not None and not isinstance(value, (bool, int, float)):
        raise Unknown  # a buffer, an iterator: nothing that settings hold
    return value


def key_of(value):
    """What is the same for keys that are equal: 1, 1.0 and True are one key."""
    if isinstance(value, (bool, int, float)) and value == value:
        return value
    if isinstance(value, tuple):  # a tuple, or a set, whose order says nothing
        return "group", tuple(sorted(repr(key_of(item)) for item in value[1]))
    return repr(value)


def pickle_agrees(expected, found):
    """Lists of vigil's stand for sets of Python's, too; of equal keys the last value counts."""
    if not isinstance(expected, tuple) or not isinstance(found, tuple):
        return repr(expected) == repr(found)
    if expected[0] == "set":
        return found[0] == "list" and set(map(key_of, expected[1])) == set(map(key_of, found[1]))
    if expected[0] != found[0]:
        return False
    if expected[0] == "list":
        return len(expected[1]) == len(found[1]) and all(map(pickle_agrees, expected[1], found[1]))
    theirs = {key_of(key): value for key, value in expected[1]}
    ours = {key_of(key): value for key, value in found[1]}
    return theirs.keys() == ours.keys() and all(pickle_agrees(theirs[key], ours[key]) for key in theirs)


# What pickletools says of bytes that end too early or are no opcode; its other complaints are about contents.
BROKEN = ("unknown", "exhausted", "not enough data", "expected ", "no newline")


def pickle_difference(data, found):
    try:
        for _, _, at in pickletools.genops(data):
            end = at + 1
    except Exception as error:  # noqa: BLE001 pickletools raises what its decoders raise
        broken = not isinstance(error, UnicodeError) and any(word in str(error) for word in BROKEN)
        if broken and not found["problem"]:
            return f"pickletools: {error}; vigil: read {found['bytes']} bytes"
        return None
    try:
        value = Plain(io.BytesIO(data)).load()
        expected = plain(value)
    except (TooDeep, RecursionError):
        return changes.Stated("values inside of values, deeper than settings are")
    except Exception:  # noqa: BLE001 whatever building a value may raise
        return changes.Stated("python refuses to build the value, which vigil does not build")
    if found["problem"]:
        return f"pickle: {str(value)[:80]}; vigil: {bytes.fromhex(found['problem']).decode()}"
    if found["bytes"] != end:
        return f"pickle ends at {end}, vigil at {found['bytes']}"
    try:
        ours = from_vigil(found["values"], found["root"])
    except (TooDeep, Unknown):
        return changes.Stated("values inside of values, deeper than settings are")
    return None if pickle_agrees(expected, ours) else f"pickle: {str(expected)[:200]}; vigil: {str(ours)[:200]}"


# ---- event files


def tfevents_inputs(corpus, chance):
    seeds = [framing.tfrecords(data) for data in changes.kept(corpus, "tfevents")]
    seeds = [seed for seed in seeds if seed]
    while True:
        messages = chance.choice(seeds)
        for _ in range(chance.randint(1, 3)):
            messages = changes.frames_changed(
                messages, chance, lambda message: changes.message_changed(message, chance)
            )
        data = framing.write_tfrecords(messages)
        yield data[: chance.randrange(len(data) + 1)] if chance.random() < 0.1 else data


HIGHEST_STEP = 2**53


class Undecoded(Exception):
    pass


def number_in(tensor):
    """The number in a tensor of one element, None in one of others."""
    from slow_readers import tensor_number
    from tensorboard.util.tensor_util import make_ndarray

    if tensor.dtype not in tensor.DESCRIPTOR.fields_by_name["dtype"].enum_type.values_by_number:
        raise Undecoded
    try:
        number = tensor_number(tensor)
        if number is None:
            make_ndarray(tensor)
        return number
    except Exception as error:  # noqa: BLE001 whatever numpy may raise for types and shapes that are none
        raise Undecoded from error


def values_of(path):
    """Points as tensorboard decodes them, by the rules that vigil states: events without a time and points without a
    step are left out, and what a tag says twice at one step counts once."""
    from check_tfevents import append, counted
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    series, described, has_steps = {}, {}, False
    for raw in RawEventFileLoader(path).Load():
        event = Event.FromString(raw)
        if event.wall_time != event.wall_time:
            continue
        has_steps = has_steps or event.step != 0
        for value in event.summary.value:
            kind = value.WhichOneof("value")
            if kind not in ("simple_value", "tensor", "histo") and not value.metadata.plugin_data.plugin_name:
                continue
            plugin = described.setdefault(value.tag, value.metadata.plugin_data.plugin_name)
            number = value.simple_value if kind == "simple_value" else None
            if kind == "tensor" and plugin in ("", "scalars"):
                number = number_in(value.tensor)
            if number is not None and 0 <= event.step <= HIGHEST_STEP:
                append(series.setdefault(value.tag, []), (event.step, event.wall_time, float(number)))
    # Megatron writes the same values once more, over the samples it has seen.
    twins = {tag for tag in series if tag.endswith(" vs samples") and tag.removesuffix(" vs samples") in described}
    series = {tag: points for tag, points in series.items() if tag not in twins}
    return series if has_steps else counted(series)


def tfevents_difference(data, found):
    import check_tfevents
    from google.protobuf.message import DecodeError

    if any(is_split(message) for message in framing.tfrecords(data)):
        return changes.Stated("one message in two parts, which protobuf joins and no writer makes")
    with tempfile.NamedTemporaryFile(suffix=".tfevents") as file:
        file.write(data)
        file.flush()
        try:
            expected = values_of(file.name)
        except Undecoded:
            return changes.Stated(
                "a tensor that tensorboard cannot decode: elements left out, or in fields of another type"
            )
        except DecodeError:
            return changes.Stated("protobuf refuses a whole message for what vigil passes over")
    ours = {}
    for name, points in found["series"]:
        tag = bytes.fromhex(name).decode("utf-8", "replace")
        if not tag.startswith("histogram/"):
            ours[tag] = [(int(step), float(time), float(value)) for step, time, value in points]
    return check_tfevents.difference(expected, ours)


def is_split(message):
    """Whether a field that stands once at the most (of an event, of a value in its summary) stands there again."""
    fields = changes.fields_of(message) or []
    keys = [key for key, value in fields if isinstance(value, bytes)]
    if len(keys) != len(set(keys)):
        return True
    for summary in [value for key, value in fields if key == 0x2A]:
        for _, value in changes.fields_of(summary) or []:
            inner = [key for key, _ in changes.fields_of(value) or []] if isinstance(value, bytes) else []
            if len(inner) != len(set(inner)):
                return True
    return False


# ---- logs of W&B


def wandb_inputs(corpus, chance):
    seeds = [framing.wandb_records(data) for data in changes.kept(corpus, "wandb")]
    while True:
        records = chance.choice(seeds)
        for _ in range(chance.randint(1, 3)):
            records = changes.frames_changed(records, chance, lambda record: changes.message_changed(record, chance))
        if chance.random() < 0.2:  # a record over several blocks
            records = [*records, chance.choice(records or [b"x"]) * chance.randrange(300)]
        data = framing.write_wandb(records)
        yield changes.bytes_changed(data, chance) if chance.random() < 0.2 else data


def wandb_difference(data, found):
    from wandb.sdk.internal import datastore

    expected = []
    with tempfile.NamedTemporaryFile(suffix=".wandb") as file:
        file.write(data)
        file.flush()
        store = datastore.DataStore()
        try:
            store.open_for_scan(file.name)
            while (record := store.scan_data()) is not None:
                expected.append(record.hex())
        except AssertionError:
            pass  # cut or damaged: it goes no further
        except Exception as error:  # noqa: BLE001 it was not written for damaged files
            return changes.Stated(f"W&B's reader fails with {type(error).__name__}")
    # A file that does not begin like one is refused before records are looked for.
    if not data.startswith(framing.WANDB_HEADER):
        return changes.Stated("a damaged beginning: vigil does not take the file for one of W&B")
    if found["records"][: len(expected)] == expected and len(found["records"]) == len(expected):
        return None
    return f"wandb: {len(expected)} records, vigil: {len(found['records'])}, damaged: {found['damaged']}"
