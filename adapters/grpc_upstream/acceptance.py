"""Whether a service still publishes what somebody has accepted: looked up once in a while, by one call at a time."""

import asyncio

from adapters.base import AdapterError, Clock, ErrorKind, Happened
from adapters.grpc_upstream.channels import Channel
from adapters.grpc_upstream.closure import closure_of, digest_of
from adapters.grpc_upstream.files import BadDescriptors, Files
from adapters.grpc_upstream.metadata import Metadata
from adapters.grpc_upstream.methods import Method
from adapters.grpc_upstream.reflection import Conversation, ask

BELIEVED_SECONDS = 180.0
"""How long a look is good for. A channel that is opened anew looks anew."""


async def check_accepted(channel: Channel, method: Method, metadata: Metadata, clock: Clock, seconds: float) -> None:
    """Nothing, when the service publishes the method as it is pinned.

    Raises `AdapterError`, all of it before the method was called: `changed` when it publishes something else or
    nothing; what looking raises.
    """
    name = str(method.name)
    published = _remembered(channel, name, clock)
    if published is None:
        async with channel.look:
            published = _remembered(channel, name, clock)  # somebody else may have looked meanwhile
            if published is None:
                published = await _look(channel, method, metadata, seconds)
                channel.digests[name] = published, clock.monotonic() + BELIEVED_SECONDS
    if published != method.digest:
        raise _changed()


def _remembered(channel: Channel, name: str, clock: Clock) -> str | None:
    digest, until = channel.digests.get(name, ("", 0.0))
    return digest if clock.monotonic() < until else None


async def _look(channel: Channel, method: Method, metadata: Metadata, seconds: float) -> str:
    async def files(conversation: Conversation) -> Files:
        return await conversation.files([method.name.service])

    found = await ask(channel.raw, metadata, seconds, files)
    return await asyncio.to_thread(_digest, found, method)


def _digest(files: Files, method: Method) -> str:
    """The digest of what is published; empty when the method is not, or cannot be used."""
    try:
        return digest_of(closure_of(files, method.name))
    except BadDescriptors:
        return ""


def _changed() -> AdapterError:
    message = "The service has changed what this tool calls since it was accepted; an operator has to look at it."
    return AdapterError(ErrorKind.CHANGED, message, happened=Happened.NO)
