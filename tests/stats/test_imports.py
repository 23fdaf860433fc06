"""The inference loads its heavy libraries only when it needs them."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_inference_loads_no_heavy_library() -> None:
    heavy = ("statsmodels", "pandas", "scipy.stats", "matplotlib", "torch")
    code = f"import sys, equipoise_stats; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
