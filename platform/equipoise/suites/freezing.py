"""Which frozen suite a command works on: a registered one, or one run on purpose without registration."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from equipoise.store import Store, SuiteRecord
from equipoise_preregistration import LoadedSuite, NotRegisteredError, Registration
from equipoise_preregistration.canon import digest
from equipoise_preregistration.registration import freeze, surroundings, thaw
from equipoise_preregistration.registry import find_registration

__all__ = ["Frozen", "exploratory", "recorded", "registered"]


@dataclass(frozen=True)
class Frozen:
    """A suite that will not change any more.

    Attributes:
        registration: the suite with all that decides its numbers.
        raw: its YAML as it was written.
        exploratory: whether no registration precedes its runs.
    """

    registration: Registration
    raw: str
    exploratory: bool = False

    def spec(self) -> dict[str, Any]:
        """As the store keeps it."""
        entry = self.registration.as_json()
        return {
            **entry,
            "previous": self.registration.previous,
            "raw": self.raw,
            "exploratory": self.exploratory,
        }


def registered(loaded: LoadedSuite, home: Path) -> Frozen:
    """The registration of a suite under the present code.

    Raises:
        NotRegisteredError: if there is none; the message says how to register, or to explore.
    """
    found = find_registration(home, loaded.suite)
    if found is None:
        older = find_registration(home, loaded.suite.name)
        hint = (
            f" ({older.name} @ {older.hash8} was registered with other contents, code or libraries)" if older else ""
        )
        message = (
            f"expected a registration of {loaded.suite.name} ({loaded.path}) in {home}, found none{hint}; "
            f"freeze it with `equipoise register {loaded.path}`, or run it with --exploratory, "
            "which marks every number that comes of it"
        )
        raise NotRegisteredError(message)
    return Frozen(found, loaded.raw.decode())


def exploratory(loaded: LoadedSuite) -> Frozen:
    """A suite to be run without registration, under a hash of its own: its runs never serve a registered one."""
    raw_sha256 = sha256(loaded.raw).hexdigest()
    frozen = freeze(loaded.suite, surroundings(), raw_sha256, datetime.now(UTC), "")
    marked = replace(frozen, hash=digest({"exploratory": frozen.hash}))
    return Frozen(marked, loaded.raw.decode(), exploratory=True)


def recorded(store: Store, wanted: str | None) -> tuple[SuiteRecord, Frozen]:
    """A suite that the store has runs of.

    Args:
        store: of the project.
        wanted: a name (the newest of that name), or the first digits of a hash; None is the newest of all.

    Raises:
        NotRegisteredError: if the store knows none such; the message lists those it knows.
    """
    suites = store.suites()
    chosen = [suite for suite in suites if wanted is None or _is(suite, wanted)]
    if not chosen:
        known = ", ".join(f"{suite.name} @ {_digits(suite)[:8]}" for suite in suites) or "none"
        message = (
            f"expected a suite that was run in {store.where}, got {wanted or 'none'}; it knows: {known}. "
            "Run one first: `equipoise run SUITE`"
        )
        raise NotRegisteredError(message)
    record = chosen[-1]
    spec = record.spec
    return record, Frozen(thaw(spec, spec["previous"]), spec["raw"], bool(spec["exploratory"]))


def _is(suite: SuiteRecord, wanted: str) -> bool:
    digits = wanted.rpartition(":")[2]
    return suite.name == wanted or (len(digits) >= 6 and _digits(suite).startswith(digits))


def _digits(suite: SuiteRecord) -> str:
    return suite.hash.rpartition(":")[2]
