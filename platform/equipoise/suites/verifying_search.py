"""Whether the search for hyper-parameters is the registered one, and its choice was frozen before the comparison."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from equipoise.store import JobSpec, StoredSuite
from equipoise.suites.freezing import Frozen
from equipoise.suites.search import TOPIC, content_of
from equipoise.suites.verifying_findings import UNREADABLE, Findings
from equipoise.suites.verifying_proposals import Again, proposed_again
from equipoise.suites.verifying_studies import StoredStudies, check_studies
from equipoise.tuning.space import settle
from equipoise.tuning.tally import Search, searches, trial_key
from equipoise_preregistration import Suite
from equipoise_preregistration.amendment import Amendment
from equipoise_preregistration.chain import FILE, ChainReport

__all__ = ["COMPARISON", "SEARCH", "Searched", "check_search"]

SEARCH, COMPARISON = "tuning/", "b"
"""What the keys of the jobs of either stage begin with."""

Results = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Searched:
    """What a search must have left.

    Attributes:
        chosen: values of each condition; none without a search, or before it has ended.
        jobs: by key, those of all trials that can be proposed.
        demanded: keys of those that must be there by now.
        open: what the keys of jobs begin with whose trials cannot be proposed again, for lack of a result.
    """

    chosen: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    jobs: Mapping[str, JobSpec] = field(default_factory=dict)
    demanded: frozenset[str] = frozenset()
    open: tuple[str, ...] = ()


def check_search(
    stored: StoredSuite, frozen: Frozen, chain: ChainReport, studies: StoredStudies | None, findings: Findings
) -> Searched:
    """Propose every trial again, and hold Optuna's database and the amendment of the choice to that.

    Args:
        stored: the suite.
        frozen: its registration.
        chain: of all registrations.
        studies: in Optuna's database; None where there is none.
        findings: where to note.
    """
    suite, registration = frozen.registration.model, frozen.registration
    if not suite.tuning.trials:
        return Searched()
    results = dict(_results(stored))
    again = proposed_again(suite, registration.points, results)
    found = _found(suite, results)
    amended = [
        item for item in chain.amendments if item.registration == registration.hash and TOPIC in item.content
    ]
    compared = any(
        key.startswith(COMPARISON) for key in (*stored.finished, *(job.key for job in stored.jobs))
    )
    ended = bool(amended) or compared
    if any(job.key.startswith(SEARCH) for job in stored.jobs) or ended:
        check_studies(studies, registration.hash, again, ended=ended, findings=findings)
    _check_amendments(
        stored, frozen, amended, compared=compared, whole=chain.broken is None, findings=findings
    )
    if found is not None and amended:
        _check_content(found, amended[0], findings)
    if found is None and ended:
        _missing_trials(suite, results, findings)
    chosen = {s.condition: s.chosen.values for s in found} if found else _amended(suite, amended, findings)
    return Searched(chosen, again.jobs, _demanded(stored, suite, again, ended=ended), _open(suite, again))


def _results(stored: StoredSuite) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Results of trials that can be read."""
    for job in stored.jobs:
        if job.kind == "trial" and job.result:
            try:
                content = json.loads(job.result)
            except ValueError:
                continue
            if isinstance(content, dict):
                yield job.key, content


def _found(suite: Suite, results: Results) -> tuple[Search, ...] | None:
    try:
        return searches(suite, results)
    except (*UNREADABLE, ZeroDivisionError):
        return None


def _check_amendments(
    stored: StoredSuite,
    frozen: Frozen,
    amended: list[Amendment],
    *,
    compared: bool,
    whole: bool,
    findings: Findings,
) -> None:
    """A registered comparison needs one amendment, made after the last trial and before its own first run."""
    if frozen.exploratory:
        findings.skip("without a registration, no amendment says when the choice was made", stored.name)
        return
    if compared and not amended:
        if whole:
            expected = "an amendment with the choice of the search, before the first run of the comparison"
            findings.fault(FILE, f"{stored.name} @ {frozen.registration.hash8}", expected, "none: it is gone")
        else:
            findings.skip(
                "the chain is broken before the amendment with the choice of the search", stored.name
            )
        return
    if len(amended) > 1:
        findings.fault(FILE, "choice of the search", "one amendment", f"{len(amended)} of them")
    if amended:
        _check_times(stored, amended[0].amended_at, findings)


def _check_times(stored: StoredSuite, at: datetime, findings: Findings) -> None:
    began = {
        attempt["started_at"]: job.key
        for job in stored.jobs
        if job.key.startswith(COMPARISON)
        for attempt in job.attempts
    }
    ends = {at: key for key, at in stored.finished.items() if key.startswith(SEARCH)}
    findings.compared["registrations"] += 1
    if began and at.timestamp() > min(began):
        expected = f"before {began[min(began)]} began, {_when(min(began))}"
        findings.fault(FILE, "time of the amendment", expected, _when(at.timestamp()))
    if ends and at.timestamp() < max(ends):
        expected = f"after {ends[max(ends)]} had ended, {_when(max(ends))}"
        findings.fault(FILE, "time of the amendment", expected, _when(at.timestamp()))


def _check_content(found: tuple[Search, ...], amended: Amendment, findings: Findings) -> None:
    """Name the condition and the number in which the amendment is not what the trials say."""
    expected, kept = content_of(found), amended.content[TOPIC]
    if not isinstance(kept, Mapping):
        findings.fault(FILE, "amendment", "the choice of the search", kept)
        return
    for name in sorted(expected.keys() | kept.keys()):
        own, theirs = (_mapping(content.get(name)) for content in (expected, kept))
        for condition in sorted(own.keys() | theirs.keys()):
            pair = (own.get(condition), theirs.get(condition))
            findings.hold("registrations", FILE, f"amendment, {name} of {condition}", pair)


def _amended(suite: Suite, amended: list[Amendment], findings: Findings) -> Mapping[str, Mapping[str, Any]]:
    """What the amendment says was chosen, where the trials cannot say it themselves."""
    kept = _mapping(amended[0].content[TOPIC]).get("chosen") if amended else None
    chosen = {str(name): _mapping(values) for name, values in _mapping(kept).items()}
    try:
        for condition in suite.conditions:
            settle(suite, condition.id, chosen.get(condition.id, {}))
    except UNREADABLE as error:
        findings.fault(FILE, "amendment", "values that the suite takes", f"{type(error).__name__}: {error}")
        return {}
    return chosen


def _missing_trials(suite: Suite, results: Results, findings: Findings) -> None:
    for condition in suite.conditions:
        for number in range(suite.tuning.trials):
            for block in range(suite.tuning.blocks):
                key = trial_key(condition.id, number, block)
                if key not in results:
                    findings.fault(key, "trial", "the result that the choice rests on", "none")


def _demanded(stored: StoredSuite, suite: Suite, again: Again, *, ended: bool) -> frozenset[str]:
    """Jobs of the trials that were asked for: all when the search has ended, before it those up to the latest."""
    known = {job.key for job in stored.jobs} | stored.finished.keys()
    if not (ended or stored.begun or known):
        return frozenset()
    latest = {
        condition.id: max(
            (
                number
                for number in range(suite.tuning.trials)
                if _is_known(known, suite, condition.id, number)
            ),
            default=-1,
        )
        for condition in suite.conditions
    }
    adaptive = suite.tuning.sampler == "tpe"
    trials = [
        trial
        for condition, proposed in again.trials.items()
        for trial in proposed
        if ended or not adaptive or trial.number <= latest[condition]
    ]
    from equipoise.suites.tuning_jobs import tuning_jobs

    return frozenset(job.key for job in tuning_jobs(suite, trials))


def _is_known(known: frozenset[str] | set[str], suite: Suite, condition: str, number: int) -> bool:
    return any(trial_key(condition, number, block) in known for block in range(suite.tuning.blocks))


def _open(suite: Suite, again: Again) -> tuple[str, ...]:
    """Prefixes of jobs of trials that cannot be proposed again."""
    found = []
    for condition, proposed in again.trials.items():
        later = range(len(proposed), suite.tuning.trials)
        found += [f"tuning/trial/{condition}/{number}/" for number in later]
        found += [f"tuning/signals/{condition}/"] if later else []
    return tuple(found)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _when(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S.%f}Z"
