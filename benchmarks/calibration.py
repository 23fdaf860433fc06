"""How often each verdict is wrong: the long version of tests/calibration, and the tables of it in README.md.

`--write` puts the tables into README.md, `--sets N` changes the number of simulated suites.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from equipoise_stats.simulate.calibration import (
    Calibration,
    calibrate,
    calibration_plan,
    cases,
    other_designs,
)

ENGINES = ("exact-stratum", "paired", "both")
BLOCKS = (5, 10, 20)
COLUMNS = {
    "content": "content",
    "any_difference": "any family",
    "by_margin": "by margin",
    "equivalent": "equivalent",
    "positive control passed": "control +",
    "negative control failed": "control -",
}
HARDEST = (
    "volume up to 10x",
    "one rule with 3x the run SD",
    "half of the rules with 3x the run SD",
    "the baseline with 3x the run SD",
    "28 % divergence of bad runs",
    "content equal to the margin",
)
START, END = "<!-- calibration -->", "<!-- /calibration -->"


def study(sets: int) -> Iterator[Calibration]:
    for blocks in BLOCKS:
        for engine in ENGINES:
            plan = calibration_plan(blocks, engine)
            for place, case in enumerate(cases(plan)):
                yield calibrate(plan, case, sets=sets, seed=1_000 * blocks + 10 * place)


def designs(sets: int) -> str:
    """The hardest cases with looks, with two twins, and with few blocks."""
    head = ["design", "case", *COLUMNS.values(), "coverage"]
    lines = ["| " + " | ".join(head) + " |", "|---|---" + "|---:" * (len(head) - 2) + "|"]
    for place, (name, plan) in enumerate(other_designs().items()):
        for case in HARDEST:
            found = calibrate(plan, case, sets=sets, seed=50_000 + 100 * place)
            cells = [f"{100 * rate:.1f}" for rate in (*(found.rates[c] for c in COLUMNS), found.coverage)]
            lines.append("| " + " | ".join([name, case, *cells]) + " |")
    return "\n".join(lines)


def table(found: list[Calibration]) -> str:
    """Three figures a cell: at 5, 10 and 20 blocks."""
    head = ["analysis", "case", *COLUMNS.values(), "coverage"]
    lines = ["| " + " | ".join(head) + " |", "|---|---" + "|---:" * (len(head) - 2) + "|"]
    for engine in ENGINES:
        for case in dict.fromkeys(row.case for row in found):
            rows = [row for row in found if (row.engine, row.case) == (engine, case)]
            cells = ["/".join(f"{100 * row.rates[name]:.1f}" for row in rows) for name in COLUMNS]
            coverage = "/".join(f"{100 * row.coverage:.1f}" for row in rows)
            lines.append("| " + " | ".join([engine, case, *cells, coverage]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=4_000)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    text = f"{table(list(study(arguments.sets)))}\n\n{designs(arguments.sets)}"
    print(text)
    if arguments.write:
        readme = Path(__file__).with_name("README.md")
        before, _, rest = readme.read_text().partition(START)
        _, _, after = rest.partition(END)
        readme.write_text(f"{before}{START}\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()
