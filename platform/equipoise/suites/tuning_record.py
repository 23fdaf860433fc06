"""The search of a suite as its report shows it."""

from equipoise.suites.judge import Results
from equipoise.tuning.space import concerned
from equipoise.tuning.tally import Search, searches
from equipoise_preregistration import Suite
from equipoise_preregistration.points import label
from equipoise_preregistration.tuning import Dimension
from equipoise_reports import tuning as shown

__all__ = ["tuning_record"]

_SAMPLERS = {
    "qmc": "a scrambled Sobol sequence, drawn once at registration",
    "random": "random points, drawn once at registration",
    "tpe": "half a scrambled Sobol sequence, half Optuna's TPE, both from one seed",
}


def tuning_record(suite: Suite, results: Results) -> shown.Tuning | None:
    """What the report shows of the search; None without one, or before it has ended."""
    found = searches(suite, results)
    if not found:
        return None
    having = {condition.id: concerned(suite, condition.id) for condition in suite.conditions}
    return shown.Tuning(
        sampler=_SAMPLERS[suite.tuning.sampler],
        adaptive=suite.tuning.sampler == "tpe",
        blocks=suite.tuning.blocks,
        space=tuple(
            shown.Dimension(
                name,
                in_words(suite.tuning.space[name]),
                tuple(condition for condition, names in having.items() if name in names),
            )
            for name in suite.tuning.names
        ),
        searches=tuple(_search(search) for search in found),
    )


def _search(search: Search) -> shown.Search:
    return shown.Search(
        condition=search.condition,
        trials=tuple(shown.Trial(t.number, t.values, t.value, t.diverged) for t in search.trials),
        chosen=search.chosen.number,
        curve=search.curve,
        granted=search.granted,
        counted=search.counted,
        forgone=search.forgone,
        breaches=search.breaches,
    )


def in_words(dimension: Dimension) -> str:
    """What a dimension is searched over."""
    if dimension.type == "categorical":
        return "one of " + ", ".join(label(choice) for choice in dimension.choices)
    kind = "whole numbers " if dimension.type == "int" else ""
    return f"{kind}{dimension.low:g} to {dimension.high:g}{', in the logarithm' if dimension.log else ''}"
