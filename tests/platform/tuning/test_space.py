"""Which dimensions a condition has, and the suite it is run under."""

from typing import TYPE_CHECKING

from equipoise.tuning.space import concerned, rule_values, settle
from equipoise_preregistration.points import Point

if TYPE_CHECKING:
    from tests.platform.tuning.conftest import MakeTuned


def test_parameters_of_rules_concern_the_conditions_whose_rules_have_them(make_tuned: "MakeTuned") -> None:
    suite = make_tuned()
    assert concerned(suite, "outcome") == ("training.clip", "training.learning_rate")
    assert concerned(suite, "gigpo") == ("gamma", "training.clip", "training.learning_rate")


def test_settled_values_reach_the_condition_and_no_other(make_tuned: "MakeTuned") -> None:
    suite = make_tuned()
    values: Point = {"gamma": 0.7, "training.clip": [0.2, 0.2], "training.learning_rate": 0.002}
    settled = settle(suite, "gigpo", values)
    assert settled.training.learning_rate == 0.002
    assert settled.training.clip == (0.2, 0.2)
    assert settled.conditions[1].parameters == {"std": "population", "gamma": 0.7}
    assert settled.conditions[0] == suite.conditions[0]
    assert settled.conditions[2] == suite.conditions[2]
    assert settled.model_copy(update={"training": suite.training, "conditions": suite.conditions}) == suite


def test_nothing_chosen_changes_nothing(make_tuned: "MakeTuned") -> None:
    assert settle(make_tuned(), "gigpo", {}) == make_tuned()


def test_credit_depends_on_the_rules_own_values_only() -> None:
    assert rule_values({"training.clip": None, "gamma": 0.5, "eps": 1}) == {"eps": 1, "gamma": 0.5}
