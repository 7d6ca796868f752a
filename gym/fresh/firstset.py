"""The modules of the first set (spec, tasks, parts, labels) can be imported after this."""

import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "frameworks"))
