import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, RuleError, find_rule
from equipoise_conditions.errors import CrossedParameters, FaultyPlugIn
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

def listing(trajectories, context):
    return [1.0, 0.0, 0.0]

def meddler(trajectories, context):
    object.__setattr__(trajectories, "outcome", trajectories.outcome * 2)
    return first_turn(trajectories, context)

def named(name, assign=first_turn, parameters=()):
    card = Card(name, "First turn", "1[t = 0]", "a test", "turn", "none", "nothing", "later", "none")
    return Rule(name, assign, frozenset(), card, parameters)

FIRST = named("first-turn")
SHADOW = named("grpo")
OTHER = named("last-turn")
SHORT = named("first-turn", short)
FICKLE = named("first-turn", fickle)
BROKEN = named("first-turn", broken)
LIST = named("first-turn", listing)
MEDDLER = named("first-turn", meddler)
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
        ("BROKEN", "rule 'first-turn' raised AttributeError: 'Trajectories' object has no attribute"),
        ("LIST", "rule 'first-turn': expected its function to return Credit, got list"),
        ("MEDDLER", "rule 'first-turn' changes the batch that it is given; let it work on copies"),
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
    assert "the rule name 'grpo' is taken; rename the rule, or uninstall third-party-rules" in faulty["grpo"]


def test_an_unknown_rule_is_answered_with_the_nearest() -> None:
    with pytest.raises(RuleError, match="unknown rule 'gipgo'; did you mean 'gigpo'"):
        find_rule("gipgo")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("GIGPO", "unknown rule 'GIGPO'; did you mean 'gigpo'? (known: "),
        ("VinePPO", "did you mean 'vineppo'?"),
        ("rloo", "unknown rule 'rloo'; did you mean 'reinforce'? (known: "),
        ("dr_grpo", "unknown rule 'dr_grpo'; did you mean 'grpo' with `preset: dr-grpo`? (known: "),
        ("Dr. GRPO", "did you mean 'grpo' with `preset: dr-grpo`?"),
        ("TARL", "did you mean 'turn_judge'?"),
        ("PilotRL", "unknown rule 'PilotRL'; no rule stands for PilotRL: formula not recovered (known: "),
        ("xyzzy", "unknown rule 'xyzzy' (known: grpo, "),
    ],
)
def test_names_of_the_field_and_of_the_survey_lead_to_the_rule(name: str, said: str) -> None:
    with pytest.raises(RuleError, match=re.escape(said)):
        find_rule(name)


@pytest.mark.parametrize("preset", [["verl"], "Verl", "verl2"])
def test_a_preset_that_there_is_not_is_answered_with_the_nearest(preset: object) -> None:
    with pytest.raises(RuleError) as caught:
        RULES["grpo"].validate({"preset": preset})
    assert str(caught.value).startswith("rule 'grpo': preset: expected one of verl, verl-vectorised, trl, ")
    assert str(caught.value).endswith(f", got {preset!r}; did you mean 'verl'?")


def test_a_preset_of_a_rule_without_presets_and_one_like_none() -> None:
    with pytest.raises(
        RuleError, match="rule 'hcapo': preset: expected none, since this rule has no presets"
    ):
        RULES["hcapo"].validate({"preset": "verl"})
    with pytest.raises(RuleError, match=r"got \{'a': 1\}$"):
        RULES["grpo"].validate({"preset": {"a": 1}})


@pytest.mark.parametrize(
    ("rule", "params", "said"),
    [
        ("hcapo", {"clip_low": 2}, "clip_low: expected clip_low <= clip_high, got 2 > 1.2"),
        ("outcome_ratio", {"clip_high": 0.5}, "clip_low: expected clip_low <= clip_high, got 0.8 > 0.5"),
        (
            "adca_grpo",
            {"scheme": "allocation", "outcome_on": "none"},
            "outcome_on: expected last or all with the scheme allocation, got none; use decouple",
        ),
        (
            "shapley",
            {"index": "banzhaf", "permutations": 8},
            "permutations: expected 0 for the index 'banzhaf', got 8; only Shapley values are averages over orders",
        ),
        (
            "scar",
            {"index": "leave_one_out", "permutations": 1},
            (
                "permutations: expected 0 for the index 'leave_one_out', got 1; only Shapley values are averages over "
                "orders"
            ),
        ),
        (
            "router",
            {"over": "router", "over_parameters": {"over": "hcapo", "over_parameters": {"clip_low": 2}}},
            (
                "over_parameters: rule 'router': over_parameters: rule 'hcapo': clip_low: expected clip_low <= "
                "clip_high, got 2 > 1.2"
            ),
        ),
    ],
)
def test_parameters_that_do_not_go_together_are_told_before_anything_runs(
    rule: str, params: dict[str, object], said: str
) -> None:
    with pytest.raises(CrossedParameters) as caught:
        RULES[rule].validate(params)
    assert caught.value.faults == (said,)
    assert str(caught.value) == f"rule '{rule}': {said}"


def test_what_goes_together_passes() -> None:
    assert RULES["hcapo"].validate({"clip_low": 2, "clip_high": 3})["clip_low"] == 2.0
    assert RULES["shapley"].validate({"permutations": 8})["permutations"] == 8


def test_whatever_a_rule_raises_or_returns_is_told_with_its_name(batch: Any) -> None:
    def failing(trajectories: Any, context: Any) -> Any:
        return 1 / 0

    t = batch(outcome=[1], lengths=[2])
    broken = replace(RULES["random"], assign=failing, parameters=())
    with pytest.raises(RuleError, match="rule 'random' raised ZeroDivisionError: division by zero") as caught:
        broken.apply(t, Context(generator=np.random.default_rng(0)))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)

    def forgetful(trajectories: Any, context: Any) -> Any:
        return None

    nothing = replace(broken, assign=forgetful)
    with pytest.raises(
        RuleError, match="rule 'random': expected its function to return Credit, got NoneType"
    ):
        nothing.apply(t, Context(generator=np.random.default_rng(0)))


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
