"""Times the loaders of the tensorboard package on one event file: prints "<name>\\t<seconds>" for each."""

import sys
import time

from tensorboard.backend.event_processing import event_accumulator, event_file_loader


def raw_records(path):
    return sum(1 for _ in event_file_loader.RawEventFileLoader(path).Load())


def events(path):
    return sum(1 for _ in event_file_loader.EventFileLoader(path).Load())


def accumulated(path):
    accumulator = event_accumulator.EventAccumulator(path, size_guidance={"tensors": 0, "scalars": 0})
    accumulator.Reload()
    return len(accumulator.Tags()["tensors"])


def seconds(load, path):
    before = time.process_time()
    load(path)
    return time.process_time() - before


def main():
    path = sys.argv[1]
    ways = {
        "tensorboard RawEventFileLoader (not decoded)": raw_records,
        "tensorboard EventFileLoader": events,
        "tensorboard EventAccumulator": accumulated,
    }
    for name, load in ways.items():
        print(f"{name}\t{min(seconds(load, path) for _ in range(2))}", flush=True)


if __name__ == "__main__":
    main()
