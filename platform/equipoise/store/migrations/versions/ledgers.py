"""The ledger as rows: what every run was allocated and received, in all and at each optimizer step."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _counts(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), nullable=True) for name in names]


def _reals(*names: str) -> list[sa.Column[float]]:
    return [sa.Column(name, sa.Float(53), nullable=True) for name in names]


def _both(*names: str) -> list[str]:
    return [column for name in names for column in (f"allocated_{name}", name)]


def upgrade() -> None:
    op.create_table(
        "run_ledgers",
        sa.Column("job", _ID, nullable=False),
        *_counts(*_both("slots", "optimizer_steps", "unique_examples", "tokens_in_loss")),
        *_reals(
            *_both(
                "weight_abs", "weight_sq", "weight_mass", "ess", "ess_tokens", "ess_trajectories", "ess_tasks"
            )
        ),
        *_reals("kl_from_start", "l2_from_start"),
        *_counts("rollout_tokens", "environment_steps", "environment_resets", "scoring_tokens"),
        *_counts("forward_tokens_train", "judge_calls", "judge_tokens", "critic_tokens"),
        *_reals("flops"),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name=op.f("fk_run_ledgers_job_jobs")),
        sa.PrimaryKeyConstraint("job", name=op.f("pk_run_ledgers")),
    )
    op.create_table(
        "run_steps",
        sa.Column("job", _ID, nullable=False),
        sa.Column("step", sa.Integer(), autoincrement=False, nullable=False),
        *_counts(*_both("slots", "tokens", "unique_examples")),
        *_reals(*_both("weight_abs", "weight_sq", "ess")),
        *_reals("grad_norm", "learning_rate", "loss"),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name=op.f("fk_run_steps_job_jobs")),
        sa.PrimaryKeyConstraint("job", "step", name=op.f("pk_run_steps")),
    )


def downgrade() -> None:
    op.drop_table("run_steps")
    op.drop_table("run_ledgers")
