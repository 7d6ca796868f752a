"""Writes runs of a set as run folders in a chosen style.

python gym/scale/render.py --list
python gym/scale/render.py SET --out DIR --style megatron --id 0000012-f0
python gym/scale/render.py SET --out DIR --style all --count 5 --class fatal
"""

import argparse
import os
import sys
import zlib

import runs_file
from style_base import View, config_files
from styles import STYLES


def render(record, style, folder):
    """The files of one run in one style; returns their paths."""
    view = View(record, style)
    files = {**style.write(view), **config_files(style.config, record["settings"])}
    paths = []
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", newline="", encoding="utf-8") as f:
            f.write(text)
        paths.append(path)
    return paths


def styles_for(record, wanted):
    if wanted == "all":
        return list(STYLES.values())
    if wanted == "exact":
        return [s for s in STYLES.values() if not s.lossy]
    if wanted == "mixed":  # one style a run, by its id
        names = sorted(STYLES)
        return [STYLES[names[zlib.crc32(record["id"].encode()) % len(names)]]]
    return [STYLES[name] for name in wanted.split(",")]


def selected(args):
    count = 0
    for record in runs_file.read(args.set):
        label = record["label"]
        if args.id and record["id"] not in args.id.split(","):
            continue
        if args.kind and label["class"] not in args.kind.split(","):
            continue
        if args.fault and label["fault"] not in args.fault.split(","):
            continue
        yield record
        count += 1
        if args.count and count >= args.count:
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", nargs="?", help="a runs-*.jsonl.xz|zst file or a folder of them")
    parser.add_argument("--out")
    parser.add_argument("--style", default="mixed", help="a name, several by comma, all, exact, or mixed (one a run)")
    parser.add_argument("--id")
    parser.add_argument("--class", dest="kind")
    parser.add_argument("--fault")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.list:
        for style in STYLES.values():
            print(f"{style.name:26} {style.config or '-':12} {'lossy' if style.lossy else ''}")
        return
    if not args.set or not args.out:
        parser.error("a set and --out are needed")
    count = 0
    for record in selected(args):
        for style in styles_for(record, args.style):
            render(record, style, os.path.join(args.out, record["id"], style.name))
            count += 1
    print(f"{count} folders", file=sys.stderr)


if __name__ == "__main__":
    main()
