"""Step 11: who may use which credential for which hosts."""

import asyncio
import traceback

import pytest
from fakes.credentials import FakeLender, FakeSource

from adapters.base import Secret
from gateway.credentials.resolver import Resolver
from gateway.errors import Reason, Refusal
from gateway.settings.parts import CredentialGrant

GRANTS = (
    CredentialGrant(tenant="acme", references=("env:ACME_*",), hosts=("smtp.acme.example:587",)),
    CredentialGrant(tenant="acme", references=("env:SHARED",), hosts=("*.shared.example",)),
    CredentialGrant(tenant="other", references=("env:OTHER_*",), hosts=("smtp.other.example",)),
)
HOSTS = ("smtp.acme.example:587",)


def resolver(source: FakeSource | None = None) -> Resolver:
    """A resolver over one source that has a value for every name of these tests."""
    names = ("ACME_SMTP", "SHARED", "OTHER_SMTP", "VAULT_TOKEN")
    return Resolver({"env": source or FakeSource(dict.fromkeys(names, "s3cr3t-value"))}, GRANTS)


async def resolved(one: Resolver, reference: str, hosts: tuple[str, ...] = HOSTS, tenant: str = "acme") -> Secret:
    """What an adapter gets."""
    return (await one.lend(tenant, reference, hosts, seconds=5.0)).secrets[0]


async def refusal(tenant: str, reference: str, hosts: tuple[str, ...]) -> Refusal:
    """What resolving ends with; it names neither reference nor host."""
    with pytest.raises(Refusal) as caught:
        await resolved(resolver(), reference, hosts, tenant)
    assert "ACME" not in caught.value.message
    assert "example" not in caught.value.message
    return caught.value


async def test_a_granted_reference_resolves() -> None:
    """Again and again, each time to a secret of the caller's own."""
    one = resolver()
    for _ in range(3):
        secret = await resolved(one, "env:ACME_SMTP")
        assert secret.reveal() == "s3cr3t-value"
        secret.drop()


@pytest.mark.parametrize(
    ("tenant", "reference", "hosts"),
    [
        ("acme", "env:VAULT_TOKEN", HOSTS),
        ("acme", "env:OTHER_SMTP", ("smtp.other.example",)),
        ("other", "env:ACME_SMTP", HOSTS),
        ("nobody", "env:ACME_SMTP", HOSTS),
        ("acme", "env:ACME_SMTP", ("evil.test",)),
        ("acme", "env:ACME_SMTP", (*HOSTS, "evil.test")),
        ("acme", "env:ACME_SMTP", ("smtp.acme.example",)),
        ("acme", "env:ACME_SMTP", ("a.shared.example",)),
        ("acme", "env:ACME_SMTP", ()),
        ("acme", "file:/run/secrets/x", HOSTS),
        ("acme", "env:ACME_*", HOSTS),
        ("acme", "file:/run/../x", HOSTS),
        ("acme", "hunter2-pasted", HOSTS),
        ("acme", "", HOSTS),
    ],
)
async def test_what_no_single_grant_covers_is_not_allowed(tenant: str, reference: str, hosts: tuple[str, ...]) -> None:
    """One grant must allow the reference and every host; two halves do not make a whole."""
    assert (await refusal(tenant, reference, hosts)).reason is Reason.CREDENTIAL_NOT_ALLOWED


async def test_a_refused_reference_is_never_asked_for() -> None:
    """Not even whether it exists."""
    source = FakeSource({"VAULT_TOKEN": "s3cr3t-value"})
    with pytest.raises(Refusal):
        await resolved(resolver(source), "env:VAULT_TOKEN")
    assert source.asked == []


async def test_the_source_is_told_the_tenant() -> None:
    """Where a tenant's secrets are is for the source to know."""
    source = FakeSource({"ACME_SMTP": "s3cr3t-value"})
    await resolved(resolver(source), "env:ACME_SMTP")
    assert source.tenants == ["acme"]


async def test_a_yes_for_some_hosts_is_no_yes_for_others() -> None:
    """Decisions are remembered for exactly what was asked."""
    one = resolver()
    await resolved(one, "env:ACME_SMTP")
    with pytest.raises(Refusal):
        await resolved(one, "env:ACME_SMTP", ("evil.test",))


async def test_missing_passes_through() -> None:
    """The source says so."""
    with pytest.raises(Refusal) as caught:
        await resolved(resolver(FakeSource()), "env:ACME_SMTP")
    assert caught.value.reason is Reason.CREDENTIAL_MISSING


@pytest.mark.parametrize("value", ["", "a", "abc"])
async def test_a_secret_that_is_too_short_to_scrub_is_unavailable(value: str) -> None:
    """It could not be taken out of a result."""
    with pytest.raises(Refusal) as caught:
        await resolved(resolver(FakeSource({"ACME_SMTP": value})), "env:ACME_SMTP")
    assert caught.value.reason is Reason.CREDENTIAL_UNAVAILABLE


async def test_a_source_that_breaks_its_contract_is_unavailable() -> None:
    """And what it said goes nowhere: it may hold the secret."""
    source = FakeSource()
    source.failure = ValueError("cannot parse s3cr3t-value")
    with pytest.raises(Refusal) as caught:
        await resolved(resolver(source), "env:ACME_SMTP")
    assert caught.value.reason is Reason.CREDENTIAL_UNAVAILABLE
    assert "s3cr3t" not in "".join(traceback.format_exception(caught.value))


async def test_cancellation_passes() -> None:
    """It is the caller's, not a failure of the source."""
    source = FakeSource()
    source.failure = asyncio.CancelledError()
    with pytest.raises(asyncio.CancelledError):
        await resolved(resolver(source), "env:ACME_SMTP")


LENT = ('{"password":"hunter2","username":"v-user"}', "hunter2", "v-user")
LENDING = (CredentialGrant(tenant="acme", references=("vault-dynamic:db/acme-*", "env:ACME_*"), hosts=HOSTS),)


def lending(lender: FakeLender) -> Resolver:
    """A resolver over one source and one lender."""
    return Resolver({"env": FakeSource({"ACME_SMTP": "s3cr3t-value"})}, LENDING, {"vault-dynamic": lender})


async def test_what_is_lent_has_a_lease_and_ends() -> None:
    """Asked for as long as the invocation may take."""
    lender = FakeLender({"db/acme-ro": LENT})
    lent = await lending(lender).lend("acme", "vault-dynamic:db/acme-ro", HOSTS, seconds=7.5)
    assert tuple(secret.reveal() for secret in lent.secrets) == LENT
    assert (lent.lease_id, lender.open, lender.seconds) == ("db/acme-ro/1", ["db/acme-ro/1"], [7.5])
    lent.end()
    lent.end()
    assert lender.ended == ["db/acme-ro/1"]
    assert {secret.reveal() for secret in lent.secrets} == {""}


async def test_what_is_kept_is_lent_without_a_lease() -> None:
    """One secret, and its end is nothing but forgetting it."""
    lent = await lending(FakeLender()).lend("acme", "env:ACME_SMTP", HOSTS, seconds=5.0)
    (secret,) = lent.secrets
    assert (secret.reveal(), lent.lease_id) == ("s3cr3t-value", "")
    lent.end()
    assert secret.reveal() == ""


@pytest.mark.parametrize(
    ("tenant", "reference", "hosts"),
    [
        ("other", "vault-dynamic:db/acme-ro", HOSTS),
        ("acme", "vault-dynamic:db/other-ro", HOSTS),
        ("acme", "vault-dynamic:db/acme-ro", ("evil.example",)),
        ("acme", "vault-dynamic:db/acme-ro", ()),
        ("acme", "vault-dynamic:db/../db/acme-ro", HOSTS),
        ("acme", "vault:db/acme-ro#x", HOSTS),
    ],
)
async def test_grants_hold_for_what_is_lent(tenant: str, reference: str, hosts: tuple[str, ...]) -> None:
    """The lender is not asked."""
    lender = FakeLender({"db/acme-ro": LENT, "db/other-ro": LENT})
    with pytest.raises(Refusal) as caught:
        await lending(lender).lend(tenant, reference, hosts, seconds=5.0)
    assert caught.value.reason is Reason.CREDENTIAL_NOT_ALLOWED
    assert lender.seconds == []


async def test_a_lent_credential_with_a_part_too_short_to_be_found_is_given_back() -> None:
    """It could not be kept out of results."""
    lender = FakeLender({"db/acme-ro": ('{"username":"ro"}', "ro")})
    with pytest.raises(Refusal) as caught:
        await lending(lender).lend("acme", "vault-dynamic:db/acme-ro", HOSTS, seconds=5.0)
    assert caught.value.reason is Reason.CREDENTIAL_UNAVAILABLE
    assert lender.ended == ["db/acme-ro/1"]


async def test_a_lender_that_breaks_its_contract_is_a_refusal_without_its_words() -> None:
    """They may hold the secret."""
    lender = FakeLender()
    lender.failure = RuntimeError("hunter2")
    with pytest.raises(Refusal) as caught:
        await lending(lender).lend("acme", "vault-dynamic:db/acme-ro", HOSTS, seconds=5.0)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.reason is Reason.CREDENTIAL_UNAVAILABLE


class WritableSource(FakeSource):
    """What is there now may differ from what is told."""

    def __init__(self, told: dict[str, str], now: dict[str, str]) -> None:
        super().__init__(told)
        self.now = now
        self.tenant = ""

    async def again(self, tenant: str, name: str) -> Secret:
        """What is there now."""
        self.tenant = tenant
        return Secret(self.now[name])

    async def replace(self, tenant: str, name: str, old: Secret, new: str) -> bool:
        """Check and set."""
        self.tenant = tenant
        if self.failure is not None:
            raise self.failure
        is_old = self.now[name] == old.reveal()
        self.now[name] = new if is_old else self.now[name]
        return is_old


class TestAgainAndReplace:
    """Reading and writing anew is for whom using is for."""

    def made(self) -> tuple[Resolver, WritableSource]:
        """A resolver over one that can be written and one that cannot."""
        source = WritableSource({"ACME_SMTP": "told-before"}, {"ACME_SMTP": "there-now", "OTHER_SMTP": "others-now"})
        grants = (*GRANTS, CredentialGrant(tenant="acme", references=("file:/run/*", "made:*"), hosts=HOSTS))
        sources = {"env": source, "file": FakeSource({"/run/x": "in-a-file"})}
        return Resolver(sources, grants, {"made": FakeLender({"x": ("lent-value",)})}), source

    async def test_what_is_there_now(self) -> None:
        """Where a source knows no other way, what it tells is that; what is made for each call is none."""
        one, source = self.made()
        now = await one.again("acme", "env:ACME_SMTP", HOSTS)
        filed = await one.again("acme", "file:/run/x", HOSTS)
        assert now is not None
        assert filed is not None
        assert (now.reveal(), filed.reveal(), source.tenant) == ("there-now", "in-a-file", "acme")
        assert await one.again("acme", "made:x", HOSTS) is None

    async def test_another_in_its_place(self) -> None:
        """If it still is the one that it replaces."""
        one, source = self.made()
        assert await one.replace("acme", "env:ACME_SMTP", HOSTS, (Secret("there-now"), "newer"))
        assert not await one.replace("acme", "env:ACME_SMTP", HOSTS, (Secret("there-now"), "newest"))
        assert source.now["ACME_SMTP"] == "newer"

    def test_which_can_be_written(self) -> None:
        """A source that can; whatever is no reference cannot."""
        one, _ = self.made()
        references = ("env:ACME_SMTP", "file:/run/x", "made:x", "vault:x/y#z", "", "env")
        assert [one.may_replace(reference) for reference in references] == [True, False, False, False, False, True]

    @pytest.mark.parametrize(
        ("tenant", "reference", "hosts"),
        [
            ("acme", "env:OTHER_SMTP", HOSTS),
            ("other", "env:ACME_SMTP", HOSTS),
            ("acme", "env:ACME_SMTP", ("evil.test",)),
            ("acme", "env:ACME_SMTP", ()),
            ("acme", "not a reference", HOSTS),
        ],
    )
    async def test_who_may_not_use_it_may_neither_read_nor_write(
        self, tenant: str, reference: str, hosts: tuple[str, ...]
    ) -> None:
        """By the same grants."""
        one, source = self.made()
        before = dict(source.now)
        for work in (one.again(tenant, reference, hosts), one.replace(tenant, reference, hosts, (Secret("x"), "y"))):
            with pytest.raises(Refusal) as caught:
                await work
            assert caught.value.reason is Reason.CREDENTIAL_NOT_ALLOWED
        assert source.now == before

    async def test_what_cannot_be_written_is_not(self) -> None:
        """A file, for instance."""
        one, _ = self.made()
        with pytest.raises(Refusal):
            await one.replace("acme", "file:/run/x", HOSTS, (Secret("in-a-file"), "other"))

    async def test_a_source_that_breaks_is_a_refusal_without_its_words(self) -> None:
        """They may hold the secret."""
        one, source = self.made()
        secret = source.now["ACME_SMTP"]
        source.failure = RuntimeError(secret)
        with pytest.raises(Refusal) as caught:
            await one.replace("acme", "env:ACME_SMTP", HOSTS, (Secret(secret), "newer"))
        assert secret not in "".join(traceback.format_exception(caught.value))
