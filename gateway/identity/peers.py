"""Which principal a certificate's names stand for."""

import re
from collections.abc import Callable

from gateway.call import Principal
from gateway.errors import StartError
from gateway.identity.certificates import Certificate, CertificateUnusable
from gateway.identity.principal import build_principal
from gateway.identity.spiffe import SCHEME, claims_spiffe, wrong_spiffe_id
from gateway.settings.listeners import Peer

PLACEHOLDERS = ("{tenant}", "{agent}")
MAX_CAPTURED = 64
"""Characters of a tenant or agent that a SPIFFE id names; settings and registry allow no longer ones."""

Fit = Callable[[Certificate], Principal | None]
"""The principal that a peer makes of a certificate; None when the certificate is not this peer's."""


def fit_of(peer: Peer) -> Fit:
    """What tells this peer's certificates. Raises `StartError` when the peer contradicts itself."""
    if wrong := _wrong(peer):
        raise StartError(f"the peer {peer.san} cannot be used: {wrong}")
    kind, _, rest = peer.san.partition(":")
    if kind == "spiffe":
        return _spiffe(peer) if _used(peer.san) else _exact(peer, lambda certificate: certificate.uris, peer.san)
    if kind == "dns":
        return _exact(peer, lambda certificate: tuple(map(str.lower, certificate.dns)), rest.lower())
    return _exact(peer, lambda certificate: certificate.uris, rest)


def check_names(certificate: Certificate) -> None:
    """Raises `CertificateUnusable` when a SPIFFE id is there and is not alone, or is none (X509-SVID, 2 and 5.2)."""
    if not any(map(claims_spiffe, certificate.uris)):
        return
    if len(certificate.uris) != 1:
        raise CertificateUnusable("the certificate has a SPIFFE id and more URIs beside it")
    if wrong_spiffe_id(certificate.uris[0]):
        raise CertificateUnusable("the certificate's SPIFFE id is not one")


def _exact(peer: Peer, names: Callable[[Certificate], tuple[str, ...]], wanted: str) -> Fit:
    principal = _principal(peer, peer.tenant, peer.agent, peer.san)
    return lambda certificate: principal if wanted in names(certificate) else None


def _spiffe(peer: Peer) -> Fit:
    pattern = _pattern(peer.san)

    def fit(certificate: Certificate) -> Principal | None:
        found = pattern.fullmatch(certificate.uris[0]) if certificate.uris else None
        if found is None:
            return None
        named = found.groupdict()
        return _principal(peer, named.get("tenant", peer.tenant), named.get("agent", peer.agent), found.group())

    return fit


def _pattern(san: str) -> re.Pattern[str]:
    return re.compile("/".join(map(_segment, san.split("/"))))


def _segment(part: str) -> str:
    return f"(?P<{part[1:-1]}>[A-Za-z0-9._-]{{1,{MAX_CAPTURED}}})" if part in PLACEHOLDERS else re.escape(part)


def _principal(peer: Peer, tenant: str, agent: str, san: str) -> Principal:
    return build_principal(
        tenant=tenant,
        id=peer.principal or agent,
        kind=peer.principal_kind,
        agent=agent,
        scopes=frozenset(peer.scopes),
        roles=frozenset(peer.roles),
        claims={"san": san},
        proof="mtls",
    )


def _used(san: str) -> tuple[str, ...]:
    """The placeholders that are segments of this SPIFFE id, in their order."""
    return tuple(part for part in san.split("/") if part in PLACEHOLDERS)


def _wrong(peer: Peer) -> str:
    """Why this peer cannot be used; empty when it can."""
    if peer.san.startswith(SCHEME):
        return _wrong_spiffe(peer)
    if claims_spiffe(peer.san.removeprefix("uri:")):
        return "write a SPIFFE id as spiffe://TRUST-DOMAIN/PATH, so that its rules are kept"
    if any("{" in text for text in (peer.san, peer.tenant, peer.agent, peer.principal)):
        return "{tenant} and {agent} stand for segments of a SPIFFE id, and this is none"
    return ""


def _wrong_spiffe(peer: Peer) -> str:
    used = _used(peer.san)
    scheme, _, domain, *path = peer.san.split("/")
    if wrong := wrong_spiffe_id("/".join([scheme, "", domain, *("x" if part in used else part for part in path)])):
        return f"{wrong}, or be {{tenant}} or {{agent}} as a whole segment"
    if len(set(used)) != len(used):
        return "each of {tenant} and {agent} may stand in it once"
    for placeholder, value in (("{tenant}", peer.tenant), ("{agent}", peer.agent)):
        if (placeholder in used) != (value == placeholder):
            return f"{placeholder} must be written both in san and as {placeholder[1:-1]}, or in neither"
        if "{" in value and value != placeholder:
            return f"{placeholder[1:-1]} may be {placeholder} as a whole, and hold no other braces"
    return "principal may hold no braces" if "{" in peer.principal else ""
