"""`vault:` references as calls meet them."""

import asyncio
import traceback
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fakes.clock import FakeClock
from fakes.vault import FakeVault

from adapters.base import Fault
from gateway.clients.vault_answers import SecretPlace, Trouble, VaultFailed, VaultToken
from gateway.credentials.vault import VaultSource
from gateway.errors import Reason, Refusal
from gateway.settings.vault import AppRoleAuth, VaultMount, VaultSettings

NAME = "secret/acme/smtp#password"


def place(path: str = "acme/smtp", namespace: str = "") -> SecretPlace:
    """Where a secret is."""
    return SecretPlace(namespace=namespace, mount="secret", version=2, path=path)


class Kit:
    """A source over a fake vault that holds one secret."""

    def __init__(self, folder: Path) -> None:
        for name in ("role", "secret"):
            (folder / name).write_text(name)
        settings = VaultSettings(
            addresses=("http://127.0.0.1:8200",),
            auth=AppRoleAuth(kind="approle", role_id_file=folder / "role", secret_id_file=folder / "secret"),
            mounts=(VaultMount(path="secret", version=2),),
            namespaces={"other": "team/other"},
            timeout_ms=200,
        )
        self.clock = FakeClock()
        self.vault = FakeVault()
        self.vault.secrets[place()] = {"password": "hunter2-acme"}
        self.source = VaultSource(settings, self.vault, clock=self.clock, chance=lambda: 0.0)  # type: ignore[arg-type]

    async def refusal(self, name: str = NAME, tenant: str = "acme") -> Refusal:
        """What resolving ends with; nothing of the reference is in its words or behind it."""
        with pytest.raises(Refusal) as caught:
            await self.source.resolve(tenant, name)
        text = caught.value.message + "".join(traceback.format_exception(caught.value)[-1:])
        assert not any(part in text for part in ("smtp", "password", "secret/", "token-"))
        return caught.value


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    """A fresh one."""
    made = Kit(tmp_path)
    yield made
    await made.source.stop()


async def test_200_callers_cause_one_login_and_one_read(kit: Kit) -> None:
    """Each gets a secret of its own, and what is worked out of the value is shared."""
    secrets = await asyncio.gather(*(kit.source.resolve("acme", NAME) for _ in range(200)))
    assert {secret.reveal() for secret in secrets} == {"hunter2-acme"}
    assert len({id(secret) for secret in secrets}) == 200
    assert len({id(secret.derived) for secret in secrets}) == 1
    assert kit.vault.asked == ["log_in", "read"]


async def test_a_tenant_with_a_namespace_reads_there(kit: Kit) -> None:
    """And never what is at the same path elsewhere."""
    assert (await kit.refusal(tenant="other")).reason is Reason.CREDENTIAL_MISSING
    kit.vault.secrets[place(namespace="team/other")] = {"password": "hunter2-other"}
    kit.clock.advance(10)
    assert (await kit.source.resolve("other", NAME)).reveal() == "hunter2-other"
    assert (await kit.source.resolve("acme", NAME)).reveal() == "hunter2-acme"


@pytest.mark.parametrize("name", ["elsewhere/acme/smtp#password", "secret/../acme/smtp#password", "secret/acme/smtp"])
async def test_what_the_settings_know_no_mount_for_is_not_allowed(kit: Kit, name: str) -> None:
    """No server is asked."""
    assert (await kit.refusal(name)).reason is Reason.CREDENTIAL_NOT_ALLOWED
    assert kit.vault.asked == []


async def test_g09_no_right_and_no_secret_are_told_apart_in_the_audit(kit: Kit) -> None:
    """By reason and fault; the agent learns nothing of the path from either."""
    absent = await kit.refusal("secret/acme/none#password")
    field = await kit.refusal("secret/acme/smtp#passwrd")
    kit.vault.denied.add(place("acme/denied"))
    denied = await kit.refusal("secret/acme/denied#password")
    assert (absent.reason, absent.fault) == (Reason.CREDENTIAL_MISSING, None)
    assert (field.reason, field.fault) == (Reason.CREDENTIAL_MISSING, None)
    assert (denied.reason, denied.fault) == (Reason.CREDENTIAL_UNAVAILABLE, Fault.REFUSED)


@pytest.mark.parametrize(
    ("trouble", "fault"),
    [
        (Trouble.TIMEOUT, Fault.TIMEOUT),
        (Trouble.UNREACHABLE, Fault.RESET),
        (Trouble.RESET, Fault.RESET),
        (Trouble.MALFORMED, Fault.MALFORMED),
        (Trouble.SEALED, Fault.ERROR),
        (Trouble.FAILED, Fault.ERROR),
        (Trouble.BUSY, Fault.ERROR),
    ],
)
async def test_a_server_that_cannot_answer_makes_a_credential_unavailable(
    kit: Kit, trouble: Trouble, fault: Fault
) -> None:
    """The audit says how."""
    kit.vault.failure = trouble
    refusal = await kit.refusal()
    assert (refusal.reason, refusal.fault) == (Reason.CREDENTIAL_UNAVAILABLE, fault)
    assert kit.source.status().is_up is False
    assert kit.source.status().last_error == trouble.name.lower()


async def test_a_refused_login_is_a_refusal_and_no_server_that_is_down(kit: Kit) -> None:
    """It is sent once."""
    kit.vault.login_failure = Trouble.LOGIN_DENIED
    for _ in range(10):
        refusal = await kit.refusal()
        assert (refusal.reason, refusal.fault) == (Reason.CREDENTIAL_UNAVAILABLE, Fault.REFUSED)
    assert kit.vault.count("log_in") == 1
    assert kit.source.status()[:2] == (True, "login_denied")


async def test_missing_files_of_our_own_login_are_said_to_be_that(kit: Kit, tmp_path: Path) -> None:
    """To the audit."""
    (tmp_path / "secret").unlink()
    assert (await kit.refusal()).fault is Fault.NOT_LOADED


@pytest.mark.parametrize("value", [5, True, ["a"], {"a": "b"}, "abc\ud800"])
async def test_what_is_no_text_cannot_be_used(kit: Kit, value: Any) -> None:
    """Nothing is made into text."""
    kit.vault.secrets[place()] = {"password": value}
    refusal = await kit.refusal()
    assert (refusal.reason, refusal.fault) == (Reason.CREDENTIAL_UNAVAILABLE, Fault.MALFORMED)


@pytest.mark.parametrize("value", ["", None])
async def test_an_empty_field_is_none(kit: Kit, value: Any) -> None:
    """An empty password would be a surprise at the vendor."""
    kit.vault.secrets[place()] = {"password": value}
    assert (await kit.refusal()).reason is Reason.CREDENTIAL_MISSING


async def test_a_token_that_died_is_replaced_and_the_caller_does_not_notice(kit: Kit) -> None:
    """One look at it, one login, one more read."""
    await kit.source.start()
    kit.vault.tokens.clear()
    assert (await kit.source.resolve("acme", NAME)).reveal() == "hunter2-acme"
    assert kit.vault.asked == ["log_in", "read", "look_up", "log_in", "read"]


async def test_a_right_that_is_missing_costs_no_login(kit: Kit) -> None:
    """However often it is missed."""
    kit.vault.denied.add(place())
    for _ in range(5):
        assert (await kit.refusal()).fault is Fault.REFUSED
        kit.clock.advance(3)
    assert kit.vault.count("log_in") == 1


@pytest.mark.parametrize("trouble", [Trouble.TIMEOUT, Trouble.BUSY, Trouble.FAILED])
async def test_a_no_stands_when_nobody_can_say_what_it_was_for(kit: Kit, trouble: Trouble) -> None:
    """What was taken away is not used as if no server had answered."""
    await kit.source.resolve("acme", NAME)
    kit.vault.denied.add(place())

    async def look_up(_token: str) -> VaultToken:
        raise VaultFailed(trouble)

    kit.vault.look_up = look_up  # type: ignore[method-assign]
    kit.clock.advance(301)
    refusal = await kit.refusal()
    assert (refusal.reason, refusal.fault) == (Reason.CREDENTIAL_UNAVAILABLE, Fault.REFUSED)


async def test_tokens_that_may_not_look_at_themselves_cause_no_chain_of_logins(kit: Kit) -> None:
    """A second no, with a new token, was for what was asked."""
    kit.vault.may_look_up = False
    kit.vault.denied.add(place())
    for _ in range(5):
        assert (await kit.refusal()).fault is Fault.REFUSED
        kit.clock.advance(3)
    assert kit.vault.count("log_in") == 2


async def test_start_survives_a_vault_that_is_away(kit: Kit) -> None:
    """The first call logs in."""
    kit.vault.failure = Trouble.UNREACHABLE
    await kit.source.start()
    assert kit.source.status()[:3] == (False, "unreachable", None)
    kit.vault.failure = None
    kit.clock.advance(1)
    await kit.source.resolve("acme", NAME)
    assert kit.source.status()[:3] == (True, "", None)


async def test_the_status_says_how_long_the_token_lasts(kit: Kit) -> None:
    """In seconds."""
    kit.vault.token_seconds = 60.0
    await kit.source.start()
    kit.clock.advance(10)
    assert kit.source.status().token_seconds_left == 50.0


async def test_the_check_reads_what_calls_then_find(kit: Kit) -> None:
    """And gives sentences for what they would not."""
    report = await kit.source.check([("acme", f"vault:{NAME}"), ("acme", "vault:nowhere/x#y")])
    assert len(report.problems) == 1
    await kit.source.resolve("acme", NAME)
    assert kit.vault.count("read") == 1


async def test_stop_forgets_everything(kit: Kit) -> None:
    """And closes what is open."""
    await kit.source.resolve("acme", NAME)
    await kit.source.stop()
    assert kit.vault.is_closed
    assert kit.source.status().token_seconds_left is None


class TestReplacing:
    """What a vendor gave in a credential's place is written where that one is."""

    async def test_another_value_of_one_field(self, kit: Kit) -> None:
        """Which calls then get at once; the others stay."""
        kit.vault.secrets[place()]["port"] = 25
        old = await kit.source.resolve("acme", NAME)
        assert await kit.source.replace("acme", NAME, old, "hunter3-acme")
        assert kit.vault.secrets[place()] == {"password": "hunter3-acme", "port": 25}
        assert (await kit.source.resolve("acme", NAME)).reveal() == "hunter3-acme"
        assert (await kit.source.again("acme", NAME)).reveal() == "hunter3-acme"

    async def test_what_somebody_else_wrote_stays(self, kit: Kit) -> None:
        """However long ago ours was read."""
        old = await kit.source.resolve("acme", NAME)
        kit.vault.secrets[place()] = {"password": "theirs-acme"}
        assert not await kit.source.replace("acme", NAME, old, "hunter3-acme")
        assert (await kit.source.resolve("acme", NAME)).reveal() == "theirs-acme"

    async def test_it_is_read_again_past_the_cache(self, kit: Kit) -> None:
        """Another replica may have written."""
        await kit.source.resolve("acme", NAME)
        kit.vault.secrets[place()] = {"password": "hunter3-acme"}
        assert (await kit.source.resolve("acme", NAME)).reveal() == "hunter2-acme"
        assert (await kit.source.again("acme", NAME)).reveal() == "hunter3-acme"

    @pytest.mark.parametrize("work", ["again", "replace"])
    @pytest.mark.parametrize("trouble", [Trouble.TIMEOUT, Trouble.SEALED, Trouble.DENIED, Trouble.DELETED])
    async def test_a_vault_that_does_not_answer_or_says_no_is_a_refusal(
        self, kit: Kit, work: str, trouble: Trouble
    ) -> None:
        """Its words name nothing."""
        old = await kit.source.resolve("acme", NAME)
        kit.vault.failures = {"read": trouble, "write": trouble}
        with pytest.raises(Refusal) as caught:
            await (kit.source.again("acme", NAME) if work == "again" else kit.source.replace("acme", NAME, old, "x"))
        text = caught.value.message + "".join(traceback.format_exception(caught.value))
        assert not [part for part in ("hunter2", "smtp") if part in text]

    async def test_a_place_that_the_settings_do_not_know_is_none(self, kit: Kit) -> None:
        """For reading and for writing."""
        old = await kit.source.resolve("acme", NAME)
        for work in (kit.source.again("acme", "x/y#z"), kit.source.replace("acme", "x/y#z", old, "x")):
            with pytest.raises(Refusal) as caught:
                await work
            assert caught.value.reason is Reason.CREDENTIAL_NOT_ALLOWED
