"""Rules whose natural doses lie a factor of ten apart, and what the ledgers of their cells say, counted."""

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.suites.tampering import Copy

from equipoise.store import open_store

if TYPE_CHECKING:
    from tests.platform.suites.conftest import Equipoise

pytestmark = pytest.mark.slow

SUITE = Path(__file__).parent / "data" / "doses.yaml"
SLOTS, STEPS, TURNS, TRAJECTORIES = 96, 6, 4, 72


@pytest.fixture(scope="module")
def doses(tmp_path_factory: pytest.TempPathFactory, equipoise: "Equipoise") -> Copy:
    """The suite, registered and run."""
    home = tmp_path_factory.mktemp("doses") / "runs"
    for command in ("register", "run"):
        done = equipoise(command, SUITE, "--home", home)
        assert done.returncode == 0, done.stderr
    return Copy(home)


@pytest.fixture(scope="module")
def ledgers(doses: Copy) -> dict[str, dict[tuple[str, str], Any]]:
    """By arm: the ledgers of its cells, by block and condition."""
    store = open_store(doses.home, create=False)
    (suite,) = store.suites()
    found: dict[str, dict[tuple[str, str], Any]] = defaultdict(dict)
    for ledger in store.ledgers(suite.hash):
        if ledger.kind == "cell":
            block, _, condition, arm, _ = ledger.key.split("/")
            steps = [step.values for step in store.steps(suite.hash, ledger.key)]
            found[arm][block, condition] = {**ledger.values, "steps": steps}
    store.close()
    return found


@pytest.mark.parametrize("arm", ["matched", "twin"])
def test_matched_and_twin_cells_counted_the_same_slots_in_the_same_steps(
    ledgers: dict[str, dict[tuple[str, str], Any]], arm: str
) -> None:
    cells = ledgers[arm].values()
    assert len(cells) == 6
    for ledger in cells:
        assert (ledger["slots"], ledger["optimizer_steps"]) == (SLOTS, STEPS)
        assert (ledger["allocated_slots"], ledger["allocated_optimizer_steps"]) == (SLOTS, STEPS)
        assert [step["slots"] for step in ledger["steps"]] == [SLOTS // STEPS] * STEPS
        assert all(
            step[f"allocated_{name}"] == step[name]
            for step in ledger["steps"]
            for name in ("slots", "tokens")
        )


def test_native_cells_are_as_their_rules_leave_them(ledgers: dict[str, dict[tuple[str, str], Any]]) -> None:
    for (_, condition), ledger in ledgers["native"].items():
        if condition == "sparse":
            assert 0 < ledger["slots"] <= TRAJECTORIES // 12 * TURNS
        else:
            assert ledger["slots"] == TRAJECTORIES * TURNS
        assert ledger["unique_examples"] == ledger["slots"]
        assert ledger["optimizer_steps"] == -(-ledger["slots"] // (SLOTS // STEPS))
    for block in ("b0", "b1"):
        dense, sparse = (ledgers["native"][block, name]["slots"] for name in ("dense", "sparse"))
        assert dense >= 10 * sparse


def test_what_differs_in_the_matched_arm_is_told(ledgers: dict[str, dict[tuple[str, str], Any]]) -> None:
    matched = ledgers["matched"]
    for block in ("b0", "b1"):
        assert matched[block, "dense"]["unique_examples"] == SLOTS
        assert matched[block, "sparse"]["unique_examples"] <= TRAJECTORIES // 12 * TURNS


def test_the_suite_is_whole(doses: Copy) -> None:
    assert doses.faults() == []


def test_the_ledger_lies_beside_each_run_and_in_mlflow(doses: Copy) -> None:
    header, *lines = (doses.work("b0/cell/sparse/matched/0") / "ledger.csv").read_text().splitlines()
    assert header.startswith("step,allocated_slots,slots,allocated_tokens,tokens,")
    assert [line.split(",")[:3] for line in lines] == [[str(k), "16", "16"] for k in range(1, STEPS + 1)]
    (whole,) = (doses.home / "mlartifacts").rglob("ledger.csv")
    runs = whole.read_text().splitlines()
    assert len(runs) == 1 + 18
    assert runs[0].startswith("run,condition,arm,twin,block,allocated_slots,slots,")
