"""What every adapter of a JSON API owes beyond what every adapter owes: whatever the vendor answers, it ends well."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest
import yaml
from fakes.cases.base import ApiCase
from fakes.cases.every import API_CASES
from fakes.clock import FakeClock
from fakes.vendor import Answer, Asked, Said, VendorServer, saying, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened, Invocation, Operation, Output, Secret
from adapters.installed import build_adapters

each_operation = pytest.mark.parametrize("case", API_CASES, ids=lambda case: case.name)
STATUSES = (
    301,
    302,
    400,
    401,
    402,
    403,
    404,
    405,
    408,
    409,
    410,
    413,
    415,
    422,
    423,
    429,
    451,
    500,
    502,
    503,
    504,
    529,
)
REDIRECTS_DO_NOTHING = frozenset({"github"})
"""Vendors who say where a thing has moved to instead of changing it there."""
NONSENSE: tuple[Any, ...] = (
    None,
    True,
    7,
    "text",
    [],
    [1, None, "x"],
    [[]],
    [{}],
    {},
    {"ok": True},
    {"data": None},
    {"data": []},
    {"data": {"a": 1}},
    {"errors": "no"},
    {"results": {}},
    {"object": "list"},
)
RETRY_AFTER = ("0", "7", "1.5", "-3", "Wed, 21 Oct 2020 07:28:00 GMT", "Wed, 21 Oct 2099 07:28:00 GMT", "soon", "")
RETRY_AFTER += ("1e9", "Wed, 21 Oct 99999 07:28:00 GMT", "nan", "inf")


class Trial:
    """One operation asked once of one server."""

    def __init__(self, case: ApiCase, server: VendorServer) -> None:
        self.case, self.server = case, server
        self.learned: list[str] = []

    async def ask(self, seconds: float = 5.0) -> Output | AdapterError:
        """What came of it. Anything but these two is a failure."""
        case, port = self.case, self.server.port
        clock = FakeClock(sleeps_pass=True)
        adapters = build_adapters(clock, private_targets=[f"127.0.0.1:{port}"])
        operation = adapters[case.adapter].operations[case.operation]
        invocation = Invocation(
            arguments=operation.prepare(case.arguments(port)),
            target=case.target(port),
            credential=Secret(case.credential),
            deadline=clock.monotonic() + seconds,
            effect_id="effect-1",
            learn=lambda secret: self.learned.append(secret.reveal()),
        )
        outcome: Output | AdapterError
        try:
            outcome = await operation.invoke(invocation)
        except AdapterError as error:
            outcome = error
        finally:
            for adapter in adapters.values():
                await adapter.close()
        self._check(outcome)
        return outcome

    @property
    def effects(self) -> Counter[tuple[str, str, bytes]]:
        """How often each request came that may change something."""
        return Counter((one.method, one.path, one.body) for one in self.server.asked if self.case.changes(one))

    def _check(self, outcome: Output | AdapterError) -> None:
        if not isinstance(outcome, AdapterError):
            assert isinstance(outcome, Output)
            return
        said = f"{outcome} {outcome!r} {outcome.message} {outcome.__dict__}"
        assert not [secret for secret in (self.case.credential, *self.learned) if secret in said]
        assert 0 < len(outcome.message) <= 300
        assert outcome.retry_after_seconds is None or 0 <= outcome.retry_after_seconds <= 86_400


def operation_of(case: ApiCase) -> Operation:
    """The operation."""
    return build_adapters(FakeClock())[case.adapter].operations[case.operation]


def row_of(case: ApiCase) -> dict[str, Any]:
    """The ready-made row of the operation."""
    rows = yaml.safe_load(files(f"adapters.{case.adapter}").joinpath("tools.yaml").read_text("utf-8"))["tools"]
    (row,) = (row for row in rows if row["binding"]["operation"] == case.operation)
    return dict(row)


async def failed(case: ApiCase, answer: Answer | Said, seconds: float = 5.0) -> tuple[AdapterError, Trial]:
    """The error that it ended with."""
    async with vendor_server(answer) as server:
        trial = Trial(case, server)
        outcome = await trial.ask(seconds)
    assert isinstance(outcome, AdapterError), outcome
    return outcome, trial


@each_operation
async def test_a_good_answer_is_an_output_of_the_rows_schema(case: ApiCase) -> None:
    """With a receipt, and in one attempt."""
    async with vendor_server(case.answer) as server:
        output = await Trial(case, server).ask()
    assert isinstance(output, Output), f"{output} {output.message}"
    problems = jsonschema_rs.validator_for(row_of(case)["output_schema"]).iter_errors(output.structured)
    assert [f"{problem.instance_path} {problem.message}" for problem in problems] == []
    assert output.receipt
    assert output.attempts == 1


@each_operation
@pytest.mark.parametrize("status", STATUSES)
async def test_every_status_is_an_error_of_the_closed_set(case: ApiCase, status: int) -> None:
    """What is refused did nothing and is not repeated; what broke is repeated only when it may be."""
    error, trial = await failed(case, Said({"error": "no", "message": "no"}, status=status))
    effects, may_repeat = trial.effects, operation_of(case).has_native_key
    assert may_repeat or all(count == 1 for count in effects.values())
    if 400 <= status < 500 and status != 408:
        assert error.happened is Happened.NO
        assert status == 429 or error.attempts == 1
    elif effects and not (status < 400 and case.adapter in REDIRECTS_DO_NOTHING):
        assert error.happened is Happened.UNKNOWN
    else:
        assert error.happened is Happened.NO
    assert error.attempts <= 3


@each_operation
async def test_what_a_vendor_repeats_of_a_request_does_not_come_through(case: ApiCase) -> None:
    """An error page may quote the credential."""

    def quoting(asked: Asked) -> Said:
        said = {"message": f"{asked.headers} {asked.body!r}", "error": str(asked.headers)}
        return Said(said, status=400, headers={"X-Echo": asked.headers.get("Authorization", "")})

    await failed(case, quoting)


@each_operation
@pytest.mark.parametrize("value", NONSENSE, ids=json.dumps)
async def test_an_answer_of_another_shape_is_never_a_crash(case: ApiCase, value: Any) -> None:
    """It is read as far as it goes, or it is malformed; a write that a vendor took is not taken for undone."""
    async with vendor_server(Said(value)) as server:
        trial = Trial(case, server)
        outcome = await trial.ask()
    if isinstance(outcome, AdapterError) and trial.effects:
        assert outcome.kind is not ErrorKind.MALFORMED or outcome.happened is not Happened.NO


@each_operation
@pytest.mark.parametrize("body", [b"<html>Be right back</html>", b"{", b"\xff\xfe", b'{"a": NaN}'], ids=repr)
async def test_an_answer_that_is_no_json_is_malformed(case: ApiCase, body: bytes) -> None:
    """Never a success."""
    error, _ = await failed(case, Said(body=body, headers={"Content-Type": "text/html"}))
    assert error.kind is ErrorKind.MALFORMED


@each_operation
async def test_an_answer_without_end_is_cut(case: ApiCase) -> None:
    """At the adapter's own bound."""
    error, _ = await failed(case, Said(body=b'"' + b"x" * (9 * 1024 * 1024) + b'"'))
    assert error.kind in (ErrorKind.TOO_LARGE, ErrorKind.MALFORMED)


@each_operation
async def test_a_connection_that_breaks_after_the_body_is_repeated_only_when_it_may_be(case: ApiCase) -> None:
    """Nobody knows whether an effect happened then."""
    error, trial = await failed(case, Said(cut=True))
    if trial.effects and not operation_of(case).has_native_key:
        assert set(trial.effects.values()) == {1}
    assert error.happened is (Happened.UNKNOWN if trial.effects else Happened.NO)
    assert error.kind is ErrorKind.UNAVAILABLE


@each_operation
async def test_a_vendor_that_hangs_is_left_at_the_deadline(case: ApiCase) -> None:
    """By the adapter itself."""
    async with asyncio.timeout(10):
        error, trial = await failed(case, Said(hangs=True), seconds=0.3)
    assert error.kind in (ErrorKind.DEADLINE, ErrorKind.UNAVAILABLE)
    assert error.happened is (Happened.UNKNOWN if trial.effects else Happened.NO)


@each_operation
@pytest.mark.parametrize("value", RETRY_AFTER)
async def test_whatever_a_vendor_asks_to_wait_is_a_wait(case: ApiCase, value: str) -> None:
    """A number of seconds of a day at most, or none; never an exception, and three attempts at most (G12)."""
    error, _ = await failed(case, Said({"error": "slow down"}, status=429, headers={"Retry-After": value}))
    assert error.kind is ErrorKind.RATE_LIMITED
    assert error.happened is Happened.NO
    assert error.attempts <= 3


@each_operation
async def test_a_vendor_that_wants_to_be_left_alone_is_left_alone(case: ApiCase) -> None:
    """The next call is refused without asking, and says how long it is to wait."""
    async with vendor_server(saying(Said({}, status=429, headers={"Retry-After": "600"}))) as server:
        clock = FakeClock(sleeps_pass=True)
        adapters = build_adapters(clock, private_targets=[f"127.0.0.1:{server.port}"])
        operation = adapters[case.adapter].operations[case.operation]
        waits = []
        for _ in range(2):
            asked = len(server.asked)
            with pytest.raises(AdapterError) as caught:
                await operation.invoke(_invocation(case, operation, server.port, clock))
            waits.append((caught.value.kind, caught.value.retry_after_seconds, len(server.asked) - asked))
        for adapter in adapters.values():
            await adapter.close()
    (first, second) = waits
    assert (first[0], second[0]) == (ErrorKind.RATE_LIMITED, ErrorKind.RATE_LIMITED)
    assert second[2] == 0
    assert second[1] is not None
    assert 590 <= second[1] <= 600


@each_operation
@pytest.mark.parametrize("change", [lambda text: text + "\r\nX-Evil: 1", lambda _text: "pässwörd", lambda _text: ""])
async def test_a_credential_that_cannot_be_sent_needs_a_person(case: ApiCase, change: Callable[[str], str]) -> None:
    """It is not sent in part."""
    async with vendor_server(case.answer) as server:
        clock = FakeClock(sleeps_pass=True)
        adapters = build_adapters(clock, private_targets=[f"127.0.0.1:{server.port}"])
        operation = adapters[case.adapter].operations[case.operation]
        credential = change(case.credential)
        with pytest.raises(AdapterError) as caught:
            await operation.invoke(_invocation(case, operation, server.port, clock, credential))
        for adapter in adapters.values():
            await adapter.close()
    assert caught.value.kind is ErrorKind.NEEDS_AUTHORISATION
    assert not server.asked


def _invocation(
    case: ApiCase, operation: Operation, port: int, clock: FakeClock, credential: str | None = None
) -> Invocation:
    return Invocation(
        arguments=operation.prepare(case.arguments(port)),
        target=case.target(port),
        credential=Secret(case.credential if credential is None else credential),
        deadline=clock.monotonic() + 5.0,
        effect_id="effect-1",
    )
