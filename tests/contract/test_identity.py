"""What every authenticator promises: a principal with its policy view, or `Unauthenticated`."""

import time

import orjson
import pytest
from fakes.tokens import AUDIENCE, ISSUER, Issuer

from gateway.call import CallerKind
from gateway.clock import SystemClock
from gateway.identity.fixed import FixedAuthenticator
from gateway.identity.jwt import JwtAuthenticator
from gateway.identity.principal import build_principal
from gateway.settings.listeners import JwtIdentity


def fixed(tmp_path):
    """A fixed authenticator and metadata that it accepts."""
    principal = build_principal(
        tenant="acme",
        id="run-7",
        kind=CallerKind.AGENT,
        agent="helper",
        scopes=frozenset({"web:read", "mail:send"}),
        roles=frozenset({"assistant"}),
        claims={},
        proof="socket",
    )
    return FixedAuthenticator(principal), ()


def token(tmp_path):
    """A token authenticator and metadata that it accepts."""
    issuer = Issuer()
    settings = JwtIdentity(
        kind="jwt", issuer=ISSUER, audience=AUDIENCE, jwks_file=issuer.publish(tmp_path / "jwks.json")
    )
    metadata = (("authorization", f"Bearer {issuer.token(now=time.time())}"),)
    return JwtAuthenticator(settings, SystemClock()), metadata


@pytest.mark.parametrize("build", [fixed, token])
def test_a_proven_caller_is_a_whole_principal(build, tmp_path):
    """Tenant, id, agent, scopes and roles come from the proof, and policy sees exactly these."""
    authenticator, metadata = build(tmp_path)
    principal = authenticator.authenticate(metadata)
    seen = orjson.loads(principal.policy_json)
    assert (principal.tenant, principal.id, principal.agent) == ("acme", "run-7", "helper")
    assert principal.scopes == {"web:read", "mail:send"}
    assert seen["scopes"] == ["mail:send", "web:read"]
    assert seen["proof"] == principal.proof


@pytest.mark.parametrize("build", [fixed, token])
def test_a_request_cannot_say_who_it_is(build, tmp_path):
    """Metadata that claims a tenant or an agent changes nothing."""
    authenticator, metadata = build(tmp_path)
    claimed = (*metadata, ("tenant", "other"), ("agent", "root"), ("x-forwarded-user", "admin"))
    assert authenticator.authenticate(claimed) == authenticator.authenticate(metadata)
