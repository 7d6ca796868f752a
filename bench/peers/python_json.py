"""Times Python's json module on a file: a document, or an object per line. Prints "<name>\t<seconds>"."""

import json
import sys
import time


def best(work, repeats=3):
    times = []
    for _ in range(repeats):
        before = time.process_time()
        work()
        times.append(time.process_time() - before)
    return min(times)


def main(path):
    if path.endswith(".jsonl"):

        def read():
            with open(path, encoding="utf-8") as file:
                return [json.loads(line) for line in file]
    else:

        def read():
            with open(path, encoding="utf-8") as file:
                return json.load(file)

    print(f"Python json\t{best(read)}")


if __name__ == "__main__":
    main(sys.argv[1])
