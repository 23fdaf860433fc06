"""One run: how far it moved, what it cost, and that one which diverges is still a result."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from equipoise.execution.costs import decoder_of, played, scored
from equipoise.execution.displacement import kl_from_start, l2_between
from equipoise.policies.episodes import Start
from equipoise.policies.rollout import opening
from equipoise_budget import Cost
from equipoise_conditions.credit import Credit, Reason
from equipoise_preregistration import Suite


@pytest.fixture
def base(ran: Any) -> Any:
    return ran.world(0).model_from(ran.folders["b0/base"] / "base.safetensors")


def test_the_distance_by_hand() -> None:
    one = [torch.tensor([0.0, 0.0]), torch.tensor([[1.0]])]
    other = [torch.tensor([3.0, 0.0]), torch.tensor([[5.0]])]
    assert l2_between(one, other) == 5.0


def test_the_divergence_is_that_of_the_decisions(ran: Any, base: Any) -> None:
    transcripts = ran.batch("b0/collect").transcripts
    turns = list(range(len(transcripts.trajectory)))
    assert kl_from_start(base, base, transcripts, turns) == 0.0
    moved = copy.deepcopy(base)
    with torch.no_grad():
        moved.model.norm.weight *= 3.0
    total = 0.0
    for turn in turns:
        row = torch.tensor(transcripts.row(turn))[None]
        for place in range(transcripts.start[turn], transcripts.end[turn]):
            at = transcripts.token_offsets[turn] + place - transcripts.start[turn]
            ids = transcripts.allowed[transcripts.allowed_offsets[at] : transcripts.allowed_offsets[at + 1]]
            p, q = (
                torch.softmax(model(input_ids=row).logits[0, place - 1].detach()[ids].double(), dim=0)
                for model in (base, moved)
            )
            total += float((p * (p / q).log()).sum())
    assert kl_from_start(base, moved, transcripts, turns) == pytest.approx(total / len(turns), rel=1e-4)
    assert total > 0


def test_a_policy_that_says_nothing_finite_has_no_divergence(ran: Any, base: Any) -> None:
    broken = copy.deepcopy(base)
    with torch.no_grad():
        broken.model.norm.weight[:] = torch.inf
    assert kl_from_start(base, broken, ran.batch("b0/collect").transcripts, [0, 1]) is None


def test_a_run_that_diverges_is_judged_and_written_down(
    ran: Any, make_suite: Callable[..., Suite], tmp_path: Path
) -> None:
    ran_hot = copy.copy(ran)
    hot = make_suite(training={"learning_rate": 1e30}).model_dump(mode="json")
    ran_hot.payloads = {key: {**payload, "suite": hot} for key, payload in ran.payloads.items()}
    result = ran_hot.again("b0/cell/outcome/matched/0", tmp_path)
    assert result["end"] == "diverged"
    assert "at optimizer step 2" in result["message"]
    assert result["breaches"] == []
    assert result["dose"]["optimizer_steps"] == 1
    assert result["digests"]["weights"] == ran.results["b0/base"]["digests"]["weights"]
    assert result["outcomes"] == ran.results["b0/base"]["outcomes"]
    assert (result["dose"]["l2_from_start"], result["dose"]["kl_from_start"]) == (0.0, 0.0)


def test_a_rule_that_leaves_no_example_trains_nothing_and_owes_its_budget(ran: Any, tmp_path: Path) -> None:
    turns = ran.batch("b0/collect").trajectories.n_turns
    nothing = copy.copy(ran)
    empty = tmp_path / "signals"
    empty.mkdir()
    Credit(np.full(turns, np.nan), np.full(turns, int(Reason.NO_ALTERNATIVE))).save(empty / "credit.npz")
    nothing.folders = {**ran.folders, "b0/signals/replay": empty}
    for arm, owed in (("native", 0), ("matched", 1), ("twin", 1)):
        result = nothing.again(f"b0/cell/replay/{arm}/0", tmp_path)
        assert result["outcomes"] == ran.results["b0/base"]["outcomes"]
        assert (result["end"], result["dose"]["slots"], result["dose"]["optimizer_steps"]) == ("ok", 0, 0)
        assert len(result["breaches"]) == owed
        assert all("the budget is 16 slots, counted 0" in breach for breach in result["breaches"])
        assert result["planned"]["slots"] == 0


def test_the_plan_and_the_count_agree_in_every_cell(ran: Any) -> None:
    names = (
        "slots",
        "optimizer_steps",
        "unique_examples",
        "tokens_in_loss",
        "zero_weight_slots",
        "repetition",
    )
    for _, _, arms in ran.cells():
        for result in arms.values():
            assert {n: result["planned"][n] for n in names} == {n: result["dose"][n] for n in names}
            assert result["dose"]["micro_batches"] == result["dose"]["optimizer_steps"]
            assert result["cost"]["forward_tokens_train"] == result["dose"]["tokens_forward"]


def test_what_playing_costs_by_hand(ran: Any, base: Any) -> None:
    world = ran.world(0)
    sampler = world.sampler(base, 1.0)
    state = world.env.reset("pool", 0)
    whole = Start(state, opening(world.words, state))
    first = sampler.play([whole], np.zeros((1, 4)))
    # <bos> corridor LANDMARK <act>, four times open DOOR <eot>, three times LANDMARK <act> between them
    assert len(first[0].tokens) == 4 + 4 * 3 + 3 * 2
    cost = played(base, [whole], first)
    assert (cost.rollout_tokens, cost.environment_steps, cost.environment_resets) == (22, 4, 1)
    later = Start(world.env.step(state, state.admissible[0]), tuple(first[0].tokens[:9]), turns=1)
    rest = sampler.play([later], np.zeros((1, 4)))
    assert played(base, [later], rest, restored=True).rollout_tokens == 22 - 9
    decoder = decoder_of(base)
    assert played(base, [later], rest, restored=True).flops == decoder.forward([22]) - decoder.forward([9])
    assert decoder.parameters == sum(p.numel() for p in base.parameters() if p.ndim > 1)
    assert scored(base, [3, 4]) == Cost(scoring_tokens=7, flops=decoder.forward([3, 4]))
