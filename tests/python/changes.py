"""How differential.py changes inputs, and how it compares values."""

import math
from pathlib import Path


class Stated:
    """A difference that is meant, and why: counted, not reported."""

    def __init__(self, reason):
        self.reason = reason


def kept(corpus, *targets):
    """The kept inputs of fuzz targets, in one order everywhere."""
    return [path.read_bytes() for target in targets for path in sorted((Path(corpus) / target).iterdir())]


def same(a, b):
    """Equal, bit by bit: NaN is NaN, and -0 is not 0."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return type(a) is type(b) and a == b


def tokens_changed(tokens, odd, chance):
    """One token removed, repeated, swapped with another, or replaced by one that readers may disagree about."""
    tokens = list(tokens)
    if not tokens:
        return [chance.choice(odd)]
    at, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    what = chance.randrange(5)
    if what == 0:
        del tokens[at]
    elif what == 1:
        tokens.insert(other, tokens[at])
    elif what == 2:
        tokens[at], tokens[other] = tokens[other], tokens[at]
    elif what == 3:
        tokens[at] = chance.choice(odd)
    else:
        tokens.insert(at, chance.choice(odd))
    return tokens


def frames_changed(frames, chance, edit):
    """One frame removed, repeated, swapped, or changed inside by `edit`."""
    frames = list(frames)
    if not frames:
        return frames
    at, other = chance.randrange(len(frames)), chance.randrange(len(frames))
    what = chance.randrange(8)
    if what == 0:
        del frames[at]
    elif what == 1:
        frames.insert(other, frames[at])
    elif what == 2:
        frames[at], frames[other] = frames[other], frames[at]
    else:
        frames[at] = edit(frames[at])
    return frames


def bytes_changed(data, chance):
    """One byte changed, removed or added; or the end cut off."""
    data = bytearray(data)
    at = chance.randrange(len(data) + 1)
    what = chance.randrange(4)
    if what == 0 or not data:
        data.insert(at, chance.randrange(256))
    elif what == 1:
        del data[min(at, len(data) - 1)]
    elif what == 2:
        data[min(at, len(data) - 1)] ^= 1 << chance.randrange(8)
    else:
        del data[at:]
    return bytes(data)


def odd_number(chance, bits=64):
    """Around zero, around powers of two, all ones, or any."""
    near = chance.randrange(5)
    number = chance.choice([near, (1 << chance.randrange(bits)) + near - 2, -1 - near, chance.getrandbits(bits)])
    return number & ((1 << bits) - 1)


# ---- protobuf


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def take_varint(data, at):
    """The number and where it ends; None where it does not."""
    number = 0
    for i in range(10):
        if at + i >= len(data):
            return None
        number |= (data[at + i] & 0x7F) << (7 * i)
        if data[at + i] < 0x80:
            return number & ((1 << 64) - 1), at + i + 1
    return None


def fields_of(message):
    """[(key, value)] with bytes or a number as value; None where it is no message."""
    fields, at = [], 0
    while at < len(message):
        key = take_varint(message, at)
        if key is None or not 8 <= key[0] <= 0xFFFFFFFF:
            return None
        number, at = key
        if number & 7 == 0:
            value = take_varint(message, at)
            if value is None:
                return None
            value, at = value
        elif number & 7 in (1, 5):
            size = 8 if number & 7 == 1 else 4
            if at + size > len(message):
                return None
            value, at = int.from_bytes(message[at : at + size], "little"), at + size
        elif number & 7 == 2:
            size = take_varint(message, at)
            if size is None or size[0] > len(message) - size[1]:
                return None
            value, at = message[size[1] : size[1] + size[0]], size[1] + size[0]
        else:
            return None
        fields.append((number, value))
    return fields


def message_of(fields):
    out = bytearray()
    for key, value in fields:
        out += varint(key)
        if isinstance(value, bytes):
            out += varint(len(value)) + value
        elif key & 7 == 0:
            out += varint(value)
        else:
            out += (value & ((1 << 64) - 1)).to_bytes(8, "little")[: 8 if key & 7 == 1 else 4]
    return bytes(out)


def message_changed(message, chance, depth=5):
    """One field of a message, or of one inside it, changed; lengths are made right."""
    fields = fields_of(message)
    if not fields:
        return bytes_changed(message, chance)

    def edit(field):
        key, value = field
        if isinstance(value, bytes):
            inner = fields_of(value) if depth and chance.random() < 0.8 else None
            return key, message_changed(value, chance, depth - 1) if inner else bytes_changed(value, chance)
        return key, odd_number(chance) if chance.random() < 0.5 else value ^ 1 << chance.randrange(32)

    return message_of(frames_changed(fields, chance, edit))
