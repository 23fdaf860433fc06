"""Mixed models against lme4 with lmerTest and statsmodels, side by side in one run.

    python -m benchmarks.mixed_models

Every figure is processor time (of R's own process for R), one BLAS thread. R is used when Rscript with lme4 and
lmerTest is found; without it those rows say so and the rest is measured.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from equipoise_stats.lmm import emm, formula
from equipoise_stats.lmm.fit import fit
from equipoise_stats.stratum import fit_stratum
from equipoise_stats.student import two_sided_p

CROSSED = "score ~ rule * arm + (1 | seed) + (1 | task) + (1 | run)"
BASE = {"rule": "rule0", "arm": "matched"}
R_SCRIPT = """
suppressPackageStartupMessages(library(lmerTest))
d <- read.csv(commandArgs(TRUE)[1], stringsAsFactors = TRUE)
cost <- system.time({ m <- lmer(score ~ rule * arm + (1 | seed) + (1 | task) + (1 | run), d); s <- coef(summary(m)) })
cat(sum(cost[1:2]), logLik(m), "\\n")
"""


def crossed(seeds: int, tasks: int, rules: int = 7) -> pd.DataFrame:
    """Binary outcomes of rules x 2 arms x seeds x tasks."""
    generator = np.random.default_rng(5)
    shape = (rules, 2, seeds, tasks)
    rule, arm, seed, task = (index.ravel() for index in np.indices(shape))
    run = (rule * 2 + arm) * seeds + seed
    chance = (
        0.45
        + 0.02 * rule / rules
        + generator.normal(0, 0.02, seeds)[seed]
        + generator.normal(0, 0.15, tasks)[task]
        + generator.normal(0, 0.03, rules * 2 * seeds)[run]
    )
    return pd.DataFrame(
        {
            "rule": [f"rule{k}" for k in rule],
            "arm": np.where(arm == 0, "matched", "native"),
            "seed": [f"s{k}" for k in seed],
            "task": [f"t{k}" for k in task],
            "run": [f"r{k}" for k in run],
            "score": (generator.random(chance.size) < chance).astype(np.float64),
        }
    )


def ours(data: pd.DataFrame) -> float:
    """Formula, fit and Satterthwaite's degrees of freedom of every coefficient; the log-likelihood."""
    reading = formula.read(CROSSED, data, baseline=BASE)
    made = fit(reading)
    emm.model(reading, made).freedom(np.eye(made.beta.size))
    return made.loglik


def best_of(work: Callable[[], object], times: int = 3) -> float:
    """The least processor seconds of some repetitions, after one to warm up."""
    work()
    spent = []
    for _ in range(times):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def by_r(data: pd.DataFrame) -> tuple[float, float] | None:
    """Processor seconds and log-likelihood of lme4 + lmerTest; None where they are not installed."""
    program = shutil.which("Rscript")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        table, script = Path(folder) / "data.csv", Path(folder) / "fit.R"
        data.to_csv(table, index=False)
        script.write_text(R_SCRIPT)
        done = subprocess.run([program, str(script), str(table)], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    seconds, loglik = done.stdout.split()
    return float(seconds), float(loglik)


def run_means(simulations: int) -> None:
    """Balanced analyses of run means, 7 cells x 10 blocks, in one batch: six contrasts with t and p each."""
    y = np.random.default_rng(6).normal(0.5, 0.037, (simulations, 7, 10))
    against = np.column_stack([-np.ones(6), np.eye(6)])
    layout = fit_stratum(y)
    two_sided_p(layout.estimate(against) / layout.standard_error(against), layout.df_error)


def small() -> pd.DataFrame:
    """35 run means: 7 rules x 5 seeds."""
    generator = np.random.default_rng(7)
    rows = [(f"rule{rule}", f"s{seed}") for rule in range(7) for seed in range(5)]
    frame = pd.DataFrame(rows, columns=["rule", "seed"])
    frame["score"] = generator.normal(0.5, 0.037, 35) + np.tile(generator.normal(0, 0.03, 5), 7)
    return frame


def statsmodels_small(data: pd.DataFrame) -> object:
    """The optimiser of statsmodels that finds this model's optimum."""
    import statsmodels.formula.api as smf

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return smf.mixedlm("score ~ C(rule)", data, groups="seed").fit(method="powell")


def ours_small(data: pd.DataFrame) -> object:
    """The same model here."""
    reading = formula.read("score ~ rule + (1 | seed)", data, baseline={"rule": "rule0"})
    made = fit(reading)
    return emm.model(reading, made).freedom(np.eye(made.beta.size))


def main() -> int:
    """Print the table."""
    out = sys.stdout.write
    out("| what | here, CPU s | other, CPU s | ratio |\n|---|---|---|---|\n")
    for name, data in (("14,000 rows crossed", crossed(10, 100)), ("50,400 rows crossed", crossed(18, 200))):
        mine, theirs = best_of(functools.partial(ours, data)), by_r(data)
        if theirs is None:
            out(f"| {name} | {mine:.2f} | Rscript with lmerTest not found: not compared | |\n")
        else:
            gap = abs(ours(data) - theirs[1])
            out(f"| {name}, lme4 + lmerTest (log-likelihoods {gap:.0e} apart) ")
            out(f"| {mine:.2f} | {theirs[0]:.2f} | {theirs[0] / mine:.1f}x |\n")
    out(
        f"| 10,000 balanced run-mean analyses, closed form | {best_of(lambda: run_means(10_000)):.2f} | | |\n"
    )
    data = small()
    mine, theirs_small = best_of(lambda: ours_small(data)), best_of(lambda: statsmodels_small(data))
    out(f"| 35 run means, statsmodels MixedLM powell | {mine:.3f} | {theirs_small:.3f} ")
    out(f"| {theirs_small / mine:.1f}x |\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
