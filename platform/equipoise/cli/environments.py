"""`equipoise environments`: where a policy can act."""

import inspect
import sys

from equipoise.cli.options import Json
from equipoise.cli.output import show_json, show_table
from equipoise.environments.protocol import SPLITS
from equipoise.environments.registry import environments as all_environments
from equipoise.environments.registry import make_environment

__all__ = ["environments"]


def environments(*, as_json: Json = False) -> None:
    """Show the environments, those of other distributions included."""
    rows = [card(name) for name in all_environments()]
    if as_json:
        show_json(rows)
        return
    cells = ((row["name"], row["about"], row["words"]) for row in rows)
    show_table("", ("environment", "what it is", "words"), cells)


def card(name: str) -> dict[str, object]:
    """What there is to say of an environment: its package's sentence, and what it has at its defaults."""
    built = make_environment(name)
    home = type(built).__module__
    package = sys.modules[home.rpartition(".")[0] or home]
    about = inspect.getdoc(package) or inspect.getdoc(type(built)) or ""
    return {
        "name": name,
        "about": about.split("\n\n")[0].replace("\n", " "),
        "module": package.__name__,
        "words": len(built.vocabulary()),
        "default_tasks": {split: built.tasks(split) for split in SPLITS},
    }
