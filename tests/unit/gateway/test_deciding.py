"""A decision is kept, has its one line, and the call that it completes runs."""

from dataclasses import dataclass

import pytest
from fakes.approvals import arguments, new_id, person, saying
from fakes.clock import FakeClock
from fakes.desk import FakeDesk, FakeRuns, approval
from fakes.journal import ListJournal
from fakes.lines import result
from fakes.sink import ListSink

from adapters.base import ArgumentIssue
from gateway.approvals.base import ApprovalState
from gateway.audit.base import Line, LineKind
from gateway.audit.deeds import Deeds
from gateway.call import Failure, Outcome
from gateway.deciding import Deciding
from gateway.errors import Reason, Refusal, Refused, RefusedKind

EDITED = arguments("edited").canonical


@dataclass
class Table:
    """Who decides, and all that comes of it."""

    desk: FakeDesk
    runs: FakeRuns
    journal: ListJournal
    sink: ListSink
    deciding: Deciding

    @property
    def line(self) -> Line:
        """The one line."""
        (line,) = self.sink.lines
        return line


def _table(outcome: Outcome | Refusal | None = None) -> Table:
    desk, runs, journal, sink = FakeDesk(approval()), FakeRuns(outcome), ListJournal(), ListSink()
    deeds = Deeds(journal, sink, clock=FakeClock(), new_id=new_id)
    return Table(desk, runs, journal, sink, Deciding(desk, deeds, runs))


async def test_an_approval_has_its_line_and_runs() -> None:
    """The line tells who approved what, why and under which policy; the call is begun once it is written."""
    table = _table()
    decided = await table.deciding.decide(person(), saying("a1", reason="Agreed."))
    assert decided.state is ApprovalState.APPROVED
    assert table.runs.soon_asked == [("acme", "a1")]
    line = table.line
    assert (line.kind, line.principal, line.principal_kind) == (LineKind.DECISION, "ann", "human")
    assert (line.outcome, line.decision, line.note) == ("ok", "approve", "Agreed.")
    assert (line.tool, line.tool_version, line.connection) == ("send", "1", "fake")
    assert (line.approval_id, line.arguments_digest) == ("a1", arguments().digest)
    assert line.policy_revision == "r1"


async def test_a_denial_has_its_line_and_nothing_runs() -> None:
    """One is enough."""
    table = _table()
    decided = await table.deciding.decide(person(), saying("a1", approve=False))
    assert decided.state is ApprovalState.DENIED
    assert (table.line.decision, table.line.outcome) == ("deny", "ok")
    assert table.runs.soon_asked == []


async def test_a_decision_that_is_refused_has_its_line_too() -> None:
    """Whoever tries to approve what they may not is written down."""
    table = _table()
    table.desk.refusal = Refused(RefusedKind.FORBIDDEN, "Not you.")
    with pytest.raises(Refused, match="Not you"):
        await table.deciding.decide(person(), saying("a1"))
    assert (table.line.outcome, table.line.approval_id) == ("forbidden", "a1")
    assert table.runs.soon_asked == []


async def test_what_a_person_does_not_see_is_not_found() -> None:
    """There is nothing to write a line about."""
    table = _table()
    with pytest.raises(Refused) as caught:
        await table.deciding.decide(person(), saying("other"))
    assert caught.value.kind is RefusedKind.NOT_FOUND
    assert table.sink.lines == []


async def test_without_a_journal_nothing_is_decided() -> None:
    """A decision without a line would be none."""
    table = _table()
    table.journal.is_down = True
    with pytest.raises(Refused) as caught:
        await table.deciding.decide(person(), saying("a1"))
    assert caught.value.kind is RefusedKind.UNAVAILABLE
    assert (table.desk.verdicts, table.runs.soon_asked) == ([], [])


async def test_a_decision_whose_line_is_not_written_begins_nothing_here() -> None:
    """The sink owes the line; what was decided is found by the next sweep."""
    table = _table()
    table.sink.is_down = True
    with pytest.raises(Refused, match="Look before"):
        await table.deciding.decide(person(), saying("a1"))
    assert table.runs.soon_asked == []
    assert len(table.sink.owed) == 1


async def test_an_edit_is_judged_and_leads_to_another_approval() -> None:
    """The line names the new one; it runs when the editor's approval is enough."""
    table = _table()
    table.desk.lay(approval("a2", state=ApprovalState.APPROVED, arguments_digest=arguments("edited").digest))
    decided = await table.deciding.decide(person(), saying("a1"), EDITED)
    (judged,) = table.runs.judged
    assert judged.request.arguments_json == EDITED
    assert (decided.approval_id, table.line.approval_id) == ("a2", "a2")
    assert table.line.arguments_digest == arguments("edited").digest
    assert table.runs.soon_asked == [("acme", "a2")]


@pytest.mark.parametrize(
    ("outcome", "kind", "words"),
    [
        (Failure(reason=Reason.POLICY_DENIED, message="Too much."), RefusedKind.FORBIDDEN, "Too much"),
        (
            Failure(
                reason=Reason.ARGUMENTS_INVALID,
                message="Wrong.",
                issues=(ArgumentIssue(path="/to", rule="required", message="Name somebody"),),
            ),
            RefusedKind.INVALID,
            "/to: Name somebody",
        ),
        (Failure(reason=Reason.POLICY_UNAVAILABLE, message="Down."), RefusedKind.UNAVAILABLE, "Down"),
        (Failure(reason=Reason.APPROVAL_MISMATCH, message="Late."), RefusedKind.CONFLICT, "Late"),
        (Failure(reason=Reason.BUDGET_SPENT, message="Broke."), RefusedKind.PRECONDITION, "Broke"),
        (Refusal(Reason.JOURNAL_UNAVAILABLE, "Full."), RefusedKind.UNAVAILABLE, "Full"),
        (result(), RefusedKind.PRECONDITION, "Look again"),
    ],
)
async def test_an_edit_that_is_not_taken_is_told(outcome: Outcome | Refusal, kind: RefusedKind, words: str) -> None:
    """Why, and that nothing was changed; it has its line."""
    table = _table(outcome)
    with pytest.raises(Refused, match=words) as caught:
        await table.deciding.decide(person(), saying("a1"), EDITED)
    assert caught.value.kind is kind
    assert table.line.outcome == kind.value
    assert table.runs.soon_asked == []
