"""`equipoise register`: freezes a suite before anything is run."""

from equipoise.cli.home import DEFAULT_HOME, open_home
from equipoise.cli.options import Home, Json, SuiteFile
from equipoise.cli.output import say, show_json
from equipoise.cli.suite_file import open_suite
from equipoise_preregistration import register as freeze
from equipoise_preregistration import registrations

__all__ = ["register"]


def register(suite: SuiteFile, *, home: Home = DEFAULT_HOME, as_json: Json = False) -> None:
    """Freeze a suite and chain it to the registrations before it; the same suite again changes nothing."""
    loaded = open_suite(suite)
    folder = open_home(home)
    before = {known.hash for known in registrations(folder)}
    registration = freeze(loaded, folder)
    new = registration.hash not in before
    if as_json:
        show_json({**registration.as_json(), "hash8": registration.hash8, "new": new})
        return
    when = registration.registered_at.isoformat(timespec="seconds").replace("+00:00", "Z")
    say(f"{'registered' if new else 'registered before'}: {registration.name} @ {registration.hash8}")
    say(f"  {registration.hash}")
    say(f"  at {when}, seed {registration.seeds['root']}, {len(registration.lock)} libraries locked")
    say(f"  {folder / 'registered' / f'{registration.hash8}.yaml'}")
