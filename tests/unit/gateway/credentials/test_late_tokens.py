"""A store of tokens that is there before it is."""

from fakes.clock import FakeClock
from fakes.grants import Issuer, invocation

from adapters.transport.tokens import MemoryTokens
from gateway.credentials.late_tokens import LateTokens


class Living(MemoryTokens):
    """With a life of its own."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.lived: list[str] = []

    async def start(self) -> None:
        """Noted."""
        self.lived.append("started")

    async def stop(self) -> None:
        """Noted."""
        self.lived.append("stopped")


async def test_it_is_the_one_that_is_bound() -> None:
    """Started, asked and stopped."""
    clock, tokens = FakeClock(), LateTokens()
    living = Living(clock)
    tokens.bind(living)
    await tokens.start()
    issuer = Issuer(clock)
    assert (await tokens.access_token(invocation(clock), issuer.exchange)).reveal() == "access-1"
    assert (await tokens.access_token(invocation(clock), issuer.exchange, refused="access-1")).reveal() == "access-2"
    await tokens.stop()
    assert living.lived == ["started", "stopped"]


async def test_one_that_was_never_bound_ends_as_well() -> None:
    """A start may fail before there is any."""
    await LateTokens().stop()
