"""A loss belongs to the path that has more than one."""

from collections.abc import Mapping
from typing import Any

import pytest

from equipoise_preregistration import SuiteError, parse_suite
from equipoise_preregistration.setting import Training

RULES = dict.fromkeys(("grpo", "gigpo"), lambda parameters: parameters)

SUITE = """\
name: tiny
conditions:
  - {id: outcome, rule: grpo, baseline: true}
  - {id: gigpo, rule: gigpo}
budget: {examples: 64, optimizer_steps: 4}
blocks: 5
training: %s
"""


def _faults(training: str) -> Mapping[str, str]:
    with pytest.raises(SuiteError) as caught:
        parse_suite((SUITE % training).encode(), "s.yaml", rules=RULES)
    return {fault.path: fault.message for fault in caught.value.faults}


@pytest.mark.parametrize("loss", ["grpo", "bnpo", "dr_grpo", "dapo"])
def test_the_on_policy_path_has_four_losses(loss: str) -> None:
    suite = parse_suite((SUITE % f"{{path: grpo, loss: {loss}}}").encode(), "s.yaml", rules=RULES)
    assert (suite.training.path, suite.training.loss) == ("grpo", loss)


def test_the_weighted_likelihood_is_the_default() -> None:
    assert (Training().path, Training().loss) == ("sft", None)


@pytest.mark.parametrize(
    ("training", "message"),
    [
        (
            "{path: grpo}",
            "loss: expected grpo, bnpo, dr_grpo or dapo with `path: grpo`, got null; choose one",
        ),
        (
            "{loss: dapo}",
            "loss: expected null with `path: sft`, got dapo; set `path: grpo` or drop the loss",
        ),
    ],
)
def test_a_path_and_a_loss_that_do_not_fit_are_refused(training: str, message: str) -> None:
    assert _faults(training) == {"training": message}


def test_a_misspelt_loss_is_told_its_neighbour_beside_every_other_fault() -> None:
    found: dict[str, Any] = dict(_faults("{path: grpo, loss: dapoo, learning_rate: -1.0}"))
    assert set(found) == {"training.loss", "training.learning_rate"}
    assert "did you mean 'dapo'" in found["training.loss"]
