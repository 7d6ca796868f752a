"""Databases with changed pages and changed write-ahead logs, read by sqlite3 and by vigil."""

import sqlite3
import struct
import tempfile
from pathlib import Path

import changes

MEMORY = "/dev/shm"  # sqlite3 waits for disks
TRACKERS = (("key", "value", "step", "is_nan"), ("run_name", "step", "timestamp", "metrics"))


# ---- inputs: four bytes with the size of the image, the image, the log


def seeds():
    """(image, log) of small databases of both trackers, with pages in the log in two of them."""
    for page_size in (512, 1024, 4096):
        for logged in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                yield make(Path(folder) / "made.db", page_size, logged, mlflow=page_size != 1024)


def make(path, page_size, logged, mlflow):
    base = sqlite3.connect(path)
    base.execute(f"PRAGMA page_size = {page_size}")
    if logged:
        base.execute("PRAGMA journal_mode = WAL")
    if mlflow:
        base.execute("CREATE TABLE metrics (key TEXT, value REAL, step INTEGER, is_nan INTEGER)")
    else:
        base.execute("CREATE TABLE metrics (run_name TEXT, step INTEGER, timestamp TEXT, metrics TEXT)")
    for at in range(30):
        row = ("loss", 2.5 / (at + 1), at, 0) if mlflow else ("run", at, f"2026-01-01T00:00:{at}", '{"loss": %g}' % at)
        if at % 10 == 9:  # a row that needs overflow pages
            row = (row[0] * page_size, *row[1:])
        base.execute("INSERT INTO metrics VALUES (?, ?, ?, ?)", row)
        if at % 10 == 4:
            base.commit()
    base.execute("DELETE FROM metrics WHERE step = 19")  # pages on the free list
    base.commit()
    # Read before the connection is closed, which would empty the log.
    log = Path(f"{path}-wal")
    made = path.read_bytes(), log.read_bytes() if log.exists() else b""
    base.close()
    return made


def page_changed(page, header, pages, chance):
    """A field of the header of a b-tree, a cell's place, a byte of a cell, or a link to another page."""
    length, page = len(page), bytearray(page)
    cells = min(int.from_bytes(page[header + 3 : header + 5], "big"), 200)
    start = header + (12 if page[header] in (2, 5) else 8)
    pointer = start + 2 * chance.randrange(cells + 1)
    cell = int.from_bytes(page[pointer : pointer + 2], "big") % len(page)
    places = [
        (header, 1),
        (header + 1, 2),
        (header + 3, 2),
        (header + 5, 2),
        (header + 7, 1),
        (header + 8, 4),
        (pointer, 2),
    ]
    places += [(cell + at, 1) for at in range(6)] * 2 + [(0, 4) if header == 0 else (32, 4), (cell, 4)]
    at, size = chance.choice(places)
    number = chance.choice(
        [chance.randrange(pages + 2), chance.randrange(len(page)), changes.odd_number(chance, 8 * size)]
    )
    page[at : at + size] = (number & ((1 << 8 * size) - 1)).to_bytes(size, "big")
    return bytes(page[:length])


def image_changed(image, chance):
    size = page_size(image)
    pages = [image[at : at + size] for at in range(0, len(image), size)]
    count = len(pages)
    if chance.random() < 0.3 or count == 1:
        pages[0] = page_changed(pages[0], 100, count, chance)
    else:
        pages[1:] = changes.frames_changed(pages[1:], chance, lambda page: page_changed(page, 0, count, chance))
    return b"".join(pages)


def page_size(image):
    stated = int.from_bytes(image[16:18], "big")
    return 65536 if stated == 1 else stated


def checksum(data, big_endian, first=0, second=0):
    words = struct.unpack((">" if big_endian else "<") + "%dI" % (len(data) // 4), data)
    for a, b in zip(words[::2], words[1::2], strict=True):
        first = (first + a + second) & 0xFFFFFFFF
        second = (second + b + first) & 0xFFFFFFFF
    return first, second


def log_changed(log, size, pages, chance):
    """Frames removed, repeated, swapped or changed, in the other byte order now and then; checksums made right."""
    header = bytearray(log[:24])
    if chance.random() < 0.1:
        header[3] ^= 1
    big_endian = header[3] & 1 == 1
    frames = [(log[at : at + 8], log[at + 24 : at + 24 + size]) for at in range(32, len(log) - size - 23, 24 + size)]

    def edit(frame):
        start, page = frame
        if chance.random() < 0.5:
            at = chance.choice((0, 4))
            number = chance.randrange(pages + 3) if chance.random() < 0.8 else changes.odd_number(chance, 32)
            return start[:at] + number.to_bytes(4, "big") + start[at + 4 :], page
        return start, page_changed(page, 100 if start[:4] == b"\0\0\0\1" else 0, pages, chance)

    for _ in range(chance.randint(1, 2)):
        frames = changes.frames_changed(frames, chance, edit)
    sums = checksum(bytes(header), big_endian)
    out = bytes(header) + struct.pack(">2I", *sums)
    for start, page in frames:
        sums = checksum(page, big_endian, *checksum(start, big_endian, *sums))
        out += start + bytes(header[16:24]) + struct.pack(">2I", *sums) + page
    return out


def inputs(corpus, chance):
    made = list(seeds())
    made += [(data, b"") for data in changes.kept(corpus, "sqlite") if len(data) % 512 == 0]
    while True:
        image, log = chance.choice(made)
        size = page_size(image)
        if log and chance.random() < 0.7:
            log = log_changed(log, size, len(image) // size, chance)
            if chance.random() < 0.2:
                log = changes.bytes_changed(log, chance)
        else:
            image = image_changed(image, chance)
        yield struct.pack("<I", len(image)) + image + log


# ---- readings


def cell(kind, text, real, whole):
    """A cell as text, number and whole number, which is what vigil asks for; text of a real number is left out."""
    if kind == "null":
        return b"", 0.0, 0
    return None if kind == "real" else text, real, whole


def read_by_sqlite(path):
    """(rows up to the first error, whether there was one); None where there is no such table."""
    base = sqlite3.connect(path)
    try:
        base.text_factory = bytes
        base.execute("PRAGMA cell_size_check = ON")
        for columns in TRACKERS:
            wanted = ", ".join(
                f"typeof([{c}]), CAST([{c}] AS TEXT), CAST([{c}] AS REAL), CAST([{c}] AS INTEGER)" for c in columns
            )
            try:
                query = base.execute(f"SELECT {wanted} FROM metrics NOT INDEXED")
            except sqlite3.OperationalError:
                continue  # no such table or column
            except sqlite3.DatabaseError:
                return [], True  # damage before the first row
            return rows_of(query)
        return None
    except sqlite3.DatabaseError:
        return None
    finally:
        base.close()


def rows_of(query):
    rows = []
    try:
        for row in query:
            rows.append([cell(row[at].decode(), *row[at + 1 : at + 4]) for at in range(0, len(row), 4)])
    except sqlite3.DatabaseError:
        return rows, True
    return rows, False


def claims_too_much(image, log):
    """Whether a commit in the log is of more pages than the log and the image can hold."""
    size = page_size(image)
    commits = [int.from_bytes(log[at + 4 : at + 8], "big") for at in range(32, len(log) - size - 23, 24 + size)]
    return bool(commits) and max(commits) > len(image) // size + len(commits) + 1


def difference(data, found):
    (size,) = struct.unpack_from("<I", data)
    image, log = data[4 : 4 + size], data[4 + size :]
    problem = difference_of(image, log, found)
    if problem and log and claims_too_much(image, log):
        return changes.Stated("a log of more pages than there are, for which vigil takes no memory")
    return problem


def difference_of(image, log, found):
    with tempfile.TemporaryDirectory(dir=MEMORY if Path(MEMORY).is_dir() else None) as folder:
        path = Path(folder) / "changed.db"
        path.write_bytes(image)
        if log:
            Path(f"{path}-wal").write_bytes(log)
        expected = read_by_sqlite(path)
    if found is None and expected == ([], True):
        return None  # no database for both
    if found is None or expected is None:
        return (
            None
            if found is None and expected is None
            else f"sqlite3: {expected is not None}, vigil: {found is not None}"
        )
    rows, failed = expected
    # sqlite3 of Python loses the row before an error: it looks for the next before it hands one out.
    counts = (len(rows), len(rows) + 1) if failed else (len(rows),)
    if len(found["rows"]) not in counts or failed != bool(found["problem"]):
        return f"sqlite3: {len(rows)} rows, failed: {failed}; vigil: {len(found['rows'])}, {bytes.fromhex(found['problem']).decode()!r}"
    for row, ours in zip(rows, found["rows"], strict=False):
        for (text, real, whole), (our_text, our_real, our_whole) in zip(row, ours, strict=True):
            if text and b"te format 3\0" in text:
                return changes.Stated("a row that reads the header of the file, two bytes of which vigil sets")
            same = changes.same(real, float(our_real)) and whole == int(our_whole)
            if not same or (text is not None and text != bytes.fromhex(our_text)):
                return f"sqlite3: {(text, real, whole)}, vigil: {(bytes.fromhex(our_text), our_real, our_whole)}"
    return None
