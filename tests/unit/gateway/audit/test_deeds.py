"""What people do is written down once, whatever comes of it."""

import itertools

import pytest
from fakes.clock import FakeClock
from fakes.journal import ListJournal
from fakes.lines import TIME
from fakes.principals import principal
from fakes.sink import ListSink

from gateway.audit.base import LineKind
from gateway.audit.deeds import Deeds
from gateway.call import CallerKind
from gateway.errors import Reason, Refusal, Refused, RefusedKind

PERSON = principal(id="ann", kind=CallerKind.HUMAN, agent="")


def _deeds() -> tuple[Deeds, ListJournal, ListSink]:
    journal, sink, ids = ListJournal(), ListSink(), itertools.count(1)
    return Deeds(journal, sink, clock=FakeClock(), new_id=lambda: f"d{next(ids)}"), journal, sink


async def test_a_deed_begins_before_it_is_done_and_has_its_line_after() -> None:
    """With what it told, and what the person said, cut to what a line holds."""
    deeds, journal, sink = _deeds()
    async with deeds.of(LineKind.DECISION, PERSON, what="mail_send", note="x" * 400) as deed:
        assert [one.call_id for one in journal.begins] == ["d1"]
        assert sink.lines == []
        deed.tell(approval_id="a1", decision="approve")
    (line,) = sink.lines
    assert (line.kind, line.call_id, line.principal, line.principal_kind) == ("decision", "d1", "ann", "human")
    assert (line.tool, line.approval_id, line.decision, line.outcome) == ("mail_send", "a1", "approve", "ok")
    assert (line.time, line.note) == (TIME, "x" * 300)


@pytest.mark.parametrize(
    ("raised", "outcome", "reason"),
    [
        (Refused(RefusedKind.FORBIDDEN, "No."), "forbidden", ""),
        (Refusal(Reason.STORE_UNAVAILABLE, "No."), "unavailable", "store_unavailable"),
        (RuntimeError("x"), "unknown", ""),
    ],
)
async def test_what_is_refused_or_fails_has_its_line_too(raised: Exception, outcome: str, reason: str) -> None:
    """And goes its way."""
    deeds, _journal, sink = _deeds()
    with pytest.raises(type(raised)):
        async with deeds.of(LineKind.ADMIN, PERSON):
            raise raised
    (line,) = sink.lines
    assert (line.outcome, line.reason) == (outcome, reason)


async def test_nothing_is_done_that_cannot_be_written_down() -> None:
    """The block is not entered."""
    deeds, journal, sink = _deeds()
    journal.is_down = True
    with pytest.raises(Refused) as caught:
        async with deeds.of(LineKind.ADMIN, PERSON):
            pytest.fail("it was done")
    assert caught.value.kind is RefusedKind.UNAVAILABLE
    assert sink.lines == []


async def test_who_did_it_hears_when_its_line_cannot_be_written() -> None:
    """The sink owes it."""
    deeds, _journal, sink = _deeds()
    sink.is_down = True
    with pytest.raises(Refused, match="may have been done"):
        async with deeds.of(LineKind.ADMIN, PERSON):
            pass
    assert [line.outcome for line in sink.owed] == ["ok"]
