"""A child in a process of its own: `python -m equipoise.scheduler <request file>`."""

import os
import sys
from pathlib import Path

from equipoise.scheduler.child import Order, run_order

if __name__ == "__main__":
    os._exit(run_order(Order.from_json(Path(sys.argv[1]).read_text(encoding="utf-8")), None))
