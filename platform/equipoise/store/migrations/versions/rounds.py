"""The round of collection that each optimizer step belongs to; steps from before rounds belong to the first."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("run_steps", sa.Column("round", sa.Integer(), server_default="1", nullable=False))


def downgrade() -> None:
    op.drop_column("run_steps", "round")
