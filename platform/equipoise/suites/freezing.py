"""Which frozen suite a command works on: a registered one, or one run on purpose without registration."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from equipoise.store import Store, SuiteRecord
from equipoise_preregistration import LoadedSuite, NotRegisteredError, Registration
from equipoise_preregistration.canon import canonical, digest
from equipoise_preregistration.code import CodeVersion
from equipoise_preregistration.registration import freeze, surroundings, thaw
from equipoise_preregistration.registry import find_registration, registered_copy

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
        message = (
            f"expected a registration of {loaded.suite.name} ({loaded.path}) in {home}, found none; freeze it "
            f"with `equipoise register {loaded.path}`, or run it with --exploratory, which marks every number "
            f"that comes of it{_older(loaded, home)}"
        )
        raise NotRegisteredError(message)
    return Frozen(found, loaded.raw.decode())


def _older(loaded: LoadedSuite, home: Path) -> str:
    """What stands in the place of the registration that was not found, and why that is not the one."""
    older = find_registration(home, loaded.suite.name)
    if older is None:
        return ""
    here, there = surroundings(), older
    differences = {
        "contents": (canonical(loaded.suite).decode() != older.suite, ""),
        "code": (here.code != there.code, f" ({_code(there.code)}, now {_code(here.code)})"),
        "libraries": (here.lock != there.lock, f" ({_changed(there.lock, here.lock)})"),
        "Python": (here.python != there.python, f" ({there.python}, now {here.python})"),
        "processor": (here.machine != there.machine, f" ({there.machine}, now {here.machine})"),
    }
    others = " and ".join(f"other {name}{how}" for name, (differs, how) in differences.items() if differs)
    when = older.registered_at.isoformat(timespec="minutes").replace("+00:00", "Z")
    return (
        f"\n{older.name} @ {older.hash8} of {when} is another one: it was registered with {others}. Its runs "
        f"can be continued under exactly that only; its file is {registered_copy(home, older)}"
    )


def _code(code: CodeVersion) -> str:
    name = f"commit {code.commit[:12]}" if code.commit else f"version {code.version}"
    return f"{name} with changes {code.sources[:8]}" if code.dirty and code.sources else name


def _changed(before: tuple[str, ...], now: tuple[str, ...]) -> str:
    gone, new = sorted(set(before) - set(now)), sorted(set(now) - set(before))
    return f"{', '.join(gone[:3]) or 'none'} then, {', '.join(new[:3]) or 'none'} now"


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
