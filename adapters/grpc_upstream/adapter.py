"""gRPC services: one unary method of an internal service is one tool, by a row.

What a row pins are the method's descriptors, so that arguments are judged and written without asking anybody. Before a
call the adapter knows that the service still publishes the same.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from google.protobuf.message import DecodeError, Message

from adapters.base import (
    AdapterError,
    ArgumentIssue,
    ArgumentProblem,
    Clock,
    ErrorKind,
    Fault,
    Happened,
    Invocation,
    Operation,
    Output,
    SideEffect,
    Target,
)
from adapters.grpc_upstream import metadata
from adapters.grpc_upstream.answers import TooManyParts, write_message
from adapters.grpc_upstream.arguments import read_message
from adapters.grpc_upstream.binding import Binding, read_binding
from adapters.grpc_upstream.calling import Call, Caller, unreadable
from adapters.grpc_upstream.channels import Channels
from adapters.grpc_upstream.connection import BadTarget, Connection, read_connection
from adapters.grpc_upstream.files import BadDescriptors
from adapters.grpc_upstream.offers import UNARY, is_of_the_protocol, offers_in, offers_of
from adapters.grpc_upstream.reflection import Conversation, NoReflection, ask
from adapters.grpc_upstream.scalars import BadValue
from adapters.grpc_upstream.statuses import too_long
from adapters.grpc_upstream.trust import Trust
from adapters.recipes import Offer, Recipe
from adapters.transport.breaker import Breaker
from adapters.transport.guard import Guard
from adapters.transport.resolver import Resolver

_LARGE_BYTES = 32 * 1024
"""From here on an answer is read beside the event loop."""


class GrpcUpstreamAdapter:
    """Methods of gRPC services. `chance` returns numbers from 0 to 1 and spreads repeated attempts;
    `root_certificates` are the authorities, PEM, that services' certificates come from: the machine's when left out.
    """

    name = "grpc_upstream"
    recipes: Sequence[str] = (UNARY,)

    def __init__(
        self,
        clock: Clock,
        guard: Guard,
        resolver: Resolver,
        *,
        authorities: bytes = b"",
        breaker: Breaker | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._guard = guard
        self._breaker = breaker or Breaker(clock)
        self._channels = Channels(clock, guard, resolver, Trust(authorities))
        self._caller = Caller(self._channels, clock, self._breaker, chance)
        self.operations: Mapping[str, Operation] = {}

    def make(self, recipe: Recipe) -> Operation:
        """The method of a row as an operation. Raises `RecipeProblem` and nothing else."""
        binding = read_binding(recipe.options)
        has_effect = recipe.side_effect is not SideEffect.READ
        return Operation(
            name=recipe.operation,
            arguments=dict,
            side_effect=recipe.side_effect,
            prepare=partial(_prepare, binding.method.request),
            invoke=partial(self._invoke, binding, has_effect=has_effect),
            has_native_key=bool(binding.key_metadata),
            upstream=f"{binding.method.name} {binding.method.digest}",
        )

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a connection to a service; empty when all is well."""
        try:
            read_connection(target, self._guard)
        except BadTarget as error:
            return error.problems
        return []

    @property
    def open_circuits(self) -> int:
        """How many services are left alone for the moment."""
        return self._breaker.open_circuits

    async def close(self) -> None:
        """Let go of every connection."""
        await self._channels.close()

    def offers_in(self, description: bytes) -> Sequence[Offer]:
        """Every method of a `FileDescriptorSet`, as `protoc --descriptor_set_out` writes it. Raises ValueError."""
        return offers_of(description)

    async def offers(self, invocation: Invocation) -> Sequence[Offer]:
        """Every method that the service publishes, by name. Raises `AdapterError`."""
        connection = self._connection(invocation.target)
        if not connection.reflects:
            raise NoReflection

        async def look(conversation: Conversation) -> Sequence[Offer]:
            services = [name for name in await conversation.services() if not is_of_the_protocol(name)]
            files = await conversation.files(services)
            return await asyncio.to_thread(offers_in, files, services)

        async with self._caller.reaching(invocation, connection):
            proof = metadata.proof(connection.auth, invocation.credential)
            async with self._caller.lease(invocation, connection) as channel:
                try:
                    return await ask(channel.raw, proof, self._caller.seconds_left(invocation), look)
                except BadDescriptors as problem:
                    message = "What the service says of itself cannot be used; tell an operator."
                    raise AdapterError(ErrorKind.MALFORMED, message, happened=Happened.NO) from problem

    async def _invoke(self, binding: Binding, invocation: Invocation, *, has_effect: bool) -> Output:
        method = binding.method
        call = Call(
            method=method,
            connection=self._connection(invocation.target),
            invocation=invocation,
            request=_request(method.request, invocation.arguments),
            has_effect=has_effect,
            key_metadata=binding.key_metadata,
        )
        data, attempts = await self._caller.call(call)
        try:
            if len(data) < _LARGE_BYTES:
                structured = _structured(method.response, data)
            else:
                structured = await asyncio.to_thread(_structured, method.response, data)
        except (DecodeError, BadValue) as error:
            made = too_long if isinstance(error, TooManyParts) else unreadable
            broken = made(has_effect=has_effect)
            broken.attempts = attempts
            raise broken from error
        return Output(structured=structured, receipt=f"Called {method.name}.", attempts=attempts)

    def _connection(self, target: Target) -> Connection:
        try:
            return read_connection(target, self._guard)
        except BadTarget as problem:
            message = "The connection to the service is not set up well; tell an operator."
            raise AdapterError(
                ErrorKind.UNAVAILABLE, message, happened=Happened.NO, fault=Fault.NOT_LOADED
            ) from problem


def _prepare(kind: type[Message], arguments: dict[str, Any]) -> dict[str, Any]:
    """The request as JSON that says all that is sent: policy sees it, and it is sent from it."""
    try:
        return write_message(read_message(kind, arguments))
    except BadValue as bad:
        raise ArgumentProblem(ArgumentIssue(path="", rule=bad.rule, message=bad.message)) from bad


def _request(kind: type[Message], prepared: Mapping[str, Any]) -> bytes:
    try:
        return read_message(kind, prepared).SerializeToString(deterministic=True)
    except ArgumentProblem as problem:
        message = "The arguments do not fit the service's request; nothing was sent."
        raise AdapterError(ErrorKind.INVALID, message, happened=Happened.NO) from problem


def _structured(kind: type[Message], data: bytes) -> dict[str, Any]:
    return write_message(kind.FromString(data))
