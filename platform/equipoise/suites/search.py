"""The stage before the comparison: trials are proposed, run and told until every condition has had its own."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.store import Store
from equipoise.suites.freezing import Frozen
from equipoise.suites.jobs import Chosen
from equipoise.suites.tuning_jobs import tuning_jobs
from equipoise.tuning.tally import Search, searches, trial_of
from equipoise_preregistration import ChainError
from equipoise_preregistration.amendment import Amendment
from equipoise_preregistration.registry import amend, amendments

if TYPE_CHECKING:
    from equipoise.tuning.studies import Studies

__all__ = ["advance", "choose", "content_of", "found_in", "frozen_choice", "studies_of", "unfrozen"]

TOPIC = "tuning"
"""Under which an amendment holds the choice."""

REASON = (
    "The search for hyper-parameters that the registration asks for has ended; these are the values it chose."
)


def studies_of(frozen: Frozen, home: Path) -> "Studies | None":
    """Optuna's studies of a suite; None where nothing is searched, or the search has ended and its choice is frozen."""
    registration = frozen.registration
    suite = registration.model
    if not suite.tuning.trials or frozen_choice(frozen, home) is not None:
        return None
    from equipoise.tuning.studies import Studies

    return Studies(home, registration.hash, suite, registration.points)


def advance(store: Store, frozen: Frozen, studies: "Studies") -> bool:
    """Tell Optuna what trials came to, ask it for those that can be proposed now, and queue their runs.

    It may be called at any time and by several processes: what was done before is found, not done again.

    Returns:
        Whether trials are left whose runs have not ended.

    Raises:
        StoreError: if Optuna's database and the store contradict each other.
    """
    registration = frozen.registration
    suite = registration.model
    results = store.results_by_key(registration.hash, "trial")
    proposed = []
    with studies.held():
        for condition in suite.conditions:
            for trial in studies.propose(condition.id):
                done = trial_of(suite, results, condition.id, trial.number)
                if done is not None:
                    studies.tell(trial, done.value)
            proposed += studies.propose(condition.id)
    store.add_jobs(registration.hash, tuning_jobs(suite, proposed))
    return any(trial.value is None for trial in proposed)


def frozen_choice(frozen: Frozen, home: Path) -> Amendment | None:
    """The amendment that holds what the search chose; None before, and where nothing is registered."""
    if frozen.exploratory:
        return None
    found = [item for item in amendments(home, frozen.registration.hash) if TOPIC in item.content]
    return found[0] if found else None


def choose(store: Store, frozen: Frozen, home: Path) -> Chosen:
    """The values of every condition, frozen as an amendment of the registration if they are not yet.

    Raises:
        ChainError: if an amendment holds other values than the trials in the store say.
    """
    registration = frozen.registration
    suite = registration.model
    if not suite.tuning.trials:
        return {}
    found = searches(suite, store.results_by_key(registration.hash, "trial"))
    assert found is not None, "the choice is made when all trials are done"
    content = {TOPIC: content_of(found)}
    if not frozen.exploratory:
        kept = frozen_choice(frozen, home) or amend(home, registration.hash, REASON, content)
        if not kept.says(kept.reason, content):
            message = (
                f"{home}: expected the amendment of {registration.hash8} to hold what its trials say "
                f"({content[TOPIC]['chosen']}), got {kept.content[TOPIC]}; restore the database or the chain "
                "from a copy"
            )
            raise ChainError(message)
    return {search.condition: search.chosen.values for search in found}


def found_in(store: Store, frozen: Frozen) -> tuple[Search, ...]:
    """The searches of all conditions; empty before they have ended, and of a suite without any."""
    registration = frozen.registration
    return searches(registration.model, store.results_by_key(registration.hash, "trial")) or ()


def unfrozen(store: Store, frozen: Frozen, home: Path) -> tuple[str, ...]:
    """What a reader must know where no amendment vouches that the choice preceded the comparison.

    Raises:
        ChainError: if an amendment holds other values than the trials say.
    """
    registration = frozen.registration
    found = found_in(store, frozen)
    began = [a.started_at for a in store.attempts(registration.hash) if a.kind in ("base", "cell")]
    if not found or not began or frozen.exploratory:
        return ()
    kept = frozen_choice(frozen, home)
    if kept is None:
        return (
            "No amendment holds what the search for hyper-parameters chose: that rests on the database alone.",
        )
    choose(store, frozen, home)
    if kept.amended_at.timestamp() > min(began):
        return ("The choice of hyper-parameters was frozen after the first run of the comparison had begun.",)
    return ()


def content_of(found: tuple[Search, ...]) -> dict[str, Any]:
    """What the amendment says: the values, which trial they are, its success, and the steps each search took."""
    return {
        "chosen": {search.condition: dict(search.chosen.values) for search in found},
        "trial": {search.condition: search.chosen.number for search in found},
        "success": {search.condition: search.chosen.value for search in found},
        "optimizer_steps": {search.condition: search.counted for search in found},
    }
