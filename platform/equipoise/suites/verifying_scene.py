"""What the checks of one suite look at: its jobs, and their files read once."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from equipoise.execution.rounds import plan_file
from equipoise.execution.world import World
from equipoise.policies.transcripts import Transcripts
from equipoise.suites.verifying_findings import Findings
from equipoise.suites.verifying_records import Job
from equipoise_conditions.credit import Credit
from equipoise_conditions.trajectories import Trajectories

__all__ = ["BATCH_FILE", "CREDIT_FILE", "PLAN_FILE", "TRANSCRIPTS_FILE", "Loaded", "Scene", "within"]

BATCH_FILE = "trajectories.npz"
CREDIT_FILE = "credit.npz"
PLAN_FILE = plan_file(1)
TRANSCRIPTS_FILE = "transcripts.npz"

Content = TypeVar("Content", Trajectories, Transcripts, Credit)


@dataclass(frozen=True)
class Loaded:
    """The content of a file, its digest, and whether the file holds its sum."""

    content: Any
    digest: str
    sound: bool


def within(job: Job, name: str) -> str:
    """Name of a file of the job's round: a payload may say which one is looked at, otherwise it is the first."""
    number = int(job.payload.get("round", 1))
    if number == 1:
        return name
    return plan_file(number) if name == PLAN_FILE else f"round-{number}/{name}"


@dataclass
class Scene:
    """One suite under verification.

    Attributes:
        findings: where to note.
        jobs: by key.
        damaged: names of the files of each job that do not hold their sums.
    """

    findings: Findings
    jobs: Mapping[str, Job]
    damaged: dict[str, frozenset[str]] = field(default_factory=dict)
    _files: dict[Path, Loaded | None] = field(default_factory=dict)
    _worlds: dict[str, World] = field(default_factory=dict)

    def world(self, job: Job) -> World:
        """The block of a job, as its payload says; equal ones are one object, which remembers its environment."""
        told = {name: job.payload.get(name) for name in ("suite", "block", "tuning_block", "round")}
        name = json.dumps(told, sort_keys=True)
        if name not in self._worlds:
            self._worlds[name] = World.of(job.payload).in_round(int(job.payload.get("round", 1)))
        return self._worlds[name]

    def source(self, job: Job, role: str) -> Job:
        """The job that a role of the payload's inputs names.

        Raises:
            KeyError: if there is none.
        """
        return self.jobs[job.payload["inputs"][role]]

    def trajectories(self, job: Job) -> Loaded | None:
        """The trajectories in a job's folder; None where they cannot be read, which is told once."""
        return self._load(job, BATCH_FILE, Trajectories.load)

    def transcripts(self, job: Job) -> Loaded | None:
        """The transcripts in a job's folder, likewise."""
        return self._load(job, TRANSCRIPTS_FILE, Transcripts.load)

    def credit(self, job: Job) -> Loaded | None:
        """The credit in a job's folder, likewise."""
        return self._load(job, CREDIT_FILE, Credit.load)

    def holds(self, job: Job, name: str) -> bool:
        """Whether a file of a job is the one that it left."""
        return name in job.stored.artifacts and name not in self.damaged.get(job.key, frozenset())

    def forget(self) -> None:
        """Let go of what was read: the next block has files of its own."""
        self._files.clear()

    def _load(self, job: Job, name: str, load: Callable[[Path], Content]) -> Loaded | None:
        name = within(job, name)
        path = job.folder / name
        if path not in self._files:
            sound = self.holds(job, name)
            content = self.findings.read(job.key, path, load, told=not sound)
            self._files[path] = None if content is None else Loaded(content, content.digest(), sound)
        return self._files[path]
