"""How much faster the rules are on whole columns than the loops of published codes, and than plain Python.

    OMP_NUM_THREADS=1 python benchmarks/rules.py [--trajectories 4096] [--turns 50] [--repeats 5] [--rules grpo ...]
        [--json]

Every side gets the same numbers, in the form that suits it:

* the rule: a `Trajectories` batch in columns, new for each call, so that no derived column is at hand, and what was
  measured beside it. The call is `Rule.apply`, its checks included. Published codes write credit to every token;
  "on tokens" is the time with `to_tokens` after it, which makes the same of credit of turns, agents or episodes;
* `published`: tensors of (rows, tokens) and arrays of keys, as the published function takes them, in double
  precision; the loops are restated in benchmarks/loops/outcomes.py and turns.py, which name their sources. In GiGPO,
  Dr. MAS and iStar a row is a turn, elsewhere a trajectory. Given to it, though the rule works it out: IGPO's gains
  and their places, where MT-GRPO's first turn ends. Presets of the rules make both compute the same;
* `plain`: lists of dictionaries, each turn one, and one number for each unit of the rule's granularity
  (benchmarks/loops/plain.py). The rule runs with its default parameters.

Results are compared to 1e-6 before anything is timed. Sides take turns, and the processor time of the fastest call
of each counts, as others may use the machine meanwhile. A loop that takes longer than two seconds is run once.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.append(str(Path(__file__).resolve().parents[1]))  # a script's own folder is the only one there

from benchmarks.loops import outcomes, plain, turns
from benchmarks.loops.data import Data, dictionaries, random_data, rows_of

from equipoise_conditions import RULES, to_tokens

Loop = Callable[[Any, dict[str, Any]], Any]


@dataclass(frozen=True)
class Case:
    """A rule and its loops.

    Attributes:
        rule: its name.
        published: the loop of a published code, if there is one.
        plain: the loop in plain Python, if it differs from that.
        params: under which the rule computes what the published code does.
        label: what tells this case from others of the rule.
    """

    rule: str
    published: Loop | None = None
    plain: Loop | None = None
    params: dict[str, Any] = field(default_factory=dict)
    label: str = ""


# Without a mask that changes between turns, the first turn ends where the batch says.
_FIRST_TURN = {"preset": "multi-turn-rl-agent", "split": "turns"}
# The published code computes in single precision, the loop here does not.
_ICLR = {"preset": "iclr", "precision": "double"}
CASES = (
    Case("grpo", outcomes.grpo, plain.grpo, {"preset": "verl"}),
    Case("reinforce", outcomes.rloo, plain.reinforce, {"preset": "verl"}, "RLOO"),
    Case("gigpo", turns.gigpo, plain.gigpo, {"preset": "verl-agent-std"}, "verl-agent"),
    Case("gigpo", turns.gigpo, None, {"preset": "drmas-std"}, "DrMAS"),
    Case("igpo", turns.igpo, plain.igpo, _ICLR, "ICLR release"),
    Case("igpo_token", turns.igpo_token, plain.igpo_token, {"preset": "first-release"}, "first release"),
    Case("reinforce_pp", outcomes.reinforce_pp, plain.reinforce_pp, {"preset": "verl"}),
    Case("reinforce_pp_baseline", outcomes.reinforce_pp_baseline, None, {"preset": "verl"}),
    Case("opo", outcomes.opo, plain.opo, {"preset": "verl"}),
    Case("gpg", outcomes.gpg, plain.gpg, {"preset": "verl"}),
    Case("passk", outcomes.passk, plain.passk, {"preset": "verl"}),
    Case("mt_grpo", turns.mt_grpo, plain.mt_grpo, _FIRST_TURN),
    Case("adca_grpo", turns.adca_grpo, None, {"preset": "agentevolver"}),
    Case("gae", outcomes.gae, None, {"preset": "verl"}),
    Case("gae_turn", outcomes.gae_turn, plain.gae_turn),
    Case("bi_level_gae", outcomes.bi_level_gae, None, {"preset": "ragen"}),
    Case("vineppo", outcomes.vineppo, plain.vineppo),
    Case("process_reward", None, plain.process_reward),
    Case("tempo", None, plain.tempo),
    Case("gtpo", outcomes.gtpo, plain.gtpo, {"preset": "retrain"}),
    Case("hcapo", None, plain.hcapo),
    Case("c3", None, plain.c3),
    Case("dr_mas", turns.dr_mas, plain.dr_mas, {"preset": "drmas"}),
    Case("istar", turns.istar, plain.istar, {"preset": "istar-grpo-std"}),
)


@dataclass
class Timer:
    """Processor seconds of the fastest call, and what the last returned."""

    best: float = float("inf")
    result: Any = None

    def run(self, call: Callable[[], Any]) -> None:
        """Call once."""
        began = time.process_time()
        result = call()
        self.best = min(self.best, time.process_time() - began)
        self.result = result


def compare(
    case: Case, params: dict[str, Any], loop: Loop, given: Any, data: Data, repeats: int
) -> dict[str, Any]:
    """Return the times of a rule and of one loop, in milliseconds, and how far apart their results were."""
    rule, values = RULES[case.rule], RULES[case.rule].validate(params)
    looped, ours, projected = Timer(), Timer(), Timer()
    looped.run(partial(loop, given, values))
    expected = np.asarray(looped.result).ravel()
    batch = data.again()
    credit = rule.apply(batch, data.context, params)
    on_tokens = expected.size == batch.n_tokens and rule.card.granularity != "token"
    found = to_tokens(credit, batch) if on_tokens else credit
    difference = float(np.abs(found.value - expected).max())
    assert difference < 1e-6, f"{case.rule}: the loop and the rule differ by {difference}"
    for _ in range(repeats):
        batch = data.again()
        ours.run(partial(rule.apply, batch, data.context, params))
        projected.run(partial(to_tokens, ours.result, batch))
        if looped.best < 2.0:
            looped.run(partial(loop, given, values))
    total = ours.best + (projected.best if on_tokens else 0.0)
    return {
        "loop_ms": round(1e3 * looped.best, 3),
        "rule_ms": round(1e3 * ours.best, 3),
        "ratio": round(looped.best / ours.best, 1),
        "on_tokens_ms": round(1e3 * total, 3),
        "ratio_on_tokens": round(looped.best / total, 1),
        "largest_difference": difference,
    }


_COLUMNS = {
    "published": ("loop_ms", "rule_ms", "ratio", "on_tokens_ms", "ratio_on_tokens"),
    "plain": ("loop_ms", "rule_ms", "ratio"),
}
_HEADS = ("published loop", "rule", "ratio", "rule on tokens", "ratio", "plain loop", "rule", "ratio")


def table(results: list[dict[str, Any]]) -> str:
    """Return the results as lines of a Markdown table; times in milliseconds."""
    lines = ["| rule | " + " | ".join(_HEADS) + " |", "|---|" + "---:|" * len(_HEADS)]
    for result in results:
        cells = [f"{result['rule']} ({result['label']})" if result["label"] else result["rule"]]
        for side, names in _COLUMNS.items():
            found = result[side] or {}
            cells += [_written(found[name]) if name in found else "–" for name in names]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _written(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, default in (("trajectories", 4096), ("turns", 50), ("repeats", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--rules", nargs="*", default=[case.rule for case in CASES])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    data = random_data(chosen.trajectories, chosen.turns)
    rows, dictionary = rows_of(data), dictionaries(data)
    results = []
    for case in CASES:
        if case.rule not in chosen.rules:
            continue
        result: dict[str, Any] = {"rule": case.rule, "label": case.label, "published": None, "plain": None}
        if case.published is not None:
            result["published"] = compare(case, case.params, case.published, rows, data, chosen.repeats)
        if case.plain is not None:
            result["plain"] = compare(case, {}, case.plain, dictionary, data, chosen.repeats)
        results.append(result)
    shape = {
        "trajectories": data.trajectories.n,
        "turns": data.trajectories.n_turns,
        "tokens": data.trajectories.n_tokens,
    }
    print(json.dumps(shape | {"rules": results}, indent=2) if chosen.json else table(results))


if __name__ == "__main__":
    main()
