"""The Python that has the other readers which vigil is compared with."""

import os
import sys
from pathlib import Path

PEERS = Path(__file__).resolve().parents[2] / "build/peers"


def need_packages():
    """Goes on with the Python of the benchmarks' peers where the one in use has no tensorboard."""
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        python = PEERS / "bin/python"
        if python.exists() and Path(sys.prefix) != PEERS:
            os.execv(python, [str(python), *sys.argv])
