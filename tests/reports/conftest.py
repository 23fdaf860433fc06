import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from equipoise_budget import Cost, Dose, PlannedDose
from equipoise_conditions import Card
from equipoise_reports import BaseScore, ConditionCard, Design, Registration, RunRecord, Slot, Study, render
from equipoise_stats import Analysis, Hypothesis, Question, RunScore, analyse

SUITE = """\
name: seven-rules-household
question: Does step-level credit carry more than the amount of training it leaves?
conditions:
  - {id: outcome, rule: grpo, baseline: true}
  - {id: gigpo, rule: gigpo, gamma: 0.95, std: sample}
  - {id: oracle, rule: replay, control: positive}
  - {id: random, rule: random, control: negative}
arms: {native: true, matched: true, twins: 1}
budget: {examples: 640, optimizer_steps: 40, under: resample, over: thin}
blocks: 5
"""


@dataclasses.dataclass(frozen=True)
class Rule:
    """A condition of the synthetic study: what it leaves to train on, and what its credit is truly worth."""

    condition: str
    name: str
    leaves: int
    content: float
    control: str | None = None
    baseline: bool = False


RULES = (
    Rule("outcome", "grpo", 1900, 0.0, baseline=True),
    Rule("gigpo", "gigpo", 2300, 0.11),
    Rule("hindsight", "hcapo", 2300, 0.02),
    Rule("reinforce", "reinforce", 2050, 0.0),
    Rule("carl", "carl", 610, 0.03),
    Rule("oracle", "replay", 480, 0.16, control="positive"),
    Rule("random", "random", 2300, 0.0, control="negative"),
)
EXAMPLES, STEPS = 640, 40


def digest(rng: np.random.Generator, scheme: str) -> str:
    return scheme + ":" + rng.bytes(32).hex()


def card(rule: str) -> Card:
    return Card(
        name=rule,
        title=f"the {rule} rule",
        formula="A_i,t = (R_i − mean R) / (std R + ε)",
        source="Shao et al. 2024, arXiv:2402.03300",
        granularity="episode",
        cost="nothing beyond the rollouts",
        drops="groups whose outcomes all agree",
        zeroes="nothing",
        reference_code="trl 1.16.0, GRPOTrainer",
    )


def dose(slots: int, steps: int, examples: int) -> tuple[PlannedDose, Dose]:
    unique = min(slots, examples)
    shown = -(-slots // unique)
    twice = slots - unique * (shown - 1)
    planned = PlannedDose(
        slots=slots,
        optimizer_steps=steps,
        unique_examples=unique,
        tokens_in_loss=slots * 5,
        weight_abs=slots * 0.8,
        weight_sq=slots * 0.8,
        ess=slots * 0.8,
        ess_trajectories=90.0,
        ess_tasks=20.0,
        trajectories=150,
        tasks=32,
        zero_weight_slots=0,
        positive_slots=slots // 2,
        repetition={1: unique} if shown == 1 else {shown - 1: unique - twice, shown: twice},
    )
    counted = Dose(
        slots=slots,
        unique_examples=unique,
        optimizer_steps=steps,
        micro_batches=steps,
        tokens_in_loss=slots * 5,
        tokens_forward=slots * 160,
        weight_abs=slots * 0.8,
        weight_sq=slots * 0.8,
        ess=slots * 0.8,
        zero_weight_slots=0,
        positive_slots=slots // 2,
        grad_norm_mean=0.8,
        grad_norm_max=2.1,
        l2_from_start=1.7,
        kl_from_start=None,
        repetition=planned.repetition,
    )
    return planned, counted


def cost(rule: str, slots: int) -> Cost:
    extra = 9000 if rule == "replay" else 0
    return Cost(
        rollout_tokens=21_000 + 5 * extra,
        environment_steps=3_400 + extra,
        environment_resets=256 + extra // 4,
        scoring_tokens=40_000 if rule == "hcapo" else 0,
        forward_tokens_train=slots * 160,
        flops=slots * 160 * 6 * 1e6,
        seconds={"train": 1.4, "evaluate": 0.9},
    )


def run(rule: Rule, arm: str, block: int, level: float, rng: np.random.Generator) -> RunRecord:
    examples = rule.leaves + 7 * block
    slots = examples if arm == "native" else EXAMPLES
    planned, counted = dose(slots, -(-slots // 16), examples)
    success = level + (0.0 if arm == "twin" else rule.content) + rng.normal(0, 0.02)
    success += 0.05 * np.log(slots / EXAMPLES) + 0.08
    return RunRecord(
        key=f"b{block}/cell/{rule.condition}/{arm}/0",
        condition=rule.condition,
        arm=arm,
        block=block,
        primary=float(round(np.clip(success, 0, 1) * 256) / 256),
        held_out=float(round(np.clip(success - 0.06, 0, 1) * 256) / 256),
        examples=examples,
        planned=planned,
        dose=counted,
        cost=cost(rule.name, slots),
        plan_digest=digest(rng, "eq1"),
        weights_digest=digest(rng, "sha256"),
        seconds=float(round(2.3 + rng.random(), 3)),
        mlflow_url=f"http://127.0.0.1:5000/#/experiments/1/runs/{block}{arm}",
    )


def conclude(
    study: Study,
    hypotheses: tuple[Hypothesis, ...] | None = None,
    barred: frozenset[tuple[str, str, int]] = frozenset(),
) -> Analysis:
    """Analyse a study's runs as its design says."""
    known = {card.id for card in study.conditions}
    if hypotheses is None:
        hypotheses = tuple(
            Hypothesis(f"H{place}", f"{name}'s credit content helps", "content", name)
            for place, name in enumerate(("gigpo", "hindsight", "carl"), 1)
            if name in known
        )
    question = Question(
        baseline=study.baseline.id,
        conditions=tuple(card.id for card in study.conditions),
        hypotheses=hypotheses,
        controls={card.id: card.control for card in study.conditions if card.control},
        identical=frozenset({study.baseline.id, "reinforce"}) & known,
        barred=barred,
    )
    scores = [RunScore(r.condition, r.arm, r.twin, r.block, r.primary, 256) for r in study.runs]
    return analyse(scores, [], question, {block: base.primary for block, base in study.base.items()})


def design(rules: tuple[Rule, ...], blocks: int) -> Design:
    arms = ("native", "matched", "twin")
    return Design(
        blocks=tuple(range(blocks)),
        cells=tuple(Slot(rule.condition, arm) for rule in rules for arm in arms),
        twins=1,
        examples=EXAMPLES,
        optimizer_steps=STEPS,
        under="resample",
        over="thin",
        alpha=0.05,
        smallest_effect=0.05,
        multiplicity="step-down-max-t",
        environment="household, 32 tasks in the pool and 64 held out, horizon 15",
        policy="tiny-qwen3, warm start at 35–55 % success",
        planned_sd=0.03,
        planned_mde=0.069,
    )


def registration(rng: np.random.Generator) -> Registration:
    return Registration(
        hash=digest(rng, "eq1"),
        registered_at="2026-03-01T09:30:00Z",
        code_version="0.1.0+g4f2a91c",
        python="3.11.7",
        threads=1,
        cpu_capability="avx2",
        suite_yaml=SUITE,
        previous=digest(rng, "eq1"),
        lock=("torch==2.12.0", "numpy==2.4.6", "trl==1.16.0"),
        seeds={"suite": 7},
    )


def build(blocks: int = 5, rules: tuple[Rule, ...] = RULES) -> Study:
    """A finished study: every cell of the design has a run, and the runs are analysed."""
    rng = np.random.default_rng(20_260_101)
    levels = 0.44 + rng.normal(0, 0.015, blocks)
    study = Study(
        name="seven-rules-household",
        question="Does step-level credit carry more than the amount of training it leaves?",
        registration=registration(rng),
        conditions=tuple(
            ConditionCard(
                rule.condition,
                card(rule.name),
                baseline=rule.baseline,
                control=rule.control,
                parameters={"gamma": 0.95} if rule.name == "gigpo" else {},
            )
            for rule in rules
        ),
        design=design(rules, blocks),
        runs=tuple(
            run(rule, arm, block, levels[block], rng)
            for block in range(blocks)
            for rule in rules
            for arm in ("native", "matched", "twin")
        ),
        base={block: BaseScore(float(level), float(level) - 0.05) for block, level in enumerate(levels)},
        analysis=None,
        generated_by="equipoise 0.1.0",
    )
    return dataclasses.replace(study, analysis=conclude(study))


@pytest.fixture(scope="session")
def study() -> Study:
    """Seven conditions, three arms, five blocks: synthetic scores with a known content."""
    return build()


@pytest.fixture(scope="session")
def page(study: Study) -> str:
    return render(study)


@pytest.fixture(scope="session")
def builder() -> Callable[..., Study]:
    return build


@pytest.fixture(scope="session")
def concluder() -> Callable[..., Analysis]:
    return conclude


@pytest.fixture(scope="session")
def interim(study: Study) -> Study:
    """The same study after 70 of its 105 runs: three blocks complete, one begun."""
    return dataclasses.replace(study, runs=study.runs[:70], analysis=None)
