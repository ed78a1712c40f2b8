"""The engine on a real OPA with a real bundle service."""

import asyncio
import io
import tarfile
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from fakes.opa import BUNDLE
from fakes.opa_bundles import built_of, engine_on, real_opa, until
from fakes.packs import document_json

from adapters.base import Fault
from gateway.call import DecisionEffect
from gateway.clients.opa import OpaClient, OpaFailed
from gateway.errors import Reason, Refusal
from gateway.policy.bundle.floor import FileFloor

POLICY = """default decision := {"effect": "deny", "reasons": [], "obligations": []}

decision := {"effect": "allow", "reasons": [], "obligations": []} if input.principal.tenant == "acme"
"""
INPUT = document_json()


async def test_g08_until_the_bundle_is_served_every_call_is_refused() -> None:
    """G08: OPA is up and has no policy; within 2 s of the bundle being served the engine is ready."""
    with real_opa(None) as opa:
        async with engine_on(opa) as engine:
            # OPA serves before it knows of its own bundles.
            await until(lambda: "is not active in OPA: bundle_error" in engine.status().problem)
            assert not engine.status().is_ready
            with pytest.raises(Refusal) as caught:
                await engine.decide(INPUT)
            assert (caught.value.reason, caught.value.fault) == (Reason.POLICY_NOT_LOADED, Fault.NOT_LOADED)
            opa.service.bundle = built_of(POLICY, "r1")
            assert await until(lambda: engine.status().is_ready) < 2.0
            decision = await engine.decide(INPUT)
            assert (decision.effect, decision.revision) == (DecisionEffect.ALLOW, "r1")


OLDEST, FIRST, NEXT = (f"202611{day}T141436Z-0123456789ab" for day in (28, 29, 30))


async def test_a_new_bundle_takes_over_and_an_older_one_does_not(tmp_path: Path) -> None:
    """Calls go on all the while; each decision names the revision that made it. The floor is the one of production."""
    with real_opa(built_of(POLICY, FIRST)) as opa:
        async with engine_on(opa, FileFloor(tmp_path / "floor")) as engine:
            await until(lambda: engine.status().is_ready)
            opa.service.bundle = built_of(POLICY, NEXT)
            seen = set()
            async with asyncio.timeout(5):
                while NEXT not in seen:
                    seen.add((await engine.decide(INPUT)).revision)
            assert seen == {FIRST, NEXT}
            opa.service.bundle = built_of(POLICY, OLDEST)
            await until(lambda: not engine.status().is_ready)
            with pytest.raises(Refusal) as caught:
                await engine.decide(INPUT)
            assert caught.value.reason is Reason.POLICY_NOT_LOADED
            assert f"revision {OLDEST}: it is not newer than {NEXT}" in engine.status().problem
        async with engine_on(opa, FileFloor(tmp_path / "floor")) as restarted:
            assert not restarted.status().is_ready


async def test_a_policy_that_allows_a_call_of_nobody_is_not_ready() -> None:
    """The self-test runs on the real thing too."""
    with real_opa(built_of('decision := {"effect": "allow", "reasons": [], "obligations": []}', "r1")) as opa:
        async with engine_on(opa) as engine:
            await until(lambda: "it allows a call of nobody" in engine.status().problem)
            assert not engine.status().is_ready


async def test_the_bundle_s_name_has_to_be_right() -> None:
    """OPA is fine, but not for the bundle that the settings name."""
    with real_opa(built_of(POLICY, "r1")) as opa:
        async with engine_on(opa, bundle="other") as engine:
            assert engine.status().problem.endswith("OPA's configuration does not name the bundle")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A file with a private key, and its public key."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    file = tmp_path_factory.mktemp("keys") / "private.pem"
    file.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return file, public.decode()


async def test_an_unsigned_or_tampered_bundle_leaves_the_old_one_active(keys: tuple[Path, str]) -> None:
    """OPA verifies; the status tells, and the old revision goes on."""
    private, public = keys
    signing = ("--signing-key", str(private))
    good = built_of(POLICY, "r1", *signing)
    with real_opa(good, public) as opa:
        async with engine_on(opa) as engine:
            await until(lambda: engine.status().is_ready)
            opa.service.bundle = built_of(POLICY, "r2")
            await until(lambda: "OPA has no newer bundle: bundle_error" in engine.status().problem)
            unsigned = engine.status().problem
            assert (await engine.decide(INPUT)).revision == "r1"
            opa.service.bundle = _tampered(built_of(POLICY, "r2", *signing))
            await until(lambda: engine.status().problem not in {"", unsigned})
            assert "OPA has no newer bundle: bundle_error" in engine.status().problem
            assert "digest" in engine.status().problem
            assert (await engine.decide(INPUT)).revision == "r1"
            opa.service.bundle = built_of(POLICY, "r3", *signing)
            await until(lambda: engine.revision == "r3")
            assert engine.status().problem == ""


def _tampered(bundle: bytes) -> bytes:
    """The same with another policy under the same signature."""
    changed = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(bundle)) as source, tarfile.open(fileobj=changed, mode="w:gz") as target:
        for member in source.getmembers():
            file = source.extractfile(member)
            raw = file.read() if file is not None else b""
            raw = raw.replace(b'"acme"', b'"evil"') if member.name.endswith(".rego") else raw
            member.size = len(raw)
            target.addfile(member, io.BytesIO(raw))
    return changed.getvalue()


async def test_an_error_of_an_evaluation_names_the_place() -> None:
    """And not the value: the operator's log says where to look."""
    with real_opa(
        built_of("decision := input.arguments.a if {true}\n\ndecision := input.arguments.b if {true}", "r1")
    ) as opa:
        client = OpaClient(opa.url, BUNDLE, timeout_seconds=1.0)
        async with asyncio.timeout(5):
            while not (await client.bundle(1.0)).revision:
                await client.check_health(1.0)
        with pytest.raises(OpaFailed) as caught:
            await client.decide(b'{"arguments":{"a":"s3cret","b":"other"}}')
        assert caught.value.fault is Fault.ERROR
        assert "eval_conflict_error at" in str(caught.value)
        assert "policy.rego" in str(caught.value)
        assert "s3cret" not in str(caught.value)
        await client.close()
