"""Other people's code was run on these cases; ours must give the same numbers.

The folder of cases is `cases/` beside this file, or the one that the environment variable EQUIPOISE_GOLDEN names.
"""

import importlib
import json
import math
import os
import pkgutil
from pathlib import Path
from typing import Any

import pytest
import tests.golden.adapters
from tests.golden.adapter import Adapter, number

from equipoise.errors import EquipoiseError
from equipoise_budget.errors import BudgetError
from equipoise_conditions import RuleError
from equipoise_stats.errors import StatsError

FOLDER = Path(os.environ.get("EQUIPOISE_GOLDEN") or Path(__file__).parent / "cases")
OURS = (RuleError, EquipoiseError, BudgetError, StatsError)


def adapters() -> dict[str, Adapter]:
    found: dict[str, Adapter] = {}
    for module in pkgutil.iter_modules(tests.golden.adapters.__path__):
        added = importlib.import_module(f"tests.golden.adapters.{module.name}").ADAPTERS
        assert not set(found) & set(added), "every file of cases has one adapter"
        found |= added
    return found


ADAPTERS = adapters()
FILES = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}
CASES = [
    pytest.param(stem, case, id=f"{stem}-{index}-{case['name']}")
    for stem, file in FILES.items()
    for index, case in enumerate(file["cases"])
]


def test_every_file_of_cases_has_an_adapter() -> None:
    assert FILES, f"no case files in {FOLDER}"
    assert not set(FILES) - set(ADAPTERS)


@pytest.mark.skipif("EQUIPOISE_GOLDEN" in os.environ, reason="another folder may hold any of the files")
def test_every_adapter_has_its_cases() -> None:
    assert not set(ADAPTERS) - set(FILES)


@pytest.mark.parametrize(("stem", "case"), CASES)
def test_our_numbers_are_those_of_the_reference(stem: str, case: dict[str, Any]) -> None:
    adapter = ADAPTERS[stem]
    inputs, expected = number(case["inputs"]), number(case["expected"])
    if adapter.named:
        inputs["case"] = case["name"]
    if isinstance(expected, dict) and "raises" in expected:
        refused(adapter, inputs)
        return
    compare(adapter.run(inputs), expected, adapter, adapter.mask(inputs) if adapter.mask else None, stem)


def refused(adapter: Adapter, inputs: dict[str, Any]) -> None:
    """The reference breaks here: ours says why, or does something better that is written down."""
    said = None
    try:
        adapter.run(inputs)
    except OURS as error:
        said = str(error)
    if said is None:
        assert adapter.better, (
            "the reference raises; expected one of our errors or a documented better answer"
        )
    else:
        assert len(said) > 20, "an error says what was expected and what came"


def compare(ours: Any, theirs: Any, adapter: Adapter, mask: Any, where: str) -> None:
    if isinstance(theirs, dict):
        wanted = set(theirs) - adapter.skips
        assert wanted <= set(ours), f"{where}: missing {sorted(wanted - set(ours))}"
        for key in wanted:
            compare(ours[key], theirs[key], adapter, mask, f"{where}.{key}")
    elif isinstance(theirs, list):
        assert isinstance(ours, list), f"{where}: expected a list, got {type(ours)}"
        assert len(ours) == len(theirs), f"{where}: expected {len(theirs)} entries, got {len(ours)}"
        masks = mask if isinstance(mask, list) else [mask] * len(theirs)
        for index, (mine, other, use) in enumerate(zip(ours, theirs, masks, strict=True)):
            compare(mine, other, adapter, use, f"{where}[{index}]")
    elif mask is None or mask:
        assert close(ours, theirs, adapter.tolerance), f"{where}: expected {theirs!r}, got {ours!r}"


def close(ours: Any, theirs: Any, tolerance: float) -> bool:
    if isinstance(theirs, str | bool) or theirs is None:
        return bool(ours == theirs)
    if math.isnan(theirs):
        return math.isnan(ours)
    return math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=tolerance) or ours == theirs
