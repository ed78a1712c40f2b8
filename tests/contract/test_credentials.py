"""What every source of credentials does."""

import copy
import itertools
import pickle  # noqa: TID251 - to see that a Secret refuses it
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.credentials import FakeSource

from gateway.credentials.base import Source
from gateway.credentials.env import EnvSource
from gateway.credentials.file import LOOK_SECONDS, FileSource
from gateway.errors import Reason, Refusal


@dataclass(frozen=True)
class Case:
    """A source, and how a test sets and removes the value behind `name`."""

    source: Source
    name: str
    put: Callable[[str], None]
    remove: Callable[[], None]


@pytest.fixture(params=["env", "file", "fake"])
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
    fake = FakeSource()
    return Case(
        fake,
        "token",
        lambda value: fake.values.update(token=value),
        lambda: fake.values.pop("token"),  # type: ignore[arg-type, return-value]
    )


def write(path: Path, value: str) -> None:
    """Replace a file by a new one that only its owner may read."""
    new = path.with_suffix(".new")
    new.write_text(value)
    new.chmod(0o600)
    new.replace(path)


async def test_the_value_comes_back(case: Case) -> None:
    """As it was put."""
    case.put("s3cr3t-wörd\\\"'")
    assert (await case.source.resolve(case.name)).reveal() == "s3cr3t-wörd\\\"'"


async def test_a_new_value_is_seen_at_the_next_call(case: Case) -> None:
    """A rotated credential works without a restart."""
    case.put("first-value")
    await case.source.resolve(case.name)
    case.put("other-value")
    assert (await case.source.resolve(case.name)).reveal() == "other-value"


async def test_every_secret_is_the_callers_own(case: Case) -> None:
    """Dropping one does not empty the next."""
    case.put("first-value")
    (await case.source.resolve(case.name)).drop()
    assert (await case.source.resolve(case.name)).reveal() == "first-value"


async def test_what_is_not_there_is_missing(case: Case) -> None:
    """In words that name neither the place nor a value, before and after it was there."""
    for _ in range(2):
        with pytest.raises(Refusal) as caught:
            await case.source.resolve(case.name)
        assert caught.value.reason is Reason.CREDENTIAL_MISSING
        assert case.name not in caught.value.message
        case.put("some-value")
        await case.source.resolve(case.name)
        case.remove()


async def test_a_secret_cannot_be_printed_copied_or_pickled(case: Case) -> None:
    """Not by accident."""
    case.put("s3cr3t-value")
    secret = await case.source.resolve(case.name)
    assert "s3cr3t" not in f"{secret!r}{secret!s}{secret}{secret:>20}"
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            attempt(secret)
