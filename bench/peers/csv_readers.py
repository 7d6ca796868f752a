"""Times Python's ways to read a table of numbers: prints "<name>\\t<seconds>" for each."""

import csv
import sys
import time

import pandas


def with_csv(path):
    with open(path, newline="") as file:
        rows = csv.reader(file)
        names = next(rows)
        columns = [[] for _ in names]
        for row in rows:
            for column, cell in zip(columns, row, strict=True):
                column.append(float(cell))
    return columns


def with_pandas(path):
    return pandas.read_csv(path)


def main():
    path = sys.argv[1]
    for name, read in {"Python csv, cells to float": with_csv, "pandas.read_csv": with_pandas}.items():
        before = time.process_time()
        read(path)
        print(f"{name}\t{time.process_time() - before}", flush=True)


if __name__ == "__main__":
    main()
