"""What can be wrong with an environment: its configuration, or what it was asked to do."""

from equipoise.errors import EquipoiseError

__all__ = ["EnvironmentConfigError", "EnvironmentFaultError"]


class EnvironmentFaultError(EquipoiseError):
    """An environment was asked for something that it does not have (a split, a task, a name)."""


class EnvironmentConfigError(EnvironmentFaultError):
    """A configuration is wrong; the message lists every fault, one a line.

    Args:
        environment: Name of the environment whose configuration it is.
        faults: Sentences, each with the key, what was expected and what came.
    """

    def __init__(self, environment: str, faults: list[str]) -> None:
        self.faults = tuple(faults)
        lines = "".join(f"\n  - {fault}" for fault in faults)
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        super().__init__(f"the configuration of environment {environment!r} has {count}:{lines}")
