"""The framing of binary formats, written from their descriptions: records out of files, files out of records with their
checksums made right. Shares no code with the product."""

import struct
import zlib

# ---- CRC-32C, bytewise by a table


def _table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC32C = _table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _CRC32C[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked(crc):
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


# ---- TFRecord


def tfrecords(data):
    """The messages of whole records; checksums are not asked."""
    messages, at = [], 0
    while at + 16 <= len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        if at + 16 + size > len(data):
            break
        messages.append(data[at + 12 : at + 12 + size])
        at += 16 + size
    return messages


def tfrecord(message):
    length = struct.pack("<Q", len(message))
    return length + struct.pack("<I", masked(crc32c(length))) + message + struct.pack("<I", masked(crc32c(message)))


def write_tfrecords(messages):
    return b"".join(map(tfrecord, messages))


# ---- W&B: LevelDB's log behind a header of 7 bytes

WANDB_HEADER = b":W&B\xe1\xbe\x00"
BLOCK = 32 << 10


def wandb_records(data):
    """Whole records; checksums are not asked."""
    records, parts, at = [], [], len(WANDB_HEADER)
    while at + 7 <= len(data):
        left = BLOCK - at % BLOCK
        if left < 7:
            at += left
            continue
        _, size, kind = struct.unpack_from("<IHB", data, at)
        if kind == 0 or kind > 4 or 7 + size > left:
            break
        parts.append(data[at + 7 : at + 7 + size])
        at += 7 + size
        if kind in (1, 4):
            records.append(b"".join(parts))
            parts = []
    return records


def write_wandb(records):
    out = bytearray(WANDB_HEADER)
    for record in records:
        first = True
        while True:
            left = BLOCK - len(out) % BLOCK
            if left < 7:
                out += bytes(left)
                continue
            part, record = record[: left - 7], record[left - 7 :]
            kind = (1 if not record else 2) if first else (4 if not record else 3)
            chunk = bytes([kind]) + part
            out += struct.pack("<IH", zlib.crc32(chunk), len(part)) + chunk
            first = False
            if not record:
                break
    return bytes(out)


# ---- vigil's journal

SYNC = b"\xf6vj\n"


def journal_blocks(data):
    """The header of the file, and (kind and storage, stored bytes) of each block."""
    blocks, at = [], 16
    while at + 24 <= len(data) and data[at : at + 4] == SYNC:
        (size,) = struct.unpack_from("<I", data, at + 12)
        blocks.append((data[at + 8 : at + 12], data[at + 24 : at + 24 + size]))
        at += 24 + size
    return data[:16], blocks


def journal_block(block, number):
    kind, stored = block
    fields = kind + struct.pack("<III", len(stored), crc32c(stored), number)
    return SYNC + struct.pack("<I", crc32c(fields)) + fields + stored
