"""The scheduler: runs a suite's queue, each job in a child process of its own."""

from equipoise.scheduler.child import Execute
from equipoise.scheduler.errors import Interrupted
from equipoise.scheduler.files import work_folder
from equipoise.scheduler.queue import run_queue
from equipoise.scheduler.settings import Isolation, OnProgress, Settings, Summary, Tuning, Update
from equipoise.scheduler.threads import limit_threads

__all__ = [
    "Execute",
    "Interrupted",
    "Isolation",
    "OnProgress",
    "Settings",
    "Summary",
    "Tuning",
    "Update",
    "limit_threads",
    "run_queue",
    "work_folder",
]
