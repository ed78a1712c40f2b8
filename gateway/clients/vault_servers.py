"""The servers of one cluster: which is asked first, and when another is asked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.clients.cutting import Line
from gateway.clients.vault_answers import Trouble, VaultFailed

Question = Callable[[Any], Any]
"""Given a client of the library, what it answers."""


@dataclass(slots=True)
class Request:
    """One question, as a thread carries it out."""

    namespace: str
    token: str = field(repr=False)
    ask: Question
    is_repeatable: bool
    seconds: float
    line: Line
    server: int = -1
    """Which one was asked last; none before a thread was free."""


class Servers:
    """The servers of one cluster, as threads ask them."""

    def __init__(
        self,
        addresses: Sequence[str],
        carry_out: Callable[[str, Request, float], Mapping[str, Any]],
        monotonic: Callable[[], float],
    ) -> None:
        """`carry_out` asks the server at an address, for so many seconds. It raises `VaultFailed` alone."""
        self._addresses = tuple(addresses)
        self._carry_out = carry_out
        self._monotonic = monotonic
        self._first = 0

    def ask(self, request: Request) -> Mapping[str, Any]:
        """The answer of the first server that has one to give."""
        deadline = self._monotonic() + request.seconds
        first = self._first
        failure = VaultFailed(Trouble.TIMEOUT)
        for offset in range(len(self._addresses)):
            index = (first + offset) % len(self._addresses)
            request.server = index
            left = (deadline - self._monotonic()) / (len(self._addresses) - offset)
            if left <= 0:
                break
            try:
                answer = self._carry_out(self._addresses[index], request, left)
            except VaultFailed as failed:
                failure = failed
                if failed.trouble.may_be_stale:
                    self.pass_over(index)
            else:
                self._first = index
                return answer
            if not _is_for_another(failure.trouble, is_repeatable=request.is_repeatable):
                break
        raise failure

    def pass_over(self, index: int) -> None:
        """Do not begin with this one any more."""
        if self._first == index:
            self._first = (index + 1) % len(self._addresses)


def _is_for_another(trouble: Trouble, *, is_repeatable: bool) -> bool:
    """Whether another server of the cluster may do better. What may have been carried out is not sent twice."""
    if trouble in (Trouble.UNREACHABLE, Trouble.UNTRUSTED, Trouble.SEALED):
        return True
    return is_repeatable and trouble in (Trouble.RESET, Trouble.TIMEOUT, Trouble.MALFORMED, Trouble.FAILED)
