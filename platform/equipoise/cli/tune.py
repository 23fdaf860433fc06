"""`equipoise tune`: the search for hyper-parameters alone; its choice can be looked at before the comparison."""

from contextlib import nullcontext
from typing import Any

from equipoise.cli.home import DEFAULT_HOME, open_home
from equipoise.cli.options import Home, Json, SuiteFile
from equipoise.cli.output import say, show_json, show_table
from equipoise.cli.progress import shown
from equipoise.cli.run import Exploratory, Isolation, Slots, require_complete, resumable
from equipoise.cli.suite_file import open_suite
from equipoise.suites.freezing import exploratory, registered
from equipoise_preregistration import SuiteError

__all__ = ["tune"]


def tune(
    suite: SuiteFile,
    *,
    home: Home = DEFAULT_HOME,
    explore: Exploratory = False,
    slots: Slots = None,
    isolation: Isolation = "fork",
    as_json: Json = False,
) -> None:
    """Search the hyper-parameters of a registered suite and freeze the choice; `run` does so by itself."""
    place = home.expanduser().absolute()
    loaded = open_suite(suite)
    if not loaded.suite.tuning.trials:
        message = f"{loaded.path}: expected a section `tuning` with trials and a space, got none to search"
        raise SuiteError(message)
    frozen = exploratory(loaded) if explore else registered(loaded, place)
    folder = open_home(home)
    from equipoise.store import open_store
    from equipoise.suites.running import tune_suite
    from equipoise.suites.search import found_in

    registration = frozen.registration
    with resumable(), nullcontext() if as_json else shown(f"{registration.name}: search") as on_progress:
        summary = tune_suite(frozen, folder, slots=slots, isolation=isolation, on_progress=on_progress)
        if summary is not None:
            require_complete(summary)
    found = found_in(open_store(folder, create=False), frozen)
    if as_json:
        show_json([search.to_json() for search in found])
        return
    columns = ("condition", "trial", "success", "steps", "breaches", "chosen")
    show_table(f"{registration.name} @ {registration.hash8}", columns, (_row(search) for search in found))
    kept = "not frozen: the suite is exploratory" if frozen.exploratory else "frozen as an amendment"
    say(f"{loaded.suite.tuning.trials} trials of each condition; the choice is {kept}")


def _row(search: Any) -> tuple[object, ...]:
    chosen = search.chosen
    values = ", ".join(f"{name} {value}" for name, value in chosen.values.items())
    return (
        search.condition,
        chosen.number,
        f"{100 * chosen.value:.1f} %",
        f"{search.counted} of {search.granted}",
        len(search.breaches),
        values or "as written",
    )
