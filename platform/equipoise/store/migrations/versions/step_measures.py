"""More of each optimizer step: its passes, how far the policy has moved, and how many tokens the clip held back."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("run_steps", sa.Column("micro_batches", sa.BigInteger(), nullable=True))
    for name in ("kl_from_start", "l2_from_start", "clip_fraction"):
        op.add_column("run_steps", sa.Column(name, sa.Float(53), nullable=True))


def downgrade() -> None:
    for name in ("clip_fraction", "l2_from_start", "kl_from_start", "micro_batches"):
        op.drop_column("run_steps", name)
