"""A caller of the control services, for the commands of operators and approvers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import grpc

from gateway.cli.client import Where, opened, sentence
from gateway.errors import StartError

S = TypeVar("S")


class Control:
    """Asks one control service. `stub` is the generated stub of the service. Every method raises `StartError` when
    there was no answer, with what the service said.
    """

    def __init__(self, to: Where, *, timeout_seconds: float) -> None:
        self._to = to
        self._timeout_seconds = timeout_seconds

    def ask(self, method: Any, request: Any) -> Any:
        """The answer to one request. `method` is one of the stub's."""
        try:
            return method(request, timeout=self._timeout_seconds, metadata=self._metadata())
        except grpc.RpcError as error:
            raise StartError(sentence(error, self._to.target)) from error

    def follow(self, method: Any, request: Any) -> Iterator[Any]:
        """Each part of an answer that has no end."""
        try:
            yield from method(request, metadata=self._metadata())
        except grpc.RpcError as error:
            raise StartError(sentence(error, self._to.target)) from error

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self._to.token}"),) if self._to.token else ()


@contextmanager
def controlling(
    to: Where, stub: Callable[[grpc.Channel], S], *, timeout_seconds: float = 30.0
) -> Iterator[tuple[Control, S]]:
    """What asks, and the service's stub to ask with; closed in the end."""
    with opened(to) as channel:
        yield Control(to, timeout_seconds=timeout_seconds), stub(channel)
