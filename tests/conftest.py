"""What holds for every test."""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from real.postgres import Postgres, postgres
from real.stores import drop_databases

# Whoever starts the tests in the background leaves SIGINT ignored to them, and to every process that they start
# and then interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# As for every gateway (see gateway/__main__.py), and before anything here imports gRPC.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# No deadline: a busy machine is not a wrong answer. Time is measured by `make bench`.
settings.register_profile("tollhouse", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tollhouse")


@pytest.fixture(scope="session")
def shared_server() -> Iterator[Postgres]:
    """One real PostgreSQL for every module that asks for `server`."""
    with postgres() as running:
        yield running


@pytest.fixture(scope="module")
def server(shared_server: Postgres) -> Iterator[Postgres]:
    """A real PostgreSQL: each test has a database of its own in it, and whoever freezes it lets it go on. What kills
    it, or changes what holds for a whole server, has one of its own.
    """
    yield shared_server
    drop_databases(shared_server)
