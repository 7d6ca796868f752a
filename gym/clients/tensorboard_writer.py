"""Event files by the tensorboard package itself and by tensorboardX.

usage: tensorboard_writer.py FOLDER

`tensors/` holds one tag for each type of number that a tensor can have, as the tensorboard package encodes it, with
steps 1 to 3 and values that every type holds exactly; `hparams/` settings, text and a histogram as tensors; `x/` what
tensorboardX writes. The C++ test knows the values.
"""

import sys
from pathlib import Path

import numpy as np
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
from tensorboard.plugins.histogram import metadata as histogram_metadata
from tensorboard.plugins.hparams import summary_v2
from tensorboard.plugins.scalar import metadata as scalar_metadata
from tensorboard.plugins.text import metadata as text_metadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util.tensor_util import make_tensor_proto

BEGIN = 1_760_000_000
NUMBERS = (1, 3, 2)
TYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool")


class Events:
    """An event file under a name without the machine's."""

    def __init__(self, folder):
        self.folder = folder
        self.writer = EventFileWriter(str(folder))

    def add(self, step, tag, tensor, metadata=None):
        value = summary_pb2.Summary.Value(tag=tag, tensor=tensor, metadata=metadata)
        self.write(step, summary_pb2.Summary(value=[value]))

    def write(self, step, summary):
        self.writer.add_event(event_pb2.Event(wall_time=BEGIN + step, step=step, summary=summary))

    def close(self):
        self.writer.close()
        for at, path in enumerate(sorted(self.folder.glob("events.out.tfevents.*.*"))):
            path.rename(path.with_name(f"events.out.tfevents.{BEGIN}.gym.{at}"))


def scalar(value, name):
    return make_tensor_proto(np.asarray(value != 3 if name == "bool" else value, dtype=name))


def in_bytes(value, dtype, layout):
    """The same number in `tensor_content`, as TensorFlow's own writer stores it."""
    content = np.asarray(value, dtype=layout).tobytes()
    return tensor_pb2.TensorProto(dtype=dtype, tensor_shape=tensor_shape_pb2.TensorShapeProto(), tensor_content=content)


def bfloat16(value):
    bits = int(np.asarray(value, dtype="<f4").view("<u4")) >> 16
    return tensor_pb2.TensorProto(dtype=types_pb2.DT_BFLOAT16, half_val=[bits])


def write_tensors(folder):
    events = Events(folder)
    for step, number in enumerate(NUMBERS, 1):
        metadata = scalar_metadata.create_summary_metadata("", "") if step == 1 else None
        for name in TYPES:
            events.add(step, f"type/{name}", scalar(number, name), metadata)
        events.add(step, "type/bfloat16", bfloat16(number), metadata)
        events.add(
            step, "type/uint32", tensor_pb2.TensorProto(dtype=types_pb2.DT_UINT32, uint32_val=[number]), metadata
        )
        events.add(
            step, "type/uint64", tensor_pb2.TensorProto(dtype=types_pb2.DT_UINT64, uint64_val=[number]), metadata
        )
        events.add(step, "content/float", in_bytes(number, types_pb2.DT_FLOAT, "<f4"), metadata)
        events.add(step, "content/double", in_bytes(number, types_pb2.DT_DOUBLE, "<f8"), metadata)
        events.add(step, "content/half", in_bytes(number, types_pb2.DT_HALF, "<f2"), metadata)
        events.add(step, "content/int64", in_bytes(number, types_pb2.DT_INT64, "<i8"), metadata)
        events.add(step, "broken/nan", make_tensor_proto(np.float32("nan" if step == 2 else number)), metadata)
        events.add(step, "broken/inf", make_tensor_proto(np.float64("inf" if step == 2 else number)), metadata)
        # No scalars: a vector and a matrix under tags that nobody described.
        events.add(step, "other/vector", make_tensor_proto(np.arange(3.0)))
    events.close()


def write_hparams(folder):
    events = Events(folder)
    values = {"learning_rate": 0.0003, "optimizer": "adamw", "bf16": True, "max_steps": 12.0}
    events.write(0, summary_v2.hparams_pb(values, trial_id="one"))
    table = "|param|value|\n|-|-|\n|weight_decay|0.1|\n|warmup_steps|50|"
    for tag, text in (("args/text_summary", table), ("notes/text_summary", "second try, with a shorter warm-up")):
        events.add(0, tag, make_tensor_proto(np.asarray(text.encode())), text_metadata.create_summary_metadata("", ""))
    rows = np.array([[0.0, 1.0, 5.0], [1.0, 2.0, 10.0], [2.0, 3.0, 5.0]])
    for step in (1, 2):
        metadata = histogram_metadata.create_summary_metadata("", "")
        events.add(step, "weights", make_tensor_proto(rows * [step, step, 1]), metadata if step == 1 else None)
    events.close()


def write_x(folder):
    import tensorboardX

    writer = tensorboardX.SummaryWriter(str(folder))
    for step in range(1, 13):
        writer.add_scalar("train/loss", 3.0 / (1 + 0.25 * step), step, walltime=BEGIN + step)
    writer.add_histogram("layer0/weight", np.linspace(-1, 1, 101), 5, walltime=BEGIN)
    writer.add_text("config", '{"learning_rate": 0.0003, "max_steps": 12}', 0, walltime=BEGIN)
    writer.close()
    for path in folder.glob("events.out.tfevents.*"):
        path.rename(path.with_name(f"events.out.tfevents.{BEGIN}.gym"))


def main():
    folder = Path(sys.argv[1]).resolve()
    write_tensors(folder / "tensors")
    write_hparams(folder / "hparams")
    write_x(folder / "x")


if __name__ == "__main__":
    main()
