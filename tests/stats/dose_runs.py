"""The runs whose dose-response line R fitted (`data/dose.R`)."""

import csv
from pathlib import Path

from equipoise_stats import RunScore


def dose_runs() -> list[RunScore]:
    """One score a run, with the steps and the effective sample size assigned to it."""
    with (Path(__file__).parent / "data" / "dose_runs.csv").open(newline="", encoding="utf-8") as file:
        return [
            RunScore(
                row["condition"],
                row["arm"],
                0,
                int(row["block"]),
                float(row["y"]),
                100,
                steps=float(row["steps"]),
                ess=float(row["ess"]),
            )
            for row in csv.DictReader(file)
        ]
