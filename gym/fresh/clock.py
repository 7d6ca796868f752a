"""Time as on a machine of one's own: what this process computed and slept, without the waits that others cause."""

import datetime
import time

BEGAN = {"wall": None, "used": 0.0}
SLEPT = [0.0]


def seconds():
    """Seconds since the first call."""
    if BEGAN["wall"] is None:
        BEGAN["wall"], BEGAN["used"] = time.time(), time.process_time()
    return time.process_time() - BEGAN["used"] + SLEPT[0]


def sleep(span):
    time.sleep(span)
    SLEPT[0] += span


def wall():
    passed = seconds()
    return BEGAN["wall"] + passed


def now():
    return datetime.datetime.fromtimestamp(wall())
