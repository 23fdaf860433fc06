"""Rules of tokens and segments: SPO, HICRA, retrain's weights and masks."""

from itertools import accumulate
from typing import Any

import numpy as np
from tests.golden.adapter import Adapter

from equipoise_conditions import RULES, Context, Credit, Cuts, Trajectories, to_tokens, to_turns
from equipoise_conditions.rules.tokens.cuts import cut_positions, fixed_cut_positions, values_after
from equipoise_conditions.rules.tokens.hicra import amplified, entropy_marks
from equipoise_conditions.rules.tokens.planning import planning_mask
from equipoise_conditions.rules.tokens.spo_tree import best_of
from equipoise_conditions.rules.tokens.weights import top_rho_thresholds, uncertainty_weights
from equipoise_conditions.tree import tree_of

__all__ = ["ADAPTERS"]


def answers(lengths: list[int], outcome: list[float], **columns: Any) -> Trajectories:
    """Trajectories of one turn each, one token a position; columns of tokens have defaults."""
    n, tokens = len(lengths), sum(lengths)
    zeros = np.zeros(n, dtype=int)
    columns = {"logprob": np.full(tokens, -1.0), "entropy": np.ones(tokens)} | columns
    return Trajectories(
        task=zeros,
        outcome=np.array(outcome, dtype=float),
        turn_offsets=np.arange(n + 1),
        parent=zeros - 1,
        branch=zeros,
        state=np.arange(n),
        action=zeros,
        n_actions=zeros + 1,
        reward=np.array(outcome, dtype=float),
        token_offsets=np.array([0, *accumulate(lengths)]),
        **columns,
    )


def nothing_as_zero(credit: Credit, t: Trajectories) -> Any:
    """SPO's generator writes 0 for tokens that are to be left out."""
    tokens = to_tokens(credit, t)
    return np.where(tokens.defined, tokens.value, 0.0).tolist()


def spo(inputs: dict[str, Any], t: Trajectories, cut: tuple[Any, Any], credit: Any) -> dict[str, Any]:
    offsets, position = cut
    assert (position - 1).tolist() == inputs["cutpoints"], "we cut where the reference cuts"
    cuts = Cuts(offsets, position, np.array(inputs["cutpoint_values"], dtype=float))
    after = values_after(t, cuts)[1].tolist()
    # Without a cut the reference writes the score on every token, and does not use it.
    known = [None if np.isnan(v) else v for v in after] if position.size else [inputs["score"]] * t.n_tokens
    return {"token_values": known, "advantages": nothing_as_zero(credit(Context(cuts=cuts)), t)}


def spo_chain_token_advantages(inputs: dict[str, Any]) -> dict[str, Any]:
    probability = np.array(inputs["response_prob"], dtype=float)
    t = answers([probability.size], [inputs["score"]], logprob=np.log(probability))
    params = {"preset": "spo_generator", "cutpoint_interval": inputs["cutpoint_interval"]}
    cut = cut_positions(t, cutpoint_interval=inputs["cutpoint_interval"])
    return spo(inputs, t, cut, lambda context: RULES["spo_chain"].apply(t, context, params))


def spo_fixed_segments(inputs: dict[str, Any]) -> dict[str, Any]:
    t = answers([inputs["length"]], [inputs["score"]])
    params = {"preset": "spo", "segments": inputs["segments"]}
    cut = fixed_cut_positions(t, segments=inputs["segments"])
    return spo(inputs, t, cut, lambda context: RULES["spo_fixed"].apply(t, context, params))


def walks(node: dict[str, Any], path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every way from the root to a leaf, as (parent, child) edges, first children first."""
    children = node.get("children") or []
    if not children:
        return [path]
    return [walk for child in children for walk in walks(child, (*path, (node, child)))]


def forest(tree: dict[str, Any]) -> tuple[Trajectories, list[tuple[Any, Any]]]:
    """The tree as forked trajectories with one turn an edge, and the edge of every turn."""
    paths = walks(tree)
    parent, branch = [], []
    for index, path in enumerate(paths):
        # Fork from the earlier walk that is shared longest; one that shares nothing was collected.
        shared = [sum(a is b for (_, a), (_, b) in zip(path, other, strict=False)) for other in paths[:index]]
        longest = max(shared, default=0)
        parent.append(shared.index(longest) if longest else -1)
        branch.append(longest)
    edges = [edge for path in paths for edge in path]
    number = {id(node): place for place, node in enumerate([tree, *(child for _, child in edges)])}
    n, turns = len(paths), len(edges)
    t = Trajectories(
        task=np.zeros(n, dtype=int),
        outcome=np.array([path[-1][1]["reward"] for path in paths], dtype=float),
        turn_offsets=np.array([0, *accumulate(map(len, paths))]),
        parent=np.array(parent),
        branch=np.array(branch),
        state=np.array([number[id(node)] for node, _ in edges]),
        action=np.array([number[id(child)] for _, child in edges]),
        n_actions=np.full(turns, len(number) + turns),
        reward=np.zeros(turns),
        token_offsets=np.arange(turns + 1),
        logprob=np.full(turns, -1.0),
        entropy=np.ones(turns),
    )
    return t, edges


def spo_tree_edges(inputs: dict[str, Any]) -> list[dict[str, Any]]:
    if not inputs["tree"].get("children"):
        return []
    t, edges = forest(inputs["tree"])
    params = {
        "preset": f"spo_{inputs['adv_method']}",
        "drop_zero_edges": inputs["only_adv_greater_than_zero"],
        "initial": t.n,
    }
    credit = to_turns(RULES["spo_tree"].apply(t, Context(), params), t)
    tree = tree_of(t, t.n)
    source, value = dict(zip(tree.edges.tolist(), tree.source.tolist(), strict=True)), tree.values(t)
    gain = best_of(value)
    return [
        {
            "query_text": edges[turn][0]["full_text"],
            "response_text": edges[turn][1]["text"],
            "advantage": float(credit.value[turn]),
            "prover_advantage": float(gain[turn] - gain[source[turn]]),
            "value": float(value[turn]),
            "leaf": not edges[turn][1].get("children"),
        }
        for turn in credit.examples.tolist()
    ]


def hicra_planning_amplification(inputs: dict[str, Any]) -> Any:
    planning = np.array(inputs["planning_mask"], dtype=bool)
    return amplified(np.array(inputs["token_advantages"], dtype=float), planning, inputs["alpha"]).tolist()


def hicra_planning_token_match(inputs: dict[str, Any]) -> list[list[int]]:
    rows = inputs["completion_ids"]
    offsets = np.array([0, *accumulate(map(len, rows))])
    flat = np.array([token for row in rows for token in row], dtype=np.int64)
    marked = planning_mask(flat, offsets, inputs["grams"]).astype(int)
    return [part.tolist() for part in np.split(marked, offsets[1:-1])]


def hicra_trl_pull_request(inputs: dict[str, Any]) -> Any:
    advantage = np.array(inputs["advantages"], dtype=float)
    rows, width = advantage.shape
    t = answers(
        [width] * rows,
        [0.0] * rows,
        group=np.unique(inputs["group"], return_inverse=True)[1],
        entropy=np.array(inputs["entropies"], dtype=float).ravel(),
        mask=np.array(inputs["response_mask"], dtype=bool).ravel(),
    )
    planning = np.array(inputs["planning_mask"], dtype=bool).ravel()
    single = bool(RULES["hicra_entropy"].validate({"preset": "trl"})["single_bound"])
    share = inputs["entropy_topk"]
    marked = entropy_marks(t, advantage.ravel(), planning, share, single_bound=single)
    return amplified(advantage.ravel(), marked, inputs["alpha"]).reshape(rows, width).tolist()


def gtpo_surprisal_weighting(inputs: dict[str, Any]) -> Any:
    surprisal = np.array(inputs["surprisals"], dtype=float)
    settings = {"beta": inputs["beta"], "cap": inputs["cap"]}
    if not surprisal.size:  # a trajectory has at least one token; the step itself takes none, too
        return uncertainty_weights(surprisal, np.zeros(0, dtype=np.int64), 1, **settings).tolist()
    t = answers([surprisal.size], [inputs["advantage"]], logprob=-surprisal)
    # Alone, without a deviation and raw, a trajectory's outcome is its advantage.
    params = {"preset": "retrain", "std": "none", "singleton": "raw"} | settings
    return RULES["gtpo"].apply(t, Context(), params).value.tolist()


def entropy_mask_top_rho(inputs: dict[str, Any]) -> dict[str, Any]:
    entropy = np.array(inputs["entropies"], dtype=float)
    rows = np.zeros(entropy.size, dtype=np.int64)
    threshold = float(top_rho_thresholds(entropy, rows, 1, inputs["rho"])[0])
    if not entropy.size:
        return {"threshold": threshold, "masked_advantages": []}
    # Every token an answer alone in its group, whose raw outcome is its advantage.
    advantage = inputs["token_advantages"]
    t = answers([1] * entropy.size, advantage, group=np.arange(entropy.size), entropy=entropy)
    params = {"preset": "retrain", "signal": "entropy", "rho": min(max(inputs["rho"], 0.0), 1.0)}
    credit = RULES["entropy_mask"].apply(t, Context(), params | {"std": "none", "singleton": "raw"})
    return {"threshold": threshold, "masked_advantages": credit.value.tolist()}


ADAPTERS: dict[str, Adapter] = {
    "spo_chain_token_advantages": Adapter(spo_chain_token_advantages),
    "spo_fixed_segments": Adapter(spo_fixed_segments),
    "spo_tree_edges": Adapter(spo_tree_edges),
    "hicra_planning_amplification": Adapter(hicra_planning_amplification),
    "hicra_planning_token_match": Adapter(hicra_planning_token_match),
    "hicra_trl_pull_request": Adapter(hicra_trl_pull_request),
    "gtpo_surprisal_weighting": Adapter(gtpo_surprisal_weighting),
    "entropy_mask_top_rho": Adapter(entropy_mask_top_rho),
}
