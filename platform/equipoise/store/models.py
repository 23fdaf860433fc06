"""The tables: suites, their jobs with dependencies and attempts, and what the jobs left behind."""

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

__all__ = [
    "Artifacts",
    "Attempts",
    "Base",
    "Dependencies",
    "Events",
    "Jobs",
    "Outbox",
    "Outcomes",
    "RunLedgers",
    "RunSteps",
    "Suites",
]

# Named constraints can be altered later on every database.
_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
# SQLite gives ever growing ids only to INTEGER keys; elsewhere tokens may need 64 bits.
_Id = BigInteger().with_variant(Integer(), "sqlite")


class Base(DeclarativeBase):
    """Root of the tables."""

    metadata = MetaData(naming_convention=_NAMES)
    type_annotation_map = {dict[str, Any]: JSON, str: Text, float: Float(53)}  # noqa: RUF012 - SQLAlchemy's own form


class Suites(Base):
    """A registered suite, by its hash."""

    __tablename__ = "suites"

    hash: Mapped[str] = mapped_column(String(80), primary_key=True)
    name: Mapped[str]
    spec: Mapped[dict[str, Any]]
    registered_at: Mapped[str]
    created_at: Mapped[float]


class Jobs(Base):
    """A job, its state, and the lease on it while it runs (`token` is the id of its newest attempt)."""

    __tablename__ = "jobs"
    __table_args__ = (
        UniqueConstraint("suite", "key"),
        Index(None, "suite", "state", "position", "id"),
        Index(None, "state", "position", "id"),
    )

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    suite: Mapped[str] = mapped_column(String(80), ForeignKey("suites.hash"))
    key: Mapped[str] = mapped_column(String(400))
    kind: Mapped[str] = mapped_column(String(80))
    block: Mapped[int | None]
    position: Mapped[int]
    payload: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(String(20))
    tries: Mapped[int]
    token: Mapped[int | None] = mapped_column(_Id)
    lease_expires: Mapped[float | None]
    result: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    message: Mapped[str | None]


class Dependencies(Base):
    """`job` reads the files of `needs`."""

    __tablename__ = "job_dependencies"

    job: Mapped[int] = mapped_column(_Id, ForeignKey("jobs.id"), primary_key=True)
    needs: Mapped[int] = mapped_column(_Id, ForeignKey("jobs.id"), primary_key=True, index=True)


class Attempts(Base):
    """One attempt at a job; its id is the fencing token."""

    __tablename__ = "attempts"
    __table_args__ = (UniqueConstraint("job", "number"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    job: Mapped[int] = mapped_column(_Id, ForeignKey("jobs.id"))
    number: Mapped[int]
    worker: Mapped[str]
    host: Mapped[str]
    pid: Mapped[int] = mapped_column(BigInteger)
    process_started: Mapped[str]
    started_at: Mapped[float]
    ended_at: Mapped[float | None]
    end: Mapped[str | None] = mapped_column(String(20))
    counted: Mapped[bool] = mapped_column(Boolean)
    message: Mapped[str | None]
    seconds: Mapped[float | None]
    maxrss: Mapped[int | None] = mapped_column(BigInteger)


class Outcomes(Base):
    """Successes of a finished job on one task."""

    __tablename__ = "outcomes"

    job: Mapped[int] = mapped_column(_Id, ForeignKey("jobs.id"), primary_key=True)
    split: Mapped[str] = mapped_column(String(40), primary_key=True)
    task: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    successes: Mapped[int]
    episodes: Mapped[int]


class Artifacts(Base):
    """A file in a finished job's folder."""

    __tablename__ = "artifacts"

    job: Mapped[int] = mapped_column(_Id, ForeignKey("jobs.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(400), primary_key=True)
    sha256: Mapped[str] = mapped_column(String(64))
    bytes: Mapped[int] = mapped_column(BigInteger)


class RunLedgers(Base):
    """What a finished job was allocated, what was counted, and its own cost; undefined is null, never 0.

    The names are those of `equipoise_budget.Dose` and `equipoise_budget.Cost`. A job that does not train has its
    cost only; the whole cost of a run is its own and that of the jobs whose files it read.
    """

    __tablename__ = "run_ledgers"

    job: Mapped[int] = mapped_column(_Id, ForeignKey("jobs.id"), primary_key=True)
    allocated_slots: Mapped[int | None] = mapped_column(BigInteger)
    slots: Mapped[int | None] = mapped_column(BigInteger)
    allocated_optimizer_steps: Mapped[int | None] = mapped_column(BigInteger)
    optimizer_steps: Mapped[int | None] = mapped_column(BigInteger)
    allocated_unique_examples: Mapped[int | None] = mapped_column(BigInteger)
    unique_examples: Mapped[int | None] = mapped_column(BigInteger)
    allocated_tokens_in_loss: Mapped[int | None] = mapped_column(BigInteger)
    tokens_in_loss: Mapped[int | None] = mapped_column(BigInteger)
    allocated_weight_abs: Mapped[float | None]
    weight_abs: Mapped[float | None]
    allocated_weight_sq: Mapped[float | None]
    weight_sq: Mapped[float | None]
    allocated_weight_mass: Mapped[float | None]
    weight_mass: Mapped[float | None]
    allocated_ess: Mapped[float | None]
    ess: Mapped[float | None]
    allocated_ess_tokens: Mapped[float | None]
    ess_tokens: Mapped[float | None]
    allocated_ess_trajectories: Mapped[float | None]
    ess_trajectories: Mapped[float | None]
    allocated_ess_tasks: Mapped[float | None]
    ess_tasks: Mapped[float | None]
    kl_from_start: Mapped[float | None]
    l2_from_start: Mapped[float | None]
    rollout_tokens: Mapped[int | None] = mapped_column(BigInteger)
    environment_steps: Mapped[int | None] = mapped_column(BigInteger)
    environment_resets: Mapped[int | None] = mapped_column(BigInteger)
    scoring_tokens: Mapped[int | None] = mapped_column(BigInteger)
    forward_tokens_train: Mapped[int | None] = mapped_column(BigInteger)
    judge_calls: Mapped[int | None] = mapped_column(BigInteger)
    judge_tokens: Mapped[int | None] = mapped_column(BigInteger)
    critic_tokens: Mapped[int | None] = mapped_column(BigInteger)
    flops: Mapped[float | None]


class RunSteps(Base):
    """One optimizer step of a run, from 1 through all rounds: allocated beside counted; one not taken has no counts."""

    __tablename__ = "run_steps"

    job: Mapped[int] = mapped_column(_Id, ForeignKey("jobs.id"), primary_key=True)
    step: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    round: Mapped[int] = mapped_column(Integer, server_default="1")
    allocated_slots: Mapped[int | None] = mapped_column(BigInteger)
    slots: Mapped[int | None] = mapped_column(BigInteger)
    allocated_tokens: Mapped[int | None] = mapped_column(BigInteger)
    tokens: Mapped[int | None] = mapped_column(BigInteger)
    allocated_unique_examples: Mapped[int | None] = mapped_column(BigInteger)
    unique_examples: Mapped[int | None] = mapped_column(BigInteger)
    allocated_weight_abs: Mapped[float | None]
    weight_abs: Mapped[float | None]
    allocated_weight_sq: Mapped[float | None]
    weight_sq: Mapped[float | None]
    allocated_ess: Mapped[float | None]
    ess: Mapped[float | None]
    grad_norm: Mapped[float | None]
    learning_rate: Mapped[float | None]
    loss: Mapped[float | None]
    micro_batches: Mapped[int | None] = mapped_column(BigInteger)
    kl_from_start: Mapped[float | None]
    l2_from_start: Mapped[float | None]
    clip_fraction: Mapped[float | None]


class Events(Base):
    """What happened, in order; rows are only ever added."""

    __tablename__ = "events"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    at: Mapped[float]
    suite: Mapped[str | None] = mapped_column(String(80), index=True)
    key: Mapped[str | None] = mapped_column(String(400))
    kind: Mapped[str] = mapped_column(String(40))
    data: Mapped[dict[str, Any]]


class Outbox(Base):
    """Messages for the tracking server, written with the results they tell of; `sent_at` tells when."""

    __tablename__ = "outbox"
    __table_args__ = (Index(None, "sent_at", "id"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    suite: Mapped[str] = mapped_column(String(80))
    key: Mapped[str] = mapped_column(String(400))
    kind: Mapped[str] = mapped_column(String(40))
    payload: Mapped[dict[str, Any]]
    at: Mapped[float]
    sent_at: Mapped[float | None]
