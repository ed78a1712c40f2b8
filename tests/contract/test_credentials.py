"""What every source of credentials does."""

import asyncio
import copy
import itertools
import pickle  # noqa: TID251 - to see that a Secret refuses it
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from fakes.credentials import FakeSource
from real.bao import Bao, running

from gateway.clients.vault import VaultClient
from gateway.credentials.base import Source
from gateway.credentials.env import EnvSource
from gateway.credentials.file import LOOK_SECONDS, FileSource
from gateway.credentials.vault import VaultSource
from gateway.errors import Reason, Refusal
from gateway.settings.vault import TokenAuth, VaultMount, VaultSettings

NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class Case:
    """A source, and how a test sets and removes the value behind `name`."""

    source: Source
    name: str
    put: Callable[[str], None]
    remove: Callable[[], None]


@pytest.fixture(scope="module")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bao]:
    """A real OpenBao with one KV engine."""
    with running(tmp_path_factory.mktemp("bao")) as server:
        server.mount("secret", 2)
        yield server


@pytest.fixture(params=["env", "file", "vault", "fake"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    """Each implementation, with nothing in it yet."""
    if request.param == "env":
        environment: dict[str, str] = {}
        return Case(
            EnvSource(environment),
            "TOKEN",
            lambda value: environment.update(TOKEN=value),
            lambda: environment.pop("TOKEN"),  # type: ignore[arg-type, return-value]
        )
    if request.param == "file":
        path = tmp_path / "token"
        return Case(
            FileSource(itertools.count(0, LOOK_SECONDS).__next__),
            str(path),
            lambda value: write(path, value),
            path.unlink,
        )
    if request.param == "vault":
        return vault_case(request.getfixturevalue("bao"), tmp_path)
    fake = FakeSource()
    return Case(
        fake,
        "token",
        lambda value: fake.values.update(token=value),
        lambda: fake.values.pop("token"),  # type: ignore[arg-type, return-value]
    )


@pytest.fixture(autouse=True)
async def ended(case: Case) -> AsyncIterator[None]:
    """What is open is closed at the end."""
    yield
    if isinstance(case.source, VaultSource):
        await case.source.stop()


def vault_case(bao: Bao, folder: Path) -> Case:
    """A secret of the test's own. Its cache is over whenever the value changes."""
    write(folder / "token", bao.root.token)
    clock = FakeClock()
    settings = VaultSettings(
        addresses=(bao.address,),
        auth=TokenAuth(kind="token", token_file=folder / "token"),
        mounts=(VaultMount(path="secret", version=2),),
    )
    client = VaultClient(settings.addresses, timeout_seconds=settings.timeout_ms / 1000)
    source = VaultSource(settings, client, clock=clock, chance=lambda: 0.0)
    path = f"case-{next(NUMBERS)}/smtp"

    def put(value: str) -> None:
        bao.put("secret", path, password=value)
        clock.advance(1000.0)

    def remove() -> None:
        bao.delete("secret", path)
        clock.advance(1000.0)

    return Case(source, f"secret/{path}#password", put, remove)


def write(path: Path, value: str) -> None:
    """Replace a file by a new one that only its owner may read."""
    new = path.with_suffix(".new")
    new.write_text(value)
    new.chmod(0o600)
    new.replace(path)


async def test_the_value_comes_back(case: Case) -> None:
    """As it was put."""
    case.put("s3cr3t-wörd\\\"'")
    assert (await case.source.resolve("acme", case.name)).reveal() == "s3cr3t-wörd\\\"'"


async def test_a_new_value_is_seen_at_the_next_call(case: Case) -> None:
    """A rotated credential works without a restart."""
    case.put("first-value")
    await case.source.resolve("acme", case.name)
    case.put("other-value")
    assert (await case.source.resolve("acme", case.name)).reveal() == "other-value"


async def test_every_secret_is_the_callers_own(case: Case) -> None:
    """Dropping one does not empty the next."""
    case.put("first-value")
    (await case.source.resolve("acme", case.name)).drop()
    assert (await case.source.resolve("acme", case.name)).reveal() == "first-value"


async def test_what_is_not_there_is_missing(case: Case) -> None:
    """In words that name neither the place nor a value, before and after it was there."""
    for _ in range(2):
        with pytest.raises(Refusal) as caught:
            await case.source.resolve("acme", case.name)
        assert caught.value.reason is Reason.CREDENTIAL_MISSING
        assert case.name not in caught.value.message
        case.put("some-value")
        await case.source.resolve("acme", case.name)
        case.remove()


async def test_callers_at_the_same_time_get_the_same_value(case: Case) -> None:
    """Each a secret of its own."""
    case.put("s3cr3t-value")
    secrets = await asyncio.gather(*(case.source.resolve("acme", case.name) for _ in range(20)))
    assert {secret.reveal() for secret in secrets} == {"s3cr3t-value"}
    assert len({id(secret) for secret in secrets}) == 20


async def test_a_secret_cannot_be_printed_copied_or_pickled(case: Case) -> None:
    """Not by accident."""
    case.put("s3cr3t-value")
    secret = await case.source.resolve("acme", case.name)
    assert "s3cr3t" not in f"{secret!r}{secret!s}{secret}{secret:>20}"
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            attempt(secret)
