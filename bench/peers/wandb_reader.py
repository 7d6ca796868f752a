"""Times W&B's own reader of its transaction logs on one file: prints "<name>\\t<seconds>"."""

import sys
import time

from wandb.proto import wandb_internal_pb2
from wandb.sdk.internal import datastore


def rows(path):
    store = datastore.DataStore()
    store.open_for_scan(path)
    count = 0
    while (data := store.scan_data()) is not None:
        count += len(wandb_internal_pb2.Record.FromString(data).history.item)
    return count


def main():
    before = time.process_time()
    rows(sys.argv[1])
    print(f"wandb's DataStore, records decoded\t{time.process_time() - before}", flush=True)


if __name__ == "__main__":
    main()
