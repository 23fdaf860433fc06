"""`equipoise environments`: where a policy can act."""

import inspect
import sys

from equipoise.cli.options import Json
from equipoise.cli.output import show_json, show_table
from equipoise.environments.protocol import Factory
from equipoise.environments.registry import environments as all_environments
from equipoise.environments.registry import make_environment

__all__ = ["environments"]


def environments(*, as_json: Json = False) -> None:
    """Show the environments, those of other distributions included."""
    rows = [card(name, factory) for name, factory in all_environments().items()]
    if as_json:
        show_json(rows)
        return
    cells = ((row["name"], row["about"], row["words"]) for row in rows)
    show_table("", ("environment", "what it is", "words"), cells)


def card(name: str, factory: Factory) -> dict[str, object]:
    """What there is to say of an environment: its module's sentence, and its vocabulary at default size."""
    built = make_environment(name)
    module = sys.modules[type(built).__module__]
    about = inspect.getdoc(type(built)) or inspect.getdoc(module) or inspect.getdoc(factory) or ""
    splits = {split: built.tasks(split) for split in ("pool", "held_out")}
    return {
        "name": name,
        "about": about.split("\n\n")[0].replace("\n", " "),
        "module": module.__name__,
        "words": len(built.vocabulary()),
        "default_tasks": splits,
    }
