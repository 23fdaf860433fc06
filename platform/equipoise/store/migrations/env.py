"""Run the migrations on the connection that the store hands over."""

from alembic import context

from equipoise.store.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,  # SQLite cannot alter constraints in place
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
