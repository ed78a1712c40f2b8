"""SPIFFE ids, as the standards SPIFFE-ID and X509-SVID write them."""

import re

SCHEME = "spiffe://"
MAX_CHARACTERS = 2048
MAX_DOMAIN_CHARACTERS = 255

_DOMAIN = re.compile(r"[a-z0-9._-]+")
_SEGMENT = re.compile(r"[A-Za-z0-9._-]+")


def claims_spiffe(uri: str) -> bool:
    """Whether this URI wants to be a SPIFFE id, however badly written."""
    return uri[:7].lower() == "spiffe:"


def wrong_spiffe_id(uri: str) -> str:
    """Why this is not the SPIFFE id of a workload; empty when it is.

    Lower case is demanded, though the standard has readers fold it: what is written in two ways is matched in
    one and logged in another.
    """
    if not uri.startswith(SCHEME):
        return "it must start with spiffe:// in lower case"
    if len(uri) > MAX_CHARACTERS:
        return f"it is longer than {MAX_CHARACTERS} characters"
    domain, *segments = uri.removeprefix(SCHEME).split("/")
    if len(domain) > MAX_DOMAIN_CHARACTERS or not _DOMAIN.fullmatch(domain):
        return "its trust domain may hold lower-case letters, digits, '.', '-' and '_', and no user or port"
    if not segments:
        return "it names a trust domain and nobody in it"
    if any(segment in (".", "..") or not _SEGMENT.fullmatch(segment) for segment in segments):
        return "its path may hold segments of letters, digits, '.', '-' and '_', none of them empty, '.' or '..'"
    return ""
