"""What Alembic runs for every command. The connection, or that there is none, is handed in by `migrating`."""

from alembic import context

from gateway.store.columns import metadata
from gateway.store.migrating import CONNECTION

connection = context.config.attributes.get(CONNECTION)
if connection is None:
    context.configure(dialect_name="postgresql", target_metadata=metadata, literal_binds=True, transactional_ddl=True)
    with context.begin_transaction():
        context.run_migrations()
else:
    is_sqlite = connection.dialect.name == "sqlite"
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=is_sqlite)
    context.run_migrations()
