"""An adapter whose upstreams offer what a test says."""

from collections.abc import Sequence
from typing import Any

from adapters.base import AdapterError, Invocation, SideEffect
from adapters.recipes import Offer
from fakes.made import MakingAdapter


class OfferingAdapter(MakingAdapter):
    """Like `MakingAdapter`, whose recipe's `word` is what the upstream calls it; set `offered` or `failure`."""

    def __init__(self, *offered: Offer) -> None:
        super().__init__()
        self.offered = list(offered)
        self.failure: AdapterError | None = None
        self.credentials: list[str] = []
        self.is_closed = False

    async def offers(self, invocation: Invocation) -> Sequence[Offer]:
        """Them. Raises `failure`."""
        self.credentials.append(invocation.credential.reveal() if invocation.credential is not None else "")
        if self.failure is not None:
            raise self.failure
        return self.offered

    async def close(self) -> None:
        """Keep that it was closed."""
        self.is_closed = True


def offer(name: str, digest: str = "sha256:new", **changes: Any) -> Offer:
    """One thing that an upstream can do, changed as asked."""
    given = {
        "name": name,
        "digest": digest,
        "operation": "say",
        "options": {"word": name},
        "side_effect": SideEffect.READ,
        "description": "Says it.",
        "input_schema": {"type": "object", "properties": {"loud": {"type": "boolean"}}, "additionalProperties": True},
    }
    return Offer(**(given | changes))
