"""One question to Linear, and the one field of its answer that was asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from adapters.base import ErrorKind, Happened, Invocation
from adapters.linear.documents import Document
from adapters.transport.api import Api
from adapters.transport.calls import Call
from adapters.transport.replies import Reply

PATH = "/graphql"
NOT_FOUND = "Linear knows nothing by this id, or hides it from the connection's account; look the id up first."


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back for a document's root field. `value` is None when Linear has no such thing."""

    value: Any = field(repr=False)
    reply: Reply = field(repr=False)


async def ask(api: Api, invocation: Invocation, document: Document, variables: Mapping[str, Any]) -> Answer:
    """The answer. Raises `AdapterError`; an answer without data to a write may hide that it was done."""
    body = {"query": document.text, "operationName": document.name, "variables": dict(variables)}
    call = Call(method="POST", path=PATH, json=body, is_read=document.is_read)
    reply = await api.ask(invocation, call, limit=document.root)
    data = reply.value.get("data") if isinstance(reply.value, Mapping) else None
    if not isinstance(data, Mapping) or document.root not in data:
        unreadable(reply)
    return Answer(value=data[document.root], reply=reply)


async def ask_for(api: Api, invocation: Invocation, document: Document, variables: Mapping[str, Any]) -> Answer:
    """The answer, when there is something. Raises `AdapterError`, `not_found` when there is nothing."""
    answer = await ask(api, invocation, document, variables)
    if answer.value is None:
        raise answer.reply.error(ErrorKind.NOT_FOUND, NOT_FOUND)
    return answer


async def carry_out(
    api: Api, invocation: Invocation, document: Document, variables: Mapping[str, Any], entity: str
) -> Answer:
    """What a mutation made or changed, when Linear says that it succeeded. Raises `AdapterError`."""
    answer = await ask(api, invocation, document, variables)
    payload = answer.value if isinstance(answer.value, Mapping) else {}
    made = payload.get(entity)
    if payload.get("success") is False and made is None:
        message = "Linear says that it did not do this, and not why; check the arguments, then try once more."
        raise answer.reply.error(ErrorKind.INVALID, message, happened=Happened.NO)
    if payload.get("success") is not True:
        unreadable(answer.reply)
    return Answer(value=made, reply=answer.reply)


def unreadable(reply: Reply, *, is_done: bool = False) -> NoReturn:
    """Raise what an answer is that lacks what it must have. It proves nothing of a write, unless that `is_done`: by
    this answer, or as this answer to a question says.
    """
    doubtful = Happened.UNKNOWN if reply.happened is Happened.YES else reply.happened
    happened = Happened.YES if is_done else doubtful
    raise reply.error(ErrorKind.MALFORMED, "Linear's answer lacks what it should have.", happened=happened)
