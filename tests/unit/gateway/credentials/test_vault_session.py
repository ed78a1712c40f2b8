"""Asking with the gateway's own token."""

import pytest
from fakes.clock import FakeClock
from fakes.vault import FakeVault

from gateway.clients.vault_answers import Trouble, VaultFailed
from gateway.credentials.vault_login import Login
from gateway.credentials.vault_session import VaultSession
from gateway.settings.vault import AppRoleAuth


@pytest.fixture
def vault() -> FakeVault:
    """One that logs everybody in."""
    return FakeVault()


@pytest.fixture
async def session(vault: FakeVault, tmp_path):
    """A session over it."""
    for name in ("role", "secret"):
        (tmp_path / name).write_text(name)
    auth = AppRoleAuth(kind="approle", role_id_file=tmp_path / "role", secret_id_file=tmp_path / "secret")
    login = Login(auth, vault, clock=FakeClock(), chance=lambda: 0.0)  # type: ignore[arg-type]
    yield VaultSession(login)
    await login.stop()


async def test_a_question_is_asked_with_the_token(vault: FakeVault, session: VaultSession) -> None:
    """And its answer comes back."""

    async def question(token: str) -> str:
        return f"asked with {token}"

    assert await session.ask(question) == "asked with token-1"
    assert session.trouble is None


async def test_with_a_token_that_has_died_it_is_asked_once_more(vault: FakeVault, session: VaultSession) -> None:
    """With another."""
    asked = []

    async def question(token: str) -> str:
        asked.append(token)
        await vault.ping()
        if token == "token-1":
            raise VaultFailed(Trouble.DENIED)
        return token

    await session.ask(ping_of(vault))
    vault.tokens.clear()
    assert await session.ask(question) == "token-2"
    assert asked == ["token-1", "token-2"]


def ping_of(vault: FakeVault):
    """A question that anybody may ask."""

    async def question(_token: str) -> None:
        await vault.ping()

    return question


async def test_a_no_to_the_question_is_asked_once(vault: FakeVault, session: VaultSession) -> None:
    """The token lives, so it was not for the token."""
    asked = []

    async def question(token: str) -> None:
        asked.append(token)
        raise VaultFailed(Trouble.DENIED)

    with pytest.raises(VaultFailed):
        await session.ask(question)
    assert asked == ["token-1"]
    assert session.trouble is Trouble.DENIED


@pytest.mark.parametrize(("trouble", "told"), [(Trouble.TIMEOUT, Trouble.TIMEOUT), (Trouble.ABSENT, None)])
async def test_it_knows_how_the_last_question_went(
    vault: FakeVault, session: VaultSession, trouble: Trouble, told: Trouble | None
) -> None:
    """Nothing found is an answer too."""

    async def question(_token: str) -> None:
        raise VaultFailed(trouble)

    with pytest.raises(VaultFailed):
        await session.ask(question)
    assert session.trouble is told
    await session.ask(ping_of(vault))
    assert session.trouble is None
