"""Exit codes by kind of failure, so that scripts can tell them apart."""

import errno
import traceback
from enum import IntEnum

import typer

__all__ = ["ExitCode", "exit_code", "report_error"]


class ExitCode(IntEnum):
    """What the exit status of `equipoise` says. These numbers do not change."""

    OK = 0
    USAGE = 2
    """The command line or the suite is wrong."""
    TAMPERED = 3
    """The chain of registrations, or the store, was changed from outside."""
    REFUSED = 4
    """A gate is closed: the suite is not registered, for instance."""
    BUDGET = 5
    """A budget was not held, or cannot be."""
    INCOMPLETE = 6
    """Results are missing."""
    TROUBLE = 7
    """The machine: folder, disk, database, MLflow."""
    CODE = 70
    """A fault in the program or in a plug-in."""
    INTERRUPTED = 130


_CODES: dict[str, ExitCode] = {
    "equipoise_preregistration.errors.ChainError": ExitCode.TAMPERED,
    "equipoise_preregistration.errors.NotRegisteredError": ExitCode.REFUSED,
    "equipoise_preregistration.errors.SuiteError": ExitCode.USAGE,
    "equipoise_conditions.errors.RuleError": ExitCode.USAGE,
    "equipoise_budget.errors.BudgetError": ExitCode.BUDGET,
    "equipoise_stats.errors.StatsError": ExitCode.INCOMPLETE,
    "equipoise_reports.errors.ReportError": ExitCode.INCOMPLETE,
    "equipoise.environments.errors.EnvironmentConfigError": ExitCode.USAGE,
    "equipoise.environments.errors.EnvironmentFaultError": ExitCode.USAGE,
    "equipoise.errors.IncompleteError": ExitCode.INCOMPLETE,
    "equipoise.errors.PilotError": ExitCode.REFUSED,
    "equipoise.errors.HomeError": ExitCode.TROUBLE,
    "equipoise.errors.StoreError": ExitCode.TROUBLE,
    "equipoise.errors.TrackingError": ExitCode.TROUBLE,
    "equipoise.scheduler.errors.Interrupted": ExitCode.INTERRUPTED,
    "equipoise.errors.EquipoiseError": ExitCode.CODE,
}
"""By full name and not by class: to look up a code imports nothing. The nearest ancestor decides."""

_MACHINE = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EFBIG,
    errno.EMFILE,
    errno.ENFILE,
}
"""Troubles of the machine that an OSError may report."""


def exit_code(error: BaseException) -> ExitCode | None:
    """The exit code of an error that was raised on purpose; None for one that nobody expected."""
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    if isinstance(error, OSError) and error.errno in _MACHINE:
        return ExitCode.TROUBLE
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)
    return next((_CODES[name] for name in names if name in _CODES), None)


def report_error(error: BaseException) -> ExitCode:
    """Writes an error to standard error, with its traceback only where nobody expected it."""
    code = exit_code(error)
    if code is None:
        typer.echo("".join(traceback.format_exception(error)), err=True, nl=False)
        return ExitCode.CODE
    typer.echo(f"{_title(code)}\n{error}", err=True)
    return code


def _title(code: ExitCode) -> str:
    titles = {
        ExitCode.USAGE: "equipoise: this cannot be used as it is:",
        ExitCode.TAMPERED: "equipoise: this was changed after it was written:",
        ExitCode.REFUSED: "equipoise: refused:",
        ExitCode.BUDGET: "equipoise: the budget does not hold:",
        ExitCode.INCOMPLETE: "equipoise: results are missing:",
        ExitCode.TROUBLE: "equipoise: this machine is in the way:",
        ExitCode.INTERRUPTED: "equipoise: interrupted:",
        ExitCode.CODE: "equipoise: a run failed in a way that repeating will not mend:",
    }
    return titles.get(code, "equipoise:")
