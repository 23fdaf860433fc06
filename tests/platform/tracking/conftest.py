"""A small finished suite in a real store, a real tracking database and a real server."""

import json
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.store import JobSpec, Lease, Store, open_store, this_worker
from equipoise.tracking.client import open_client
from equipoise.tracking.embedded import artifact_root, database_uri, prepare
from equipoise.tracking.server import free_port, serve
from equipoise.tracking.source import StoreSource
from equipoise.tracking.writer import Writer

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

CONDITIONS = ("outcome", "gigpo", "random")
ARMS = ("native", "matched", "twin")
SUITE = "eq1:" + sha256(b"a suite").hexdigest()
BEGIN = 1_790_000_000.0
STEPS = 12
SPEC: dict[str, Any] = {
    "name": "seven-rules-household",
    "question": "Does step-level credit carry more than the amount of training it leaves?",
    "conditions": [
        {"id": "outcome", "rule": "grpo", "baseline": True, "std": "sample"},
        {"id": "gigpo", "rule": "gigpo", "baseline": False, "gamma": 0.95},
        {"id": "random", "rule": "random", "control": "negative"},
    ],
    "hypotheses": [{"id": "H1", "says": "gigpo's credit content helps", "contrast": "content(gigpo)"}],
}

# As a frozen suite lies in the store: canonical JSON beside the text that was registered.
FROZEN: dict[str, Any] = {
    "hash": SUITE,
    "name": SPEC["name"],
    "suite": json.dumps(SPEC),
    "raw": "# why we ask\nname: seven-rules-household\n",
    "exploratory": False,
}
REPORT = """<!doctype html><html><body><h1>The report of the suite</h1>
<svg width="400" height="200"><rect id="bar" width="300" height="150" fill="silver"/></svg>
<script>document.getElementById("bar").setAttribute("fill", "teal");</script></body></html>"""
ANALYSIS = """{"hypotheses": [{"id": "H1", "says": "gigpo's credit content helps", "verdict": "INCONCLUSIVE",
"sentence": "content(gigpo) = 0.01, CI -0.05 to 0.07"}]}"""


def cell_keys(block: int) -> list[str]:
    return [f"b{block}/cell/{condition}/{arm}/0" for condition in CONDITIONS for arm in ARMS]


def outcomes(rng: random.Random) -> list[dict[str, Any]]:
    return [
        {"split": split, "task": task, "successes": rng.randint(1, 7), "episodes": 8}
        for split in ("pool", "held_out")
        for task in range(4)
    ]


def cell_result(key: str) -> dict[str, Any]:
    """Return a result as a worker writes it; everything in it is a function of the key."""
    block, _, condition, arm, twin = key.split("/")
    rng = random.Random(key)
    digest = sha256(block.encode()).hexdigest()
    return {
        "kind": "cell",
        "cell": {
            "condition": condition,
            "rule": "grpo" if condition == "outcome" else condition,
            "arm": arm,
            "twin": int(twin),
            "block": int(block[1:]),
        },
        "outcomes": outcomes(rng),
        "planned": {"slots": 16 * STEPS, "optimizer_steps": STEPS, "unique_examples": 100},
        "dose": {
            "slots": 16 * STEPS,
            "unique_examples": 100,
            "optimizer_steps": STEPS,
            "tokens_in_loss": 700,
            "weight_abs": 150.5,
            "ess": 120.25,
            "grad_norm_mean": 0.4,
            "l2_from_start": 0.7,
            "kl_from_start": None,
            "repetition": {"1": 90, "2": 10},
        },
        "cost": {"rollout_tokens": 9000, "environment_steps": 300, "flops": 1e11, "seconds": {"train": 1.5}},
        "breaches": ["expected 192 slots, counted 191"] if key == "b1/cell/gigpo/matched/0" else [],
        "steps": {
            "loss": [round(1 / (1 + step) + rng.gauss(0, 0.02), 6) for step in range(STEPS)],
            "grad_norm": [round(abs(rng.gauss(0.4, 0.1)), 6) for _ in range(STEPS)],
            "slots": [16] * STEPS,
            "tokens": [58 + step for step in range(STEPS)],
            "ess": [round(rng.uniform(8, 14), 3) for _ in range(STEPS)],
        },
        "credit": {"examples": 100, "defined": 100, "reasons": {"DEFINED": 100, "DROPPED": 40}},
        "digests": {"plan": "eq1:" + "ab" * 32, "weights": "cd" * 32, "trajectories": digest},
        "end": "ok",
        "seconds": {"train": 1.5, "evaluate": 0.5},
    }


def base_result(block: int) -> dict[str, Any]:
    return {"kind": "base", "block": block, "outcomes": outcomes(random.Random(block)), "digests": {}}


@dataclass
class Project:
    """A project folder with a store and its tracking database."""

    home: Path
    store: Store
    uri: str
    suite: str = SUITE

    def cells(self, block: int) -> list[str]:
        """Return the keys of a block's cells."""
        return cell_keys(block)

    def finish(self, count: int, change: Callable[[dict[str, Any]], None] = lambda _: None) -> list[str]:
        """Finish the next jobs of the queue; return their keys."""
        keys = []
        for _ in range(count):
            lease = self.claim()
            cell = lease.key.split("/")[1] == "cell"
            result = cell_result(lease.key) if cell else base_result(int(lease.key[1]))
            change(result)
            self.store.finish(lease, result, now=self.clock() - 0.25)
            keys.append(lease.key)
        return keys

    def claim(self) -> Lease:
        lease = self.store.claim(this_worker(), suite=SUITE, now=self.clock())
        assert lease is not None
        return lease

    def clock(self) -> float:
        return BEGIN + 2.0 * len(self.store.attempts(SUITE))

    def writer(self, uri: str | None = None) -> Writer:
        source = StoreSource(self.store, self.home)
        artifacts = None if uri else artifact_root(self.home)
        return Writer(source, uri or self.uri, lock=self.home / "mlflow.lock", artifacts=artifacts)

    def client(self) -> "MlflowClient":
        return open_client(self.uri)

    def runs(self, client: "MlflowClient | None" = None) -> "dict[str, Run]":
        """Return the runs by key; more than one of a key fails the test that asks."""
        client = client or self.client()
        experiment = client.get_experiment_by_name(f"seven-rules-household @ {SUITE[4:12]}")
        found: dict[str, Run] = {}
        for run in client.search_runs([experiment.experiment_id], max_results=1000):
            assert run.data.tags["equipoise.key"] not in found
            found[run.data.tags["equipoise.key"]] = run
        return found


def open_project(home: Path, uri: str) -> Project:
    return Project(home, open_store(home), uri)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tracking database made once; making one takes MLflow seconds."""
    home = tmp_path_factory.mktemp("template")
    prepare(home)
    return home


@pytest.fixture
def project(template: Path, tmp_path: Path) -> Iterator[Project]:
    """A registered suite of two blocks: in each a base policy and nine cells, none of them run."""
    yield from new_project(template, tmp_path / "runs")


def new_project(template: Path, home: Path) -> Iterator[Project]:
    shutil.copytree(template, home)
    project = open_project(home, database_uri(home))
    project.store.add_suite(SUITE, SPEC["name"], FROZEN, "2026-09-21T14:00:00+00:00")
    jobs = []
    for block in range(2):
        jobs.append(JobSpec(f"b{block}/base", "base", {"block": block}, order=100 * block))
        for key in cell_keys(block):
            cell = cell_result(key)["cell"]
            jobs.append(JobSpec(key, "cell", {"block": block, "cell": cell}, order=100 * block + 1))
    project.store.add_jobs(SUITE, jobs)
    yield project
    project.store.close()


@dataclass
class Served:
    """A finished suite behind a running server."""

    project: Project
    address: str


@pytest.fixture(scope="session")
def served(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Both blocks finished and shown, with a report, in a folder with an odd name, behind a server."""
    for project in new_project(template, tmp_path_factory.mktemp("served") / "mine é & co"):
        report = project.home / "reports" / f"seven-rules-household-{SUITE[4:12]}"
        report.mkdir(parents=True)
        (report / "report.html").write_text(REPORT, encoding="utf-8")
        (report / "analysis.json").write_text(ANALYSIS, encoding="utf-8")
        project.finish(20)
        assert project.writer().sync().problems == []
        with serve(project.home, free_port(0)) as address:
            yield Served(project, address)
