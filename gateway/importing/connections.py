"""The connection that a document's tools use: where the service is, and how it wants to know who asks."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from gateway.errors import StartError
from gateway.importing.operations import Described
from gateway.importing.pasted import shown_url
from gateway.importing.reasons import Inexpressible, Skipped
from gateway.importing.references import References, listed, mapping

Json = dict[str, Any]
_VARIABLE = re.compile(r"\{([^{}]{1,100})\}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedConnection:
    """The row, and what a person has to look at."""

    row: Json = field(repr=False)
    reviews: Mapping[str, str]
    """By the row's key."""


def connection_of(
    document: Mapping[str, Any],
    operations: Iterable[Described],
    references: References,
    *,
    name: str,
    tenant: str,
    base_url: str,
) -> ProposedConnection:
    """The connection. `base_url` takes the place of what the document says when it is not empty.

    Raises `StartError` when nobody says where the service is.
    """
    url = (base_url or _server(document)).rstrip("/")
    auth, why = _auth(document, operations, references)
    row: Json = {
        "name": name,
        "tenant": tenant,
        "vendor": "http_api",
        "hosts": [_host(url)],
        "credential": "",
        "options": {"base_url": url, **({"auth": auth} if auth else {})},
    }
    hint = "a reference that the settings allow, such as vault:kv/NAME#token"
    missing = f"{hint}; with `auth` in the options, if the service asks who calls"
    reviews = {"credential": hint if auth else missing, "options": why}
    return ProposedConnection(row=row, reviews=reviews)


def _server(document: Mapping[str, Any]) -> str:
    first = mapping(next(iter(listed(document.get("servers"))), None))
    url = first.get("url")
    if not isinstance(url, str) or not url or len(url) > 2000:
        raise StartError("the description does not say where the service is; give --base-url")
    values = {key: mapping(value).get("default") for key, value in mapping(first.get("variables")).items()}
    filled = _VARIABLE.sub(lambda match: str(values.get(match[1], match[0])), url)
    if "{" in filled or "://" not in filled:
        raise StartError(
            f"the description says {shown_url(filled)!r} of where the service is; give the whole as --base-url"
        )
    return filled


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host:
        raise StartError(f"{shown_url(url)!r} is no address of a service; give --base-url https://HOST/PATH")
    shown = f"[{host}]" if ":" in host and port is not None else host
    return shown if port is None else f"{shown}:{port}"


def _auth(
    document: Mapping[str, Any], operations: Iterable[Described], references: References
) -> tuple[Json | None, str]:
    """How the credential is sent, and what to look at. None when the document does not say it."""
    schemes = mapping(mapping(document.get("components")).get("securitySchemes"))
    asked = [sorted(mapping(one)) for one in _requirements(document, operations)] or [[name] for name in schemes][:1]
    for names in asked:
        found = [_scheme(name, schemes, references) for name in names]
        if len(found) == 1 and found[0] is not None:
            return found[0]
    if any(asked):
        return None, f"the description asks for {' and '.join(asked[0])[:100]}, which is to be set up by hand"
    return None, "the description names no way to authenticate"


def _requirements(document: Mapping[str, Any], operations: Iterable[Described]) -> Iterator[Any]:
    """What the whole document asks for, or else what most of its operations do."""
    whole = [one for one in listed(document.get("security"))[:20] if one]
    if whole:
        yield from whole
        return
    common: Counter[tuple[str, ...]] = Counter()
    for operation in operations:
        common.update(tuple(sorted(mapping(one))) for one in listed(operation.own.get("security"))[:20] if one)
    for names, _ in common.most_common(10):
        yield dict.fromkeys(names)


def _scheme(name: str, schemes: Mapping[str, Any], references: References) -> tuple[Json, str] | None:
    try:
        scheme = references.follow(schemes.get(name))
    except (Inexpressible, Skipped):
        return None
    kind, way = scheme.get("type"), str(scheme.get("scheme", "")).lower()
    shown = name[:64]
    if kind in ("oauth2", "openIdConnect"):
        return {"kind": "bearer"}, f"{shown} is OAuth 2: the credential has to be an access token"
    if kind == "http" and way in ("bearer", "basic"):
        hint = "; the credential is NAME:PASSWORD" if way == "basic" else ""
        return {"kind": way}, f"as {shown} says{hint}"
    key = scheme.get("name")
    if kind != "apiKey" or not isinstance(key, str) or not _HEADER.fullmatch(key):
        return None
    if scheme.get("in") not in ("header", "query"):
        return None
    return {"kind": scheme["in"], "name": key}, f"as {shown} says"
