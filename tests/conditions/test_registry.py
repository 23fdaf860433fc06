import re
import sys
from pathlib import Path
from typing import Any

import pytest

from equipoise_conditions import RULES, Context, RuleError, find_rule
from equipoise_conditions.errors import FaultyPlugIn
from equipoise_conditions.registry import plug_ins, rules

PLUGIN = """
import numpy as np
from equipoise_conditions import Card, Credit, Parameter, Rule

def first_turn(trajectories, context):
    return Credit((trajectories.turn_index == 0).astype(float), np.zeros(trajectories.n_turns, dtype=int))

def short(trajectories, context):
    return Credit(np.zeros(1), np.zeros(1, dtype=int))

def fickle(trajectories, context, calls=[]):
    calls.append(1)
    return Credit(np.full(trajectories.n_turns, float(len(calls))), np.zeros(trajectories.n_turns, dtype=int))

def broken(trajectories, context):
    return trajectories.no_such_column

def named(name, assign=first_turn, parameters=()):
    card = Card(name, "First turn", "1[t = 0]", "a test", "turn", "none", "nothing", "later", "none")
    return Rule(name, assign, frozenset(), card, parameters)

FIRST = named("first-turn")
SHADOW = named("grpo")
OTHER = named("last-turn")
SHORT = named("first-turn", short)
FICKLE = named("first-turn", fickle)
BROKEN = named("first-turn", broken)
LISTED = named("first-turn", parameters=(Parameter("decay", 1.0, "float", "decay"),))
NUMBER = 3
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a third-party distribution with one entry point on the path."""

    def put(target: str, name: str = "first-turn") -> None:
        monkeypatch.delitem(sys.modules, "third_party_rules", raising=False)
        (tmp_path / "third_party_rules.py").write_text(PLUGIN)
        info = tmp_path / "third_party_rules-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party-rules\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[equipoise.rules]\n{name} = third_party_rules:{target}\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    return put


def test_an_installed_package_can_add_a_rule(install: Any, batch: Any) -> None:
    install("FIRST")
    assert set(rules()) == set(RULES) | {"first-turn"}
    credit = find_rule("first-turn").apply(batch(outcome=[1, 0], lengths=[2, 1]), Context())
    assert credit.value.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("NUMBER", "expected a Rule, got int"),
        ("ABSENT", "cannot be loaded: AttributeError"),
        ("OTHER", "expected one name for entry point, rule and card, got 'first-turn', 'last-turn'"),
        ("SHORT", "fails on a small batch: RuleError: rule 'first-turn': expected credit for 3 units"),
        ("FICKLE", "gives other credit for the same batch"),
        ("BROKEN", "fails on a small batch: AttributeError: 'Trajectories' object has no attribute"),
        ("LISTED", "lists the parameters decay, which its function does not take"),
    ],
)
def test_a_faulty_plug_in_tells_its_fault_where_it_is_asked_for_and_spoils_nothing_else(
    install: Any, target: str, said: str
) -> None:
    install(target)
    with pytest.raises(FaultyPlugIn, match=re.escape(said)) as caught:
        find_rule("first-turn")
    assert "of third-party-rules 1.0" in str(caught.value), "whose fault it is"
    assert set(rules()) == set(RULES)
    assert find_rule("grpo") is RULES["grpo"]


def test_a_plug_in_cannot_take_the_name_of_a_rule(install: Any) -> None:
    install("SHADOW", name="grpo")
    assert find_rule("grpo") is RULES["grpo"]
    good, faulty = plug_ins()
    assert not good
    assert "the rule name 'grpo' is taken; rename the rule" in faulty["grpo"]


def test_an_unknown_rule_is_answered_with_the_nearest() -> None:
    with pytest.raises(RuleError, match="unknown rule 'gipgo'; did you mean 'gigpo'"):
        find_rule("gipgo")


def test_all_wrong_parameters_are_told_at_once() -> None:
    with pytest.raises(RuleError) as caught:
        RULES["hcapo"].validate({"temprature": 5, "std": "samples", "alpha": 2, "do_no_harm": 1, "eps": "x"})
    said = str(caught.value)
    for part in (
        "unknown parameter 'temprature'; did you mean 'temperature'?",
        "std: expected one of sample, population, none, got 'samples'",
        "alpha: expected a number from 0 to 1, got 2",
        "do_no_harm: expected true or false, got 1",
        "eps: expected a number of at least 0, got 'x'",
    ):
        assert part in said


def test_numbers_are_read_in_their_own_type() -> None:
    values = RULES["carl"].validate({"initial": 2.0})
    assert values == {"initial": 2, "forks": 16}
    assert isinstance(values["initial"], int)
    with pytest.raises(RuleError, match=r"initial: expected a whole number of at least 1, got 1\.5"):
        RULES["carl"].validate({"initial": 1.5})
    with pytest.raises(RuleError, match="got True"):
        RULES["carl"].validate({"initial": True})
    with pytest.raises(RuleError, match="this rule takes none"):
        RULES["random"].validate({"seed": 1})
