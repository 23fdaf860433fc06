"""Contrasts of means or slopes: against a control, all pairs, neighbours, interactions, or by coefficients."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm.emm import Functions
from equipoise_stats.lmm.model import FloatArray

# A method by name, or for each contrast its coefficients over the levels in order.
Method = str | Mapping[str, npt.ArrayLike]
Named = list[tuple[str, FloatArray]]


def contrasts(of: Functions, method: Method = "trt.vs.ctrl", *, ref: str | None = None) -> Functions:
    """Contrasts within each family of means or slopes.

    Args:
        of: means or slopes.
        method: "trt.vs.ctrl" (each against the reference), "pairwise" (earlier - later), "revpairwise" (later -
            earlier), "consec" (next - before), or coefficients by name.
        ref: the reference of "trt.vs.ctrl"; the baseline (first level) if not given.

    Returns:
        One function a contrast, labelled ``contrast`` and by the family's labels.

    Raises:
        StatsError: an unknown method or reference, or coefficients of another length.
    """
    labels: list[Mapping[str, str | float]] = []
    rows: list[FloatArray] = []
    compared = 0
    for places in of.families():
        names = [label_of(of, place) for place in places]
        if isinstance(method, str) and method in ("pairwise", "revpairwise"):
            compared = len(names)
        for name, coefficients in _named(names, method, ref):
            labels.append({"contrast": name, **{key: of.labels[places[0]][key] for key in of.by}})
            rows.append(coefficients @ of.rows[places])
    return Functions(of.model, tuple(labels), np.array(rows), ("contrast",), of.by, compared)


def interaction(of: Functions, methods: Mapping[str, Method]) -> Functions:
    """Contrasts of contrasts, such as differences in differences.

    Args:
        of: means over all the factors named.
        methods: for each factor its method; all combinations of their contrasts are taken.

    Raises:
        StatsError: factors that the means are not over, or unknown methods.
    """
    if sorted(methods) != sorted(of.over):
        raise StatsError(
            f"interaction: expected a method for each of {', '.join(of.over)}, got {', '.join(methods)}"
        )
    labels: list[Mapping[str, str | float]] = []
    rows: list[FloatArray] = []
    for places in of.families():
        parts = []
        for factor, method in methods.items():
            levels = list(dict.fromkeys(str(of.labels[place][factor]) for place in places))
            parts.append(
                [(name, dict(zip(levels, c, strict=True))) for name, c in _named(levels, method, None)]
            )
        for combination in itertools.product(*parts):
            weight = [
                np.prod([c[str(of.labels[place][f])] for f, (_, c) in zip(methods, combination, strict=True)])
                for place in places
            ]
            rows.append(np.array(weight) @ of.rows[places])
            named = {factor: name for factor, (name, _) in zip(methods, combination, strict=True)}
            labels.append({**named, **{key: of.labels[places[0]][key] for key in of.by}})
    return Functions(of.model, tuple(labels), np.array(rows), tuple(methods), of.by)


def label_of(of: Functions, place: int) -> str:
    """A function's own label: its levels joined by spaces."""
    return " ".join(_text(of.labels[place][name]) for name in of.over)


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _named(names: Sequence[str], method: Method, ref: str | None) -> Named:
    if not isinstance(method, str):
        return _custom(names, method)
    makers: dict[str, Callable[[Sequence[str]], Named]] = {
        "trt.vs.ctrl": lambda found: _control(found, ref),
        "pairwise": lambda found: _differences(found, itertools.combinations(range(len(found)), 2)),
        "revpairwise": lambda found: _differences(
            found, ((j, i) for j in range(len(found)) for i in range(j))
        ),
        "consec": lambda found: _differences(found, ((k + 1, k) for k in range(len(found) - 1))),
    }
    if method not in makers:
        near = difflib.get_close_matches(method, makers, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise StatsError(
            f"contrasts: expected one of {', '.join(makers)}, or coefficients, got {method!r}{hint}"
        )
    return makers[method](names)


def _control(names: Sequence[str], ref: str | None) -> Named:
    if ref is not None and ref not in names:
        raise StatsError(f"reference: expected one of {', '.join(names)}, got {ref!r}")
    place = 0 if ref is None else list(names).index(ref)
    return _differences(names, ((k, place) for k in range(len(names)) if k != place))


def _differences(names: Sequence[str], pairs: Iterable[tuple[int, int]]) -> Named:
    found: Named = []
    for plus, minus in pairs:
        coefficients = np.zeros(len(names))
        coefficients[plus], coefficients[minus] = 1.0, -1.0
        found.append((f"{names[plus]} - {names[minus]}", coefficients))
    return found


def _custom(names: Sequence[str], method: Mapping[str, npt.ArrayLike]) -> Named:
    found = [(name, np.asarray(values, dtype=np.float64)) for name, values in method.items()]
    faults = [
        f"contrast {name}: expected {len(names)} finite coefficients ({', '.join(names)}), got {values.tolist()}"
        for name, values in found
        if values.shape != (len(names),) or not np.isfinite(values).all()
    ]
    if faults:
        raise StatsError(faults)
    return found
