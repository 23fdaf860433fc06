"""`equipoise demo`: one small study from registration to report."""

from equipoise.cli.home import DEFAULT_HOME, open_home
from equipoise.cli.options import Home
from equipoise.cli.run import Slots, carry_out
from equipoise.cli.suite_file import open_suite
from equipoise.suites.freezing import registered
from equipoise_preregistration import register

__all__ = ["demo"]


def demo(*, home: Home = DEFAULT_HOME, slots: Slots = None) -> None:
    """Register, run and report the shipped suite `demo`; the same command again goes on."""
    loaded = open_suite("demo")
    folder = open_home(home)
    register(loaded, folder)
    carry_out(registered(loaded, folder), folder, slots=slots)
