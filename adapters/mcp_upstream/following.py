"""Progress of calls: passed on while a call runs, no faster than anybody reads, and only when it goes on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adapters.base import Clock
from adapters.mcp_upstream.base import Progress
from adapters.mcp_upstream.rpc import Notice, number

EVERY_SECONDS = 0.1


@dataclass(slots=True)
class _Followed:
    progress: Progress
    has_begun: bool = False
    done: float = float("-inf")
    told_at: float = float("-inf")


class Following:
    """By the tokens of the calls that run now."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._followed: dict[int, _Followed] = {}

    def begin(self, token: int, progress: Progress) -> None:
        """Pass on what is told with this token."""
        self._followed[token] = _Followed(progress)

    def end(self, token: int) -> None:
        """Pass on nothing any more."""
        self._followed.pop(token, None)

    def has_begun(self, token: int) -> bool:
        """Whether anything was told with this token, while it was followed."""
        return token in self._followed and self._followed[token].has_begun

    def hear(self, notice: Notice) -> None:
        """A `notifications/progress`. What is of no call, no number, no further or too soon is passed over."""
        token = notice.params.get("progressToken")
        followed = self._followed.get(token) if type(token) is int else None
        if followed is None:
            return
        followed.has_begun = True
        done, total = _numbers(notice.params)
        now = self._clock.monotonic()
        if done is not None and done > followed.done and now - followed.told_at >= EVERY_SECONDS:
            followed.done, followed.told_at = done, now
            followed.progress(done, total)


def _numbers(params: Mapping[str, Any]) -> tuple[float | None, float | None]:
    return number(params.get("progress")), number(params.get("total"))
