from pathlib import Path

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, MissingNeed, Need, Replays, RuleError, UndeclaredNeed

NAN = float("nan")


def test_a_rule_that_reads_what_it_did_not_declare_is_stopped() -> None:
    view = Context(truth=np.zeros(3)).for_rule(RULES["hcapo"])
    with pytest.raises(UndeclaredNeed, match="rule 'hcapo' reads 'truth' but declares needs hindsight"):
        _ = view.truth
    with pytest.raises(UndeclaredNeed, match="rule 'grpo' reads 'generator' but declares no needs"):
        Context().for_rule(RULES["grpo"]).the_generator()


def test_a_need_that_was_not_measured_says_how_to_mend_it() -> None:
    with pytest.raises(MissingNeed, match="'replays', which the context does not hold; execute the replays"):
        Context().for_rule(RULES["replay"]).the_replays()
    with pytest.raises(MissingNeed, match="needs 'truth'"):
        Context().the_truth()


def test_every_need_but_forks_is_a_field_of_the_context() -> None:
    assert {need for need in Need if not hasattr(Context(), need)} == {Need.FORKS}


def test_replays_with_holes_or_of_unequal_shapes_are_refused(tmp_path: Path) -> None:
    good = Replays(np.array([0, 3]), np.array([[1.0], [NAN]]), np.array([[[0.0]], [[NAN]]]))
    good.save(tmp_path / "replays.npz")
    assert Replays.load(tmp_path / "replays.npz").reason.tolist() == [0, 3]
    with pytest.raises(RuleError, match="turn 0 is marked as measured but lacks outcomes"):
        Replays(np.array([0, 3]), np.array([[NAN], [NAN]]), good.alternative)
    with pytest.raises(RuleError, match=r"expected reason \(T,\), factual \(T, M\)"):
        Replays(np.array([0]), good.factual, good.alternative)
    with pytest.raises(RuleError, match="expected 3 dimension"):
        Replays(good.reason, good.factual, good.factual)
