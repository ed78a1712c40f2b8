"""The gateway's own token: got once, kept alive, and never asked for in a loop."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from fakes.vault import FakeVault

from gateway.clients.vault_answers import Trouble, VaultFailed
from gateway.credentials.vault_login import (
    FIRST_BACKOFF_SECONDS,
    IN_VAIN_SECONDS,
    LAST_BACKOFF_SECONDS,
    Login,
)
from gateway.settings.vault import AppRoleAuth, KubernetesAuth, TokenAuth, VaultAuth


class Kit:
    """A login by one way, with its files in a folder."""

    def __init__(self, folder: Path, kind: str = "approle") -> None:
        self.folder = folder
        self.clock = FakeClock()
        self.vault = FakeVault()
        for name in ("role", "secret", "token"):
            self.write(name, f"{name}-1")
        self.login = Login(auth_in(folder, kind), self.vault, clock=self.clock, chance=lambda: 0.5)  # type: ignore[arg-type]

    def write(self, name: str, content: str) -> None:
        """Replace a file."""
        new = self.folder / "new"
        new.write_text(content + "\n")
        new.replace(self.folder / name)

    async def trouble(self) -> Trouble:
        """What asking for a token ends with."""
        with pytest.raises(VaultFailed) as caught:
            await self.login.token()
        return caught.value.trouble

    async def pass_time(self, seconds: float) -> None:
        """In small steps, so that whoever sleeps in between wakes in time."""
        for _ in range(round(seconds * 10)):
            self.clock.advance(0.1)
            for _ in range(6):
                await asyncio.sleep(0)


def auth_in(folder: Path, kind: str) -> VaultAuth:
    """The settings of one way to log in."""
    if kind == "approle":
        return AppRoleAuth(kind="approle", role_id_file=folder / "role", secret_id_file=folder / "secret")
    if kind == "kubernetes":
        return KubernetesAuth(kind="kubernetes", role="gateway", token_file=folder / "token")
    return TokenAuth(kind="token", token_file=folder / "token")


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    """By AppRole."""
    made = Kit(tmp_path)
    yield made
    await made.login.stop()


@pytest.fixture
async def file_kit(tmp_path: Path) -> AsyncIterator[Kit]:
    """By a token that somebody else puts into a file."""
    made = Kit(tmp_path, "token")
    made.vault.tokens = {"token-1", "token-2"}
    yield made
    await made.login.stop()


async def test_200_callers_cause_one_login(kit: Kit) -> None:
    """All get its token."""
    tokens = await asyncio.gather(*(kit.login.token() for _ in range(200)))
    assert set(tokens) == {"token-1"}
    assert kit.vault.materials == [("approle", "role-1", "secret-1")]


@pytest.mark.parametrize("kind", ["approle", "kubernetes", "token"])
async def test_without_its_files_there_is_no_login(tmp_path: Path, kind: str) -> None:
    """And no request."""
    kit = Kit(tmp_path, kind)
    (tmp_path / ("secret" if kind == "approle" else "token")).unlink()
    assert await kit.trouble() is Trouble.NO_PROOF
    assert kit.vault.asked == []


async def test_a_refused_login_is_tried_once(kit: Kit) -> None:
    """The fifth would lock the role for everybody."""
    kit.vault.login_failure = Trouble.LOGIN_DENIED
    for _ in range(100):
        assert await kit.trouble() is Trouble.LOGIN_DENIED
        kit.clock.advance(0.29)
    assert len(kit.vault.materials) == 1


async def test_a_refused_login_is_tried_more_and_more_rarely(kit: Kit) -> None:
    """After 30 seconds, then 60, up to a quarter of an hour."""
    kit.vault.login_failure = Trouble.LOGIN_DENIED
    tries = []
    for second in range(4000):
        before = len(kit.vault.materials)
        await kit.trouble()
        if len(kit.vault.materials) > before:
            tries.append(second)
        kit.clock.advance(1.0)
    assert tries == [0, 30, 90, 210, 450, 930, 1830, 2730, 3630]
    assert (tries[1], tries[-1] - tries[-2]) == (FIRST_BACKOFF_SECONDS, LAST_BACKOFF_SECONDS)


async def test_a_new_secret_id_is_tried_at_once(kit: Kit) -> None:
    """Somebody has mended it."""
    kit.vault.login_failure = Trouble.LOGIN_DENIED
    await kit.trouble()
    kit.vault.login_failure = None
    kit.write("secret", "secret-2")
    assert await kit.login.token() == "token-2"
    assert kit.vault.materials[-1] == ("approle", "role-1", "secret-2")


async def test_a_login_that_nobody_answered_is_not_repeated_before_a_server_answers(kit: Kit) -> None:
    """It may have used up the secret id."""
    kit.vault.login_failure = Trouble.TIMEOUT
    assert await kit.trouble() is Trouble.TIMEOUT
    kit.vault.login_failure, kit.vault.failure = None, Trouble.TIMEOUT
    for _ in range(100):
        kit.clock.advance(0.3)
        assert await kit.trouble() is Trouble.TIMEOUT
    assert len(kit.vault.materials) == 1
    kit.vault.failure = None
    kit.clock.advance(0.3)
    assert await kit.login.token() == "token-2"


async def test_a_login_that_times_out_again_and_again_is_tried_more_and_more_rarely(kit: Kit) -> None:
    """Though the server is well otherwise."""
    kit.vault.login_failure = Trouble.TIMEOUT
    for _ in range(600):
        await kit.trouble()
        kit.clock.advance(0.1)
    assert len(kit.vault.materials) == 8


async def test_a_server_that_is_back_is_found_within_two_seconds(kit: Kit) -> None:
    """However long it was away."""
    kit.vault.failure = Trouble.UNREACHABLE
    for _ in range(60):
        await kit.trouble()
        kit.clock.advance(1.0)
    kit.vault.failure = None
    assert (await kit.login.token()).startswith("token-")


async def test_a_token_is_renewed_before_its_time_is_over(kit: Kit) -> None:
    """At 65 % here, for as long as the server gives it its whole time again."""
    kit.vault.token_seconds = kit.vault.renewed_seconds = 10.0
    assert await kit.login.token() == "token-1"
    await kit.pass_time(60)
    assert await kit.login.token() == "token-1"
    assert kit.vault.count("renew") == 9
    assert kit.vault.count("log_in") == 1


async def test_a_token_that_comes_to_its_last_end_is_replaced_before(kit: Kit) -> None:
    """A server that caps it gives less without saying so."""
    kit.vault.token_seconds, kit.vault.renewed_seconds = 10.0, 4.0
    await kit.login.token()
    await kit.pass_time(7)
    assert await kit.login.token() == "token-2"
    assert kit.login.seconds_left() == pytest.approx(9.5, abs=0.3)


async def test_a_token_that_cannot_be_renewed_is_replaced(kit: Kit) -> None:
    """Such as a batch token."""
    kit.vault.token_seconds, kit.vault.is_renewable = 10.0, False
    await kit.login.token()
    await kit.pass_time(7)
    assert (await kit.login.token(), kit.vault.count("renew")) == ("token-2", 0)


async def test_while_no_server_answers_the_token_is_used_to_its_end_and_not_beyond(kit: Kit) -> None:
    """Then a login is tried, which fails as well."""
    kit.vault.token_seconds = kit.vault.renewed_seconds = 10.0
    await kit.login.token()
    kit.vault.failure = Trouble.UNREACHABLE
    await kit.pass_time(9.5)
    assert await kit.login.token() == "token-1"
    await kit.pass_time(1)
    assert await kit.trouble() is Trouble.UNREACHABLE


async def test_a_dead_token_is_replaced_once_for_all_callers(kit: Kit) -> None:
    """The server is asked whether it is dead."""
    dead = await kit.login.token()
    kit.vault.tokens.clear()
    others = await asyncio.gather(*(kit.login.token_instead_of(dead) for _ in range(50)))
    assert set(others) == {"token-2"}
    assert (kit.vault.count("look_up"), kit.vault.count("log_in")) == (1, 2)


async def test_a_living_token_is_not_replaced(kit: Kit) -> None:
    """The no was for what was asked."""
    assert await kit.login.token_instead_of(await kit.login.token()) is None
    assert kit.vault.count("log_in") == 1


async def test_no_login_follows_another_that_was_in_vain(kit: Kit) -> None:
    """A policy without `lookup-self` makes every token look dead."""
    kit.vault.may_look_up = False
    other = await kit.login.token_instead_of(await kit.login.token())
    assert other == "token-2"
    kit.login.was_in_vain()
    for _ in range(10):
        assert await kit.login.token_instead_of(other) is None
    assert kit.vault.count("log_in") == 2
    kit.clock.advance(IN_VAIN_SECONDS)
    assert await kit.login.token_instead_of(other) == "token-3"


async def test_whether_a_token_is_dead_cannot_be_told_while_nobody_answers(kit: Kit) -> None:
    """Then it is not replaced."""
    token = await kit.login.token()
    kit.vault.failure = Trouble.RESET
    with pytest.raises(VaultFailed):
        await kit.login.token_instead_of(token)
    kit.vault.failure = None
    assert await kit.login.token() == token


async def test_a_token_from_a_file_follows_the_file(file_kit: Kit) -> None:
    """Within a second."""
    assert await file_kit.login.token() == "token-1"
    file_kit.write("token", "token-2")
    file_kit.clock.advance(1.0)
    assert await file_kit.login.token() == "token-2"
    assert file_kit.vault.count("log_in") == 0


async def test_a_token_from_a_file_is_not_ours_to_renew_or_replace(file_kit: Kit) -> None:
    """It is looked at, for whoever watches how long it lasts."""
    file_kit.vault.token_seconds = 10.0
    assert await file_kit.login.token() == "token-1"
    await file_kit.pass_time(30)
    assert file_kit.vault.count("renew") == 0
    assert file_kit.vault.count("look_up") == 5
    file_kit.vault.tokens.clear()
    assert await file_kit.login.token_instead_of("token-1") is None


async def test_a_file_that_is_gone_ends_the_use_of_its_token(file_kit: Kit) -> None:
    """Whoever took it away meant it."""
    await file_kit.login.token()
    (file_kit.folder / "token").unlink()
    file_kit.clock.advance(1.0)
    assert await file_kit.trouble() is Trouble.NO_PROOF


async def test_a_token_that_may_not_look_at_itself_is_used_nevertheless(file_kit: Kit) -> None:
    """How long it lasts is unknown then."""
    file_kit.vault.may_look_up = False
    assert await file_kit.login.token() == "token-1"
    assert file_kit.login.seconds_left() is None


async def test_after_stop_nothing_is_renewed(kit: Kit) -> None:
    """Nobody asks any more."""
    kit.vault.token_seconds = kit.vault.renewed_seconds = 10.0
    await kit.login.token()
    await kit.login.stop()
    await kit.pass_time(20)
    assert kit.vault.asked == ["log_in"]


async def test_it_says_whether_a_token_is_the_one_in_use(kit: Kit, file_kit: Kit) -> None:
    """What was made with another dies with that."""
    assert not kit.login.holds("token-1")
    kit.vault.token_seconds = 60.0
    token = await kit.login.token()
    assert kit.login.holds(token)
    assert not kit.login.holds("token-9")
    kit.clock.advance(61.0)
    assert not kit.login.holds(token)
    assert await file_kit.login.token() == "token-1"
    assert file_kit.login.holds("token-1")
    file_kit.write("token", "token-2")
    file_kit.clock.advance(1.1)
    assert not file_kit.login.holds("token-1")
    (file_kit.folder / "token").unlink()
    file_kit.clock.advance(1.1)
    assert not file_kit.login.holds("token-1")
