"""Lines of which nobody can tell whose they are wait, and are written once."""

import asyncio

from fakes.journal import ListJournal
from fakes.lines import line
from fakes.sink import ListSink

from gateway.audit.base import LineKind
from gateway.audit.late import CLOSED_NOTE, LateLines
from gateway.call import Whose


class Answers:
    """What the store says, one after the other; the last again and again."""

    def __init__(self, *answers: Whose) -> None:
        self._answers = list(answers)

    async def __call__(self) -> Whose:
        """The next."""
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def _late() -> tuple[LateLines, ListJournal, ListSink]:
    journal, sink = ListJournal(), ListSink()
    return LateLines(journal, sink), journal, sink


async def test_a_line_waits_until_it_is_known_to_be_ours() -> None:
    """And is written once."""
    late, journal, sink = _late()
    late.wait(line("c1"), Answers(Whose.UNTOLD, Whose.UNTOLD, Whose.OURS))
    for waiting in (1, 1, 0, 0):
        await late.tick()
        assert late.waiting == waiting
    assert sink.lines == [line("c1")]
    assert journal.forgotten == []


async def test_a_call_that_another_closed_is_told_as_what_came_of_it_after_all() -> None:
    """The journal owes it no line any more."""
    late, journal, sink = _late()
    await late.put(line("c1", happened="yes"), Whose.ANOTHERS)
    (told,) = sink.lines
    assert (told.kind, told.call_id, told.outcome, told.note) == (LineKind.RESOLUTION, "c1", "ok", CLOSED_NOTE)
    assert journal.forgotten == [("call", "c1")]


async def test_what_was_not_reached_when_writing_is_broken_off_waits_on() -> None:
    """The end of a gateway breaks it off; the last words of that gateway are these lines."""
    late, _journal, sink = _late()
    late.wait(line("c1"), _never)
    late.wait(line("c2"), Answers(Whose.OURS))
    ticking = asyncio.create_task(late.tick())
    await asyncio.sleep(0)
    ticking.cancel()
    await asyncio.wait((ticking,))
    assert (late.waiting, sink.lines) == (2, [])


async def _never() -> Whose:
    await asyncio.Event().wait()
    return Whose.UNTOLD


async def test_a_line_that_the_sink_owes_is_not_handed_over_again() -> None:
    """The sink writes it as soon as it can."""
    late, _journal, sink = _late()
    sink.is_down = True
    late.wait(line("c1"), Answers(Whose.OURS))
    await late.tick()
    assert (late.waiting, sink.owed) == (0, [line("c1")])
