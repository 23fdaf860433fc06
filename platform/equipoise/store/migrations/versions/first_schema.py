"""The first schema: suites, jobs, attempts and what they leave."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# The record is only ever added to, whoever writes.
_APPEND_ONLY = (
    "CREATE TRIGGER events_are_not_{verb}d BEFORE {verb} ON events "
    "BEGIN SELECT RAISE(ABORT, 'events are append-only'); END"
)


def upgrade() -> None:
    op.create_table(
        "events",
        sa.Column("id", _ID, nullable=False),
        sa.Column("at", sa.Float(53), nullable=False),
        sa.Column("suite", sa.String(length=80), nullable=True),
        sa.Column("key", sa.String(length=400), nullable=True),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_events_suite"), "events", ["suite"], unique=False)
    op.create_table(
        "outbox",
        sa.Column("id", _ID, nullable=False),
        sa.Column("suite", sa.String(length=80), nullable=False),
        sa.Column("key", sa.String(length=400), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("at", sa.Float(53), nullable=False),
        sa.Column("sent_at", sa.Float(53), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_outbox_sent_at_id"), "outbox", ["sent_at", "id"], unique=False)
    op.create_table(
        "suites",
        sa.Column("hash", sa.String(length=80), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("registered_at", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(53), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_suites")),
    )
    op.create_table(
        "jobs",
        sa.Column("id", _ID, nullable=False),
        sa.Column("suite", sa.String(length=80), nullable=False),
        sa.Column("key", sa.String(length=400), nullable=False),
        sa.Column("kind", sa.String(length=80), nullable=False),
        sa.Column("block", sa.Integer(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("token", _ID, nullable=True),
        sa.Column("lease_expires", sa.Float(53), nullable=True),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["suite"], ["suites.hash"], name=op.f("fk_jobs_suite_suites")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sa.UniqueConstraint("suite", "key", name=op.f("uq_jobs_suite_key")),
    )
    op.create_index(op.f("ix_jobs_state_position_id"), "jobs", ["state", "position", "id"], unique=False)
    op.create_index(
        op.f("ix_jobs_suite_state_position_id"), "jobs", ["suite", "state", "position", "id"], unique=False
    )
    op.create_table(
        "artifacts",
        sa.Column("job", _ID, nullable=False),
        sa.Column("name", sa.String(length=400), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name=op.f("fk_artifacts_job_jobs")),
        sa.PrimaryKeyConstraint("job", "name", name=op.f("pk_artifacts")),
    )
    op.create_table(
        "attempts",
        sa.Column("id", _ID, nullable=False),
        sa.Column("job", _ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=False),
        sa.Column("process_started", sa.Text(), nullable=False),
        sa.Column("started_at", sa.Float(53), nullable=False),
        sa.Column("ended_at", sa.Float(53), nullable=True),
        sa.Column("end", sa.String(length=20), nullable=True),
        sa.Column("counted", sa.Boolean(), nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("seconds", sa.Float(53), nullable=True),
        sa.Column("maxrss", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name=op.f("fk_attempts_job_jobs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
        sa.UniqueConstraint("job", "number", name=op.f("uq_attempts_job_number")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "job_dependencies",
        sa.Column("job", _ID, nullable=False),
        sa.Column("needs", _ID, nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name=op.f("fk_job_dependencies_job_jobs")),
        sa.ForeignKeyConstraint(["needs"], ["jobs.id"], name=op.f("fk_job_dependencies_needs_jobs")),
        sa.PrimaryKeyConstraint("job", "needs", name=op.f("pk_job_dependencies")),
    )
    op.create_index(op.f("ix_job_dependencies_needs"), "job_dependencies", ["needs"], unique=False)
    op.create_table(
        "outcomes",
        sa.Column("job", _ID, nullable=False),
        sa.Column("split", sa.String(length=40), nullable=False),
        sa.Column("task", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("successes", sa.Integer(), nullable=False),
        sa.Column("episodes", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name=op.f("fk_outcomes_job_jobs")),
        sa.PrimaryKeyConstraint("job", "split", "task", name=op.f("pk_outcomes")),
    )
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("update", "delete"):
            op.execute(_APPEND_ONLY.format(verb=verb))


def downgrade() -> None:
    for table in (
        "outcomes",
        "job_dependencies",
        "attempts",
        "artifacts",
        "jobs",
        "suites",
        "outbox",
        "events",
    ):
        op.drop_table(table)
