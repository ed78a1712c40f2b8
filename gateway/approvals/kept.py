"""What is kept of a parked call, as bytes and back. All of it is sealed before it is kept.

The principal is kept as policy saw it, which holds every field of one; the request as it was asked.
"""

import base64
import binascii
import json
from dataclasses import dataclass, field
from typing import Any

from gateway.approvals.base import Parked, Terms
from gateway.call import CallerKind, Principal, Request, Surface
from gateway.errors import PolicyReason
from gateway.store.unknowns import account_of

FORMAT = 1


class KeptUnreadable(Exception):  # noqa: N818 - named for what it is
    """These are not the bytes of a parked call. Holds nothing of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What would run, and why policy asks."""

    request: Request
    canonical: bytes = field(repr=False)
    """The prepared arguments."""
    reasons: tuple[PolicyReason, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What may be told of an approval without opening a seal."""

    terms: Terms
    risk: str
    codes: tuple[str, ...]
    """Of policy's reasons; their words may quote the arguments."""
    account: str
    """Whom the call is to be asked of; empty where an earlier version did not keep it."""


def asked_of(parked: Parked) -> bytes:
    """What would run."""
    request = parked.request
    return json.dumps(
        {
            "format": FORMAT,
            "request": {
                "tool": request.tool,
                "arguments": _text(request.arguments_json),
                "key": request.idempotency_key,
                "run_id": request.run_id,
                "step_id": request.step_id,
                "mode": request.mode,
                "surface": request.surface.value,
            },
            "canonical": _text(parked.arguments.canonical),
            "reasons": [[each.code, each.message, each.advice] for each in parked.decision.reasons],
        }
    ).encode()


def read_asked(raw: bytes) -> Asked:
    """The same again. Raises `KeptUnreadable`."""
    try:
        kept = json.loads(raw)
        if kept["format"] != FORMAT:
            raise KeptUnreadable("a parked call of another format")
        return Asked(
            request=_request(kept["request"]),
            canonical=_bytes(kept["canonical"]),
            reasons=tuple(PolicyReason(code=code, message=words, advice=do) for code, words, do in kept["reasons"]),
        )
    except (ValueError, KeyError, TypeError, binascii.Error):
        raise KeptUnreadable("not a parked call") from None  # the error would quote it


def read_principal(raw: bytes) -> Principal:
    """The principal from policy's view of it. Raises `KeptUnreadable`."""
    try:
        kept = json.loads(raw)
        return Principal(
            tenant=kept["tenant"],
            id=kept["id"],
            kind=CallerKind(kept["kind"]),
            agent=kept["agent"],
            scopes=frozenset(kept["scopes"]),
            roles=frozenset(kept["roles"]),
            claims=kept["claims"],
            proof=kept["proof"],
            policy_json=raw,
        )
    except (ValueError, KeyError, TypeError):
        raise KeptUnreadable("not a principal") from None


def question(parked: Parked, terms: Terms) -> bytes:
    """What may be told without opening a seal."""
    return json.dumps(
        {
            "roles": terms.roles,
            "count": terms.count,
            "expires_in_seconds": terms.expires_in_seconds,
            "risk": parked.tool.risk.value,
            "codes": [reason.code for reason in parked.decision.reasons],
            "account": account_of(parked.tool.binding, parked.connection),
        }
    ).encode()


def read_question(raw: bytes) -> Question:
    """The same again. Raises `KeptUnreadable`."""
    try:
        kept = json.loads(raw)
        terms = Terms(roles=tuple(kept["roles"]), count=kept["count"], expires_in_seconds=kept["expires_in_seconds"])
        account = str(kept.get("account", ""))
        return Question(terms=terms, risk=kept["risk"], codes=tuple(kept["codes"]), account=account)
    except (ValueError, KeyError, TypeError):
        raise KeptUnreadable("not the terms of an approval") from None


def _request(kept: dict[str, Any]) -> Request:
    return Request(
        tool=kept["tool"],
        arguments_json=_bytes(kept["arguments"]),
        idempotency_key=kept["key"],
        run_id=kept["run_id"],
        step_id=kept["step_id"],
        mode=kept["mode"],
        surface=Surface(kept["surface"]),
    )


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
