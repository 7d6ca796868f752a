"""Writes inputs above 64 KiB for the fuzz targets, so that also a short walk reads files in several pieces.

usage: large_seeds.py CORPUS INTO

They are made of the small ones in CORPUS (fuzz/corpus) and of rows repeated, and not kept: INTO/<target>/large-*.
"""

import struct
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))
import framing  # noqa: E402

LARGE = 80 << 10


def repeated(row, head="", tail=""):
    """Rows numbered from 0 until the whole is large."""
    rows, size, at = [], 0, 0
    while size < LARGE:
        rows.append(row(at))
        size += len(rows[-1])
        at += 1
    return (head + "".join(rows) + tail).encode()


def metrics(at):
    return f'{{"step": {at}, "loss": {2.5 / (1 + at):.6f}, "learning_rate": 0.001}}'


def texts():
    """{target: bytes} of the formats that are text."""
    history = repeated(
        lambda at: metrics(at) + ",\n", '{"log_history": [', '{"step": 100000, "loss": 0.1}], "global_step": 100000}'
    )
    return {
        "csv": repeated(
            lambda at: f"{at},{2.5 / (1 + at):.6f},0.001\n", "\0step,loss,lr\n"
        ),  # the first byte chooses a file name
        "jsonl": repeated(lambda at: metrics(at) + "\n"),
        "log": repeated(lambda at: f"step {at}: loss = {2.5 / (1 + at):.6f}, lr = 1e-3\n"),
        "trainer_state": history,
        "json_documents": repeated(lambda at: f'"key_{at}": [{at}, {{"value": {at}.5}}],\n', "{", '"end": null}'),
        "config_text": repeated(lambda at: f"key_{at}: {at}.5\n"),
        "mlflow_files": repeated(lambda at: f"{1700000000000 + at} {2.5 / (1 + at):.6f} {at}\n"),
    }


def blocks_repeated(journal):
    """The blocks of a small journal over and over, numbered on."""
    header, blocks = framing.journal_blocks(journal)
    out, number = [header], 0
    while sum(map(len, out)) < LARGE:
        for block in blocks:
            out.append(framing.journal_block(block, number))
            number += 1
    return b"".join(out)


def records_repeated(records):
    """Every record over and over, one of them alone larger than a piece."""
    size = max(1, sum(map(len, records)))
    return records * (1 + LARGE // size) + [records[0] * (1 + LARGE // max(1, len(records[0])))]


def long_pickle():
    """A dictionary of many settings, and a text longer than a piece."""
    items = b"".join(b"X%bK\x05" % (struct.pack("<I", 8) + b"key_%04d" % at) for at in range(2000))
    text = b"X\x04\x00\x00\x00textX" + struct.pack("<I", LARGE) + b"a" * LARGE
    return b"\x80\x02}(" + items + text + b"u."


def database():
    import sqlite3

    memory = sqlite3.connect(":memory:")
    memory.execute("PRAGMA page_size = 1024")
    memory.execute("CREATE TABLE metrics (run_name TEXT, step INTEGER, timestamp TEXT, metrics TEXT)")
    for at in range(60):
        # Now and then a row that needs overflow pages.
        memory.execute(
            "INSERT INTO metrics VALUES ('run', ?, '2026-01-01', ?)", (at, metrics(at) + " " * (at % 50 * 60))
        )
    memory.commit()
    return memory.serialize()


def binaries(corpus):
    scalars = framing.tfrecords((corpus / "tfevents/scalars").read_bytes())
    records = framing.wandb_records((corpus / "wandb/small").read_bytes())
    lines = texts()["jsonl"]
    return {
        "journal": blocks_repeated((corpus / "journal/small").read_bytes()),
        "tfevents": framing.write_tfrecords(records_repeated(scalars)),
        "wandb": framing.write_wandb(records_repeated(records)),
        "training_args": long_pickle(),
        "sqlite": database(),
        "compressed": zlib.compress(lines, 0, wbits=31),
    }


def main():
    corpus, into = map(Path, sys.argv[1:])
    for target, content in {**texts(), **binaries(corpus)}.items():
        assert len(content) > 64 << 10, target
        (into / target).mkdir(parents=True, exist_ok=True)
        (into / target / "large").write_bytes(content)


if __name__ == "__main__":
    main()
