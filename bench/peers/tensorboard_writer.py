"""Writes samples with the event writer of the tensorboard package, as torch's SummaryWriter does: one event a scalar.

usage: tensorboard_writer.py FILE FOLDER NAME...
FILE holds, for each step and each name, step (int64), time in milliseconds (uint64) and value (double). Prints
"<bytes>\\t<seconds>" of the event file in FOLDER.
"""

import os
import struct
import sys
import time

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter


def main():
    path, folder, *names = sys.argv[1:]
    with open(path, "rb") as file:
        samples = list(struct.iter_unpack("<qQd", file.read()))
    before = time.process_time()
    writer = EventFileWriter(folder)
    for number, (step, time_ms, value) in enumerate(samples):
        scalar = summary_pb2.Summary.Value(tag=names[number % len(names)], simple_value=value)
        summary = summary_pb2.Summary(value=[scalar])
        writer.add_event(event_pb2.Event(wall_time=time_ms / 1000, step=step, summary=summary))
    writer.close()
    seconds = time.process_time() - before
    print(f"{sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))}\t{seconds}")


if __name__ == "__main__":
    main()
