#!/usr/bin/env python3
"""Runs clang-tidy over the sources of src, apps and tools in a compilation database, and remembers the ones it found clean.

usage: tidy.py CLANG_TIDY BUILD_DIR [--jobs N] [FILE...]     FILE: only sources whose path ends so

A clean source is remembered by a hash of all that the answer depends on: its preprocessed text, its own text and that of the
project's headers (for their comments), the options, .clang-tidy and the program. The notes lie in the user's cache folder,
so that a fresh clone on the same machine looks only at what changed. A complaint is never remembered.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "apps", "tools")  # what ships, and what scores it
NOTES = Path("~/.cache/vigil/tidy").expanduser()
LINE_MARKER = re.compile(rb'^# \d+ "([^"]+)"', re.MULTILINE)


def sources(build, endings):
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        wanted = not endings or any(str(path).endswith(ending) for ending in endings)
        if wanted and any(path.is_relative_to(ROOT / folder) for folder in FOLDERS):
            yield path, entry


def preprocessed(entry):
    """The text that the compiler sees; None where it sees none (clang-tidy then says why)."""
    words = shlex.split(entry["command"])
    del words[words.index("-o") : words.index("-o") + 2]
    words[words.index("-c")] = "-E"
    done = subprocess.run(words, cwd=entry["directory"], capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def note_of(path, entry, program):
    """Where a clean result of this source is noted, whatever folder the project lies in."""
    text = preprocessed(entry)
    if text is None:
        return None
    own = {Path(name.decode()) for name in LINE_MARKER.findall(text)}
    folders = (str(ROOT).encode(), entry["directory"].encode())
    digest = hashlib.sha256(program)
    parts = [
        text,
        entry["command"].encode(),
        *(p.read_bytes() for p in sorted(own) if p.is_relative_to(ROOT) and p.is_file()),
    ]
    for part in parts:
        for folder in folders:
            part = part.replace(folder, b"")
        digest.update(part)
    return NOTES / digest.hexdigest()


def check(clang_tidy, build, path, entry, program):
    """What clang-tidy complains about in one source; empty when it is clean."""
    note = note_of(path, entry, program)
    if note is not None and note.exists():
        return "", True
    done = subprocess.run(
        [clang_tidy, "--quiet", "-p", str(build), str(path)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return done.stdout + (done.stderr if not done.stdout else ""), False
    if note is not None:
        note.touch()
    return "", False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("clang_tidy")
    parser.add_argument("build", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    build = args.build.resolve()
    NOTES.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([args.clang_tidy, "--version"], capture_output=True, check=True).stdout
    program = version + (ROOT / ".clang-tidy").read_bytes()
    work = list(sources(build, args.files))
    remembered = complaints = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for text, known in pool.map(lambda item: check(args.clang_tidy, build, *item, program), work):
            remembered += known
            complaints += bool(text)
            print(text, end="", flush=True)
    print(
        f"clang-tidy: {len(work)} sources, {remembered} unchanged since they were clean, {complaints} with complaints"
    )
    sys.exit(1 if complaints or not work else 0)


if __name__ == "__main__":
    main()
