"""When two stored values agree, and how faults are told."""

from pathlib import Path
from typing import Any

import pytest

from equipoise.suites.verifying_findings import Findings, agree

NAN = float("nan")


@pytest.mark.parametrize(
    ("expected", "found", "rel", "same"),
    [
        (2, 2.0, 0.0, True),
        (0.1 + 0.2, 0.3, 0.0, False),
        (0.1 + 0.2, 0.3, 1e-9, True),
        (3, 4, 1.0, False),  # counts are exact, whatever sums may differ by
        (NAN, NAN, 0.0, True),
        (None, 0, 0.0, False),
        (0, False, 0.0, False),
        ({"1": 2}, {"1": 2, "2": 0}, 0.0, False),
        ([1, [2.0, None]], (1, (2, None)), 0.0, True),
        ("ok", "diverged", 0.0, False),
    ],
)
def test_numbers_agree_up_to_what_is_allowed_and_undefined_is_never_zero(
    expected: Any, found: Any, rel: float, *, same: bool
) -> None:
    assert agree(expected, found, rel=rel) is same


def test_a_fault_says_where_what_expected_and_found() -> None:
    findings = Findings()
    assert findings.hold("matches", "b0/cell/a/matched/0", "slots", (16, 16))
    assert not findings.hold("matches", "b0/cell/a/twin/0", "slots", (16, None))
    (fault,) = findings.faults
    assert fault.sentence == "b0/cell/a/twin/0: slots: expected 16, found nothing"
    assert findings.compared["matches"] == 2


def test_what_other_code_works_out_otherwise_is_not_judged() -> None:
    findings = Findings(same_code=False)
    assert findings.hold_again("plans made again", "b0/cell/a/twin/0", "slot 3", (1, 1))
    assert not findings.hold_again("plans made again", "b0/cell/a/twin/1", "slot 3", (1, 2))
    assert findings.faults == []
    assert findings.compared["plans made again"] == 1
    ((why, where),) = findings.skipped.items()
    assert why == "plans made again: what this code works out is not what the registered code did"
    assert where == ["b0/cell/a/twin/1"]


def test_a_file_that_cannot_be_read_is_told_once(tmp_path: Path) -> None:
    findings = Findings()
    assert findings.read("b0/collect", tmp_path / "none.npz", Path.read_bytes, told=True) is None
    assert findings.faults == []
    assert findings.read("b0/collect", tmp_path / "none.npz", Path.read_bytes) is None
    assert findings.faults[0].sentence.startswith(
        "b0/collect: none.npz: expected a file that can be read, found File"
    )
