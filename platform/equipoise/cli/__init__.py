"""The command line: one file a command, each imported when it is called."""

from equipoise.cli.main import main

__all__ = ["main"]
