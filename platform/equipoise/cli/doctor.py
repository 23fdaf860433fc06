"""`equipoise doctor`: what would keep a suite from running on this machine."""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import typer

from equipoise.cli.errors import ExitCode
from equipoise.cli.home import DEFAULT_HOME, open_home
from equipoise.cli.options import Home, Json
from equipoise.cli.output import say, show_json, show_table
from equipoise.errors import EquipoiseError

__all__ = ["doctor"]

_ENOUGH_BYTES = 2 << 30
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@dataclass(frozen=True)
class Finding:
    """One thing looked at: `ok`, `warning` (something will be slower or missing) or `fault`."""

    check: str
    state: str
    says: str


def doctor(*, home: Home = DEFAULT_HOME, as_json: Json = False) -> None:
    """Look for what would keep a suite from running here, or from running fast."""
    path = home.expanduser().absolute()
    checks: tuple[Callable[[], Finding], ...] = (
        _python,
        _torch,
        _threads,
        _fork,
        lambda: _folder(path),
        lambda: _database(path),
        lambda: _disk(path),
        _browser,
    )
    findings = [check() for check in checks]
    if as_json:
        show_json([asdict(finding) for finding in findings])
    else:
        show_table("", ("check", "state", "says"), [(f.check, f.state, f.says) for f in findings])
        faults = sum(finding.state == "fault" for finding in findings)
        say("Suites can run here." if not faults else f"{faults} of {len(findings)} checks found a fault.")
    if any(finding.state == "fault" for finding in findings):
        raise typer.Exit(ExitCode.TROUBLE)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    fits = (3, 11) <= sys.version_info < (3, 13)
    return Finding("python", "ok" if fits else "fault", f"{version}; 3.11 or 3.12 is needed")


def _torch() -> Finding:
    try:
        versions = {name: metadata.version(name) for name in ("torch", "transformers", "trl", "mlflow")}
    except metadata.PackageNotFoundError as error:
        return Finding("packages", "fault", f"{error.name} is not installed: pip install equipoise")
    return Finding("packages", "ok", ", ".join(f"{name} {version}" for name, version in versions.items()))


def _threads() -> Finding:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    says = f"{cores} cores, load {load:.1f}; one run a core, one thread a run"
    return Finding("cores", "warning" if load > cores else "ok", says)


def _fork() -> Finding:
    if hasattr(os, "fork") and sys.platform == "linux":
        return Finding("fork", "ok", "runs are forked from one preloaded process")
    return Finding("fork", "warning", "runs are best forked on Linux; here use --isolation subprocess")


def _folder(home: Path) -> Finding:
    if not home.exists():
        return Finding("folder", "ok", f"{home} will be created by the first run")
    try:
        open_home(home)
    except EquipoiseError as error:
        return Finding("folder", "fault", str(error))
    return Finding("folder", "ok", f"{home} can be written")


def _database(home: Path) -> Finding:
    from equipoise.store import DATABASE_FILE, inspect_store

    try:
        revision = inspect_store(home)
    except EquipoiseError as error:
        return Finding("database", "fault", str(error))
    if revision is None:
        return Finding("database", "ok", f"{home / DATABASE_FILE} will be created by the first run")
    return Finding("database", "ok", f"schema {revision}, sound")


def _disk(home: Path) -> Finding:
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    says = f"{free / (1 << 30):.1f} GiB free at {there}"
    if free < _ENOUGH_BYTES:
        return Finding("disk", "warning", f"{says}; a suite may need {_ENOUGH_BYTES >> 30} GiB")
    return Finding("disk", "ok", says)


def _browser() -> Finding:
    found = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if found:
        return Finding("browser", "ok", found)
    return Finding("browser", "warning", "no chromium: reports and MLflow open in any other browser")
