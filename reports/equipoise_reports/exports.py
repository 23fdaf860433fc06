"""The study as data and as tables for papers: CSV of the runs, JSON of the analysis, LaTeX, Markdown."""

from __future__ import annotations

import csv
import io

from equipoise_reports.errors import NothingToReport
from equipoise_reports.received import RESOURCES, GenerationUse
from equipoise_reports.sections import decomposition
from equipoise_reports.study import RunRecord, Study
from equipoise_reports.tables import Table
from equipoise_stats import Analysis

_HEAD = (
    "key",
    "condition",
    "arm",
    "twin",
    "block",
    "primary",
    "held_out",
    "examples",
    "planned_slots",
    "planned_steps",
    "planned_unique_examples",
    "slots",
    "optimizer_steps",
    "unique_examples",
    "tokens_in_loss",
    "padding_tokens",
    "weight_abs",
    "weight_sq",
    "ess",
    "planned_ess_trajectories",
    "rollout_tokens",
    "environment_steps",
    "environment_resets",
    "scoring_tokens",
    "critic_tokens",
    "judge_calls",
    "judge_tokens",
    "forward_tokens_train",
    "flops",
    "prompts",
    "of_prompts",
    *(f"{side}_{name}" for name in RESOURCES for side in ("limit", "used")),
    "binding",
    "rounds",
    "seconds",
    "end",
    "breaches",
    "plan_digest",
    "weights_digest",
    "mlflow_url",
)
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "\u2212": r"$-$",
        "\u2013": "--",
        "\u00b1": r"$\pm$",
        "≥": r"$\geq$",
        "\u00a0": "~",
    }
)


def runs_csv(study: Study) -> str:
    """One line a run, numbers in full precision; success left empty while outcomes are hidden."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEAD)
    for run in sorted(study.runs, key=lambda run: (run.block, run.condition, run.arm, run.twin)):
        writer.writerow(_line(run, study.shows_outcomes))
    return text.getvalue()


def _line(run: RunRecord, shown: bool) -> tuple[object, ...]:
    dose, cost = run.dose, run.cost
    return (
        run.key,
        run.condition,
        run.arm,
        run.twin,
        run.block,
        run.primary if shown else "",
        run.held_out if shown and run.held_out is not None else "",
        run.examples,
        run.planned.slots,
        run.planned.optimizer_steps,
        run.planned.unique_examples,
        dose.slots,
        dose.optimizer_steps,
        dose.unique_examples,
        dose.tokens_in_loss,
        dose.padding_tokens,
        dose.weight_abs,
        dose.weight_sq,
        dose.ess,
        run.planned.ess_trajectories,
        cost.rollout_tokens,
        cost.environment_steps,
        cost.environment_resets,
        cost.scoring_tokens,
        cost.critic_tokens,
        cost.judge_calls,
        cost.judge_tokens,
        cost.forward_tokens_train,
        cost.flops,
        *_limits(run.generation),
        max(1, len(run.rounds)),
        run.seconds,
        run.end,
        "; ".join(run.breaches),
        run.plan_digest,
        run.weights_digest,
        run.mlflow_url or "",
    )


def _limits(told: GenerationUse | None) -> tuple[object, ...]:
    """Limits of generation beside what was used of them; left empty where there is none."""
    if told is None:
        return ("",) * (2 * len(RESOURCES) + 3)
    sides = (side.get(name, "") for name in RESOURCES for side in (told.limits, told.used))
    prompts = ("" if number is None else number for number in (told.prompts, told.of))
    return (*prompts, *sides, "; ".join(told.binding))


def analysis_json(study: Study) -> str:
    """The whole analysis as canonical JSON: contrasts with their vectors, cell means, their covariance.

    Raises:
        NothingToReport: planned runs are missing, so that there is no analysis to give away.
    """
    return _final(study).to_json()


def decomposition_markdown(study: Study) -> str:
    """The short decomposition as a Markdown table.

    Raises:
        NothingToReport: planned runs are missing.
    """
    table = decomposition.short(_final(study))
    lines = [[column.label for column in table.columns], ["---" for _ in table.columns], *_texts(table)]
    return (
        "\n".join(f"| {' | '.join(text.replace('|', chr(92) + '|') for text in line)} |" for line in lines)
        + "\n"
    )


def decomposition_latex(study: Study) -> str:
    """The short decomposition as a LaTeX table for the booktabs package.

    Raises:
        NothingToReport: planned runs are missing.
    """
    table = decomposition.short(_final(study))
    shape = "".join("r" if column.numeric else "l" for column in table.columns)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{table.caption.translate(_LATEX)}}}",
        rf"\begin{{tabular}}{{{shape}}}",
        r"\toprule",
        _latex_line([column.label for column in table.columns]),
        r"\midrule",
        *(_latex_line(texts) for texts in _texts(table)),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_line(texts: list[str]) -> str:
    return " & ".join(text.translate(_LATEX) for text in texts) + r" \\"


def _texts(table: Table) -> list[list[str]]:
    return [[row.head.text, *(cell.text for cell in row.cells)] for row in table.rows]


def _final(study: Study) -> Analysis:
    if study.interim or study.analysis is None:
        message = (
            f"expected every planned run of {study.name!r}, {len(study.missing)} are missing: "
            "run the suite to its end, then export"
        )
        raise NothingToReport(message)
    return study.analysis
