#!/usr/bin/env python3
"""Lists words that doc/glossary.md puts out of use: in identifiers, comments, strings and documents.

usage: tools/words.py [PATH...]     path:line: word: use instead   (default: all that is checked)
       tools/words.py --count       <module> TAB <number>, for every module that is checked
       tools/words.py -             in what is piped in
Identifiers count by their parts: `DrainRing` and `drain_ring` hold "ring". Words of two or more parts may go over the
end of a line of a comment.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKED = ["src", "apps", "include", "bench", "fuzz", "tools", "gym", "tests", "doc/guide", "doc/formats", "doc/decisions"]
CHECKED += ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
# Files that other programs wrote, and what vigil prints about them.
DATA = [ROOT / "tests/fixtures", ROOT / "tests/golden"]
ENDINGS = {".cc", ".h", ".hpp", ".toml", ".md", ".js", ".css", ".py", ".sh"}
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass
class Glossary:
    instead: dict[tuple[str, ...], str]  # the parts of a word that is out, and its replacement
    allowed: list[tuple[str, str]]  # a word, and a text whose line may hold it


def table(markdown, heading):
    """The rows of the table under a heading, as lists of cells."""
    section = markdown.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def read_glossary(markdown):
    instead = {}
    for out, replacement in table(markdown, "Words that are out"):
        for word in out.split(","):
            instead[tuple(word.split())] = replacement
    allowed = [(word, text) for word, text, _ in table(markdown, "Where they are allowed")]
    return Glossary(instead, allowed)


def parts_of(text):
    """Each part of each identifier or word, in lower case, with its line."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        # What begins a line of a comment does not end a phrase.
        found.extend((part.lower(), number) for part in PART.findall(line))
    return found


def hits_in(text, glossary):
    """(line, word, replacement) for each use of a word that is out."""
    lines = text.splitlines()
    parts = parts_of(text)
    longest = max(map(len, glossary.instead))
    hits = []
    for at, (_, number) in enumerate(parts):
        for length in range(1, longest + 1):
            word = tuple(part for part, _ in parts[at : at + length])
            if len(word) != length or word not in glossary.instead:
                continue
            spoken = " ".join(word)
            if not any(spoken == out and text in lines[number - 1] for out, text in glossary.allowed):
                hits.append((number, spoken, glossary.instead[word]))
    return hits


def is_hidden(path):
    """Folders with a dot hold what was installed or made, not what was written."""
    return any(part.startswith(".") for part in path.relative_to(ROOT).parts)


def files_below(path):
    if path.is_file():
        return [path]
    # Pages made from rows repeat the words of the rows.
    left_out = [*DATA, ROOT / "doc/guide/reference"]
    files = (p for p in path.rglob("*") if p.suffix in ENDINGS and not is_hidden(p))
    return sorted(p for p in files if not any(p.is_relative_to(folder) for folder in left_out))


def module_of(path):
    """src/<module>, or the checked folder or file it lies in."""
    relative = path.relative_to(ROOT)
    if relative.parts[0] == "src" and len(relative.parts) > 2:
        return "/".join(relative.parts[:2])
    return next((name for name in CHECKED if str(relative).startswith(name)), str(relative))


def main(arguments):
    glossary = read_glossary((ROOT / "doc/glossary.md").read_text())
    if arguments == ["-"]:
        for line, word, instead in hits_in(sys.stdin.read(), glossary):
            print(f"{line}: {word}: use {instead}")
        return 0
    count_only = arguments == ["--count"]
    paths = [ROOT / name for name in CHECKED] if count_only or not arguments else [Path(a).resolve() for a in arguments]
    counts = {}
    for path in (file for folder in paths for file in files_below(folder)):
        hits = hits_in(path.read_text(errors="replace"), glossary)
        counts[module_of(path)] = counts.get(module_of(path), 0) + len(hits)
        if not count_only:
            for line, word, instead in hits:
                print(f"{path.relative_to(ROOT)}:{line}: {word}: use {instead}")
    if count_only:
        for module, count in sorted(counts.items()):
            print(f"{module}\t{count}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
