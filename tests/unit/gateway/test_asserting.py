"""An internal service is told who calls, and nobody else hears of it."""

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from fakes.adapter import FakeAdapter
from fakes.assertions import ISSUER, verified
from fakes.engine import FakeEngine
from fakes.path import Road, RowChanges, road

from adapters.base import Invocation, Output, Secret
from gateway.asserting import asserting_by
from gateway.assertions.issuing import Assertions
from gateway.assertions.key_file import make_key
from gateway.assertions.signers import signer_of
from gateway.call import Failure, Pending
from gateway.errors import Reason
from gateway.pipeline import Pipeline
from gateway.settings.assertions import AssertionSettings, AudienceGrant
from gateway.telemetry import configure

ASKING = (
    '{"effect":"require_approval","reasons":[{"code":"big"}],"obligations":[{"type":"approval",'
    '"value":{"roles":["boss"],"count":1,"expires_in_seconds":3600}}]}'
)
NOTE_ON_PLAIN = {"adapter": "fake", "operation": "write", "connection": "plain"}
ROWS = RowChanges(connections={"plain": {"assertion": "crm", "hosts": ["crm.example"]}})


class Told(FakeAdapter):
    """Asks twice who calls, and gives what it heard back as a stranger would."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: list[str] = []
        self.heard: list[Secret] = []
        self.operations = {
            name: replace(one, invoke=self._say, preview=self._show) for name, one in self.operations.items()
        }

    async def _say(self, invocation: Invocation) -> Output:
        self.heard = [await invocation.assertion(), await invocation.assertion()]
        self.tokens.append(self.heard[0].reveal())
        return Output(structured={"text": f"I saw {self.tokens[-1]}"})

    async def _show(self, invocation: Invocation) -> Any:
        self.tokens.append((await invocation.assertion()).reveal())
        return {"saw": self.tokens[-1]}


@asynccontextmanager
async def told(folder: Path, **changes: Any) -> AsyncIterator[tuple[Road, Told, Assertions]]:
    """A path, changed as asked, whose connection is told who calls."""
    adapter, key = Told(), folder / "key.pem"
    make_key(key, bytes(32))
    async with road(**{"adapter": adapter, "rows": ROWS, **changes}) as one:
        grants = (AudienceGrant(name="crm", hosts=("crm.example",)),)
        settings, log = (
            AssertionSettings(issuer=ISSUER, key_file=key, audiences=grants),
            configure("info", io.StringIO()),
        )
        signer = signer_of(settings, None, None, clock=one.clock, log=log)
        assertions = Assertions(settings, signer, clock=one.clock, log=log, new_id=lambda: "id")
        await assertions.start()
        one.pipeline = Pipeline(replace(one._parts(), asserting=asserting_by(assertions)))
        yield one, adapter, assertions
        await assertions.stop()


async def test_a_service_is_told_who_calls_and_by_which_decision(tmp_path: Path) -> None:
    """The claims are those of the audit line; one assertion is made for one call."""
    async with told(tmp_path) as (one, adapter, assertions):
        await one.call(run_id="r1")
        claims = verified(adapter.tokens[0], assertions.jwks_document(), now=one.clock.now(), audience="crm")
        line = one.lines[-1]
        assert adapter.heard[0] is adapter.heard[1]
    assert claims["decision_id"] == f"{line['kind']}:{line['call_id']}"
    same = ("tenant", "agent", "call_id", "tool", "side_effect", "policy_revision", "arguments_digest")
    assert {name: claims[name] for name in same} == {name: line[name] for name in same}
    assert (claims["run"], claims["sub"]) == ("r1", line["principal"])


async def test_an_assertion_is_taken_out_of_the_answer_and_stands_in_no_line(tmp_path: Path) -> None:
    """Whoever had it could be the caller for a minute."""
    async with told(tmp_path) as (one, adapter, _):
        answer = await one.call()
        assert adapter.tokens[0] not in repr(answer.outcome) + json.dumps(one.lines)
        assert one.lines[-1]["scrubbed"] == 1


async def test_an_approved_call_is_still_whose_it_was(tmp_path: Path) -> None:
    """The caller of then, though nobody is there now, and the decision of the execution."""
    async with told(tmp_path, engine=FakeEngine(ASKING)) as (one, adapter, assertions):
        assert isinstance((await one.call()).outcome, Pending)
        assert adapter.tokens == []
        await one.execute(one.approvals.approve())
        claims = verified(adapter.tokens[0], assertions.jwks_document(), now=one.clock.now(), audience="crm")
        line = one.lines[-1]
        assert adapter.tokens[0] not in json.dumps(one.lines)
    assert claims["decision_id"] == f"execution:{line['call_id']}"
    assert (claims["tenant"], claims["agent"], claims["sub"]) == (line["tenant"], line["agent"], one.caller.id)


async def test_a_preview_is_told_who_calls_and_shows_no_assertion(tmp_path: Path) -> None:
    """It is a request of the same caller, under the decision that asks for people."""
    rows = replace(ROWS, tools={"note_sealed": {"preview": True, "binding": NOTE_ON_PLAIN}})
    async with told(tmp_path, engine=FakeEngine(ASKING), rows=rows) as (one, adapter, assertions):
        assert isinstance((await one.call("note_sealed", '{"path":"a","body":"b"}', key="k")).outcome, Pending)
        claims = verified(adapter.tokens[0], assertions.jwks_document(), now=one.clock.now(), audience="crm")
        (kept,) = one.approvals.parked
    assert claims["decision_id"] == f"call:{claims['call_id']}"
    assert adapter.tokens[0].encode() not in kept.preview_json


async def test_nothing_is_sent_when_nobody_can_sign(tmp_path: Path) -> None:
    """A key that others may read is no key."""
    async with told(tmp_path) as (one, adapter, _):
        (tmp_path / "key.pem").chmod(0o644)
        one.clock.advance(5)
        answer = await one.call()
    assert isinstance(answer.outcome, Failure)
    assert adapter.tokens == []


async def test_without_assertions_whoever_needs_one_is_told_so() -> None:
    """And sends nothing."""
    adapter = Told()
    async with road(adapter=adapter, rows=ROWS) as one:
        answer = await one.call()
    assert isinstance(answer.outcome, Failure)
    assert answer.outcome.reason is Reason.CONNECTION_NEEDS_AUTHORISATION
