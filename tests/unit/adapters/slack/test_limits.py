"""A limit that Slack tells of in a 200 is kept like one with the status for it, and is that of one method."""

import pytest
from fakes.cases.slack import CHANNELS, HISTORY
from fakes.vendor import Asked, Said, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.slack.limits import pauses
from adapters.transport.api import Pause
from adapters.transport.replies import Reply


def reply(value: object, status: int = 200, wait: float | None = None) -> Reply:
    """An answer to a read."""
    return Reply(status=status, headers={}, value=value, happened=Happened.NO, retry_after_seconds=wait)


def test_an_error_inside_a_200_pauses_the_method() -> None:
    """For as long as Slack says, or for the usual time."""
    limited = {"ok": False, "error": "ratelimited"}
    assert list(pauses(reply(limited, wait=7.0), 0.0)) == [Pause(seconds=7.0, is_of_call=True)]
    assert list(pauses(reply(limited), 0.0)) == [Pause(seconds=60.0, is_of_call=True)]


@pytest.mark.parametrize(
    "other", [reply({"ok": True}), reply({"ok": False, "error": "no_text"}), reply(None), reply({}, status=429)]
)
def test_nothing_else_pauses(other: Reply) -> None:
    """A 429 is the transport's."""
    assert list(pauses(other, 0.0)) == []


@pytest.mark.parametrize("status", [200, 429])
async def test_one_method_pauses_and_others_go_on(status: int) -> None:
    """Slack counts each by itself."""

    def answer(asked: Asked) -> Said:
        if asked.path == "/conversations.history":
            return Said({"ok": False, "error": "ratelimited"}, status=status, headers={"Retry-After": "600"})
        return Said(CHANNELS)

    async with vendor_server(answer) as server, desk(server) as at:
        for _ in range(2):
            with pytest.raises(AdapterError) as caught:
                await at.ask("slack", "channel_history", {"channel": "C0FA2M81QXR"})
            assert (caught.value.kind, caught.value.retry_after_seconds) == (ErrorKind.RATE_LIMITED, 600)
        assert len(server.asked) == 1
        assert (await at.ask("slack", "list_channels", {})).structured["channels"]


async def test_after_the_pause_slack_is_asked_again() -> None:
    """And not before."""
    said = [Said({"ok": False, "error": "ratelimited"}, headers={"Retry-After": "30"}), Said(HISTORY)]
    async with vendor_server(lambda _asked: said.pop(0)) as server, desk(server) as at:
        with pytest.raises(AdapterError):
            await at.ask("slack", "channel_history", {"channel": "C0FA2M81QXR"})
        at.clock.advance(31)
        assert (await at.ask("slack", "channel_history", {"channel": "C0FA2M81QXR"})).structured["messages"]
