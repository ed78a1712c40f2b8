"""One connection to a service: the headers that it sets, and how its credential is sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from adapters.base import AdapterError, ErrorKind, Happened, Target
from adapters.http_api.names import alike, is_value, read_name
from adapters.http_api.options import Issues, Part

OPTIONS = ("auth", "headers")
"""Beside `base_url`."""
MAX_BASE_URL = 512
KINDS = ("bearer", "basic", "header", "query")
_ROWS = ("content-type", "range")
"""What says of one request what its body is, or which part of the answer is wanted."""
_KEYS = {"header": ("name", "form"), "query": ("name",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Auth:
    """How the credential is sent: as a bearer token, as NAME:PASSWORD of basic authentication, in a header of its own,
    or in the query.
    """

    kind: str
    name: str = ""
    form: str = "{}"
    """Of a header: the credential stands in the place of `{}`."""

    @property
    def header(self) -> str:
        """The header that the credential goes into; empty when it goes into the query."""
        return {"header": self.name, "query": ""}.get(self.kind, "Authorization")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a connection's options say beside where the service is."""

    auth: Auth | None
    headers: Mapping[str, str] = field(repr=False)
    """In every request."""

    @property
    def header_names(self) -> frozenset[str]:
        """What the connection says alone, whatever a row says, as servers tell names apart."""
        return frozenset(map(alike, (*self.headers, "" if self.auth is None else self.auth.header))) - {""}


def account_of(target: Target) -> Account:
    """The account. Raises `AdapterError` for options that `problems_of` has something to say about."""
    issues: Issues = []
    account = _read(target, issues)
    if issues:
        message = "The connection's options cannot be used; its operator has to correct them."
        raise AdapterError(ErrorKind.NEEDS_AUTHORISATION, message, happened=Happened.NO)
    return account


def problems_of(target: Target) -> list[str]:
    """A sentence for each thing wrong with the options that are read here."""
    issues: Issues = []
    _read(target, issues)
    problems = [f"options: {issue.path[1:]}: {issue.message}" for issue in issues]
    if len(str(target.options.get("base_url", ""))) > MAX_BASE_URL:
        problems.append(f"options: base_url must have at most {MAX_BASE_URL} characters")
    return problems


def _read(target: Target, issues: Issues) -> Account:
    part = Part(target.options, "", issues)
    auth = _auth(part.part("auth")) if part.has("auth") else None
    return Account(auth=auth, headers=_headers(part.part("headers")) if part.has("headers") else {})


def _auth(part: Part) -> Auth:
    kind = part.choice("kind", KINDS)
    part.only("kind", *_KEYS.get(kind, ()))
    name, form = "", "{}"
    if kind in _KEYS:
        name = part.text("name")
    if kind == "header":
        name = read_name(part, "name", name, is_proof=True) if name else ""
        form = part.text("form", "{}")
        if form.count("{}") != 1 or not is_value(form):
            part.problem("form", "form", "Must be one line of printable ASCII with `{}` where the credential goes.")
    if kind == "query" and not (name.isascii() and name.isprintable()):
        part.problem("name", "name", "Must be printable ASCII.")
    return Auth(kind=kind, name=name, form=form)


def _headers(part: Part) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name in part.raw:
        value = part.text(str(name))
        written = read_name(part, str(name), str(name))
        if not is_value(value):
            part.problem(str(name), "header", "Must be one line of printable ASCII.")
        if alike(written) in _ROWS:
            part.problem(
                str(name), "forbidden", f"The header {written} belongs to one request; give it in the tool's row."
            )
        if alike(written) in map(alike, headers):
            part.problem(str(name), "twice", "This header is set twice.")
        headers[written] = value
    return headers
