"""What every adapter that makes operations of rows owes: rows judged at once and whole, pure preparation, the truth
about what happened, an effect once at most, and silence about secrets and about what the upstream says.
"""

import asyncio
import copy
import json
import socket
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from fakes.recipes.base import UPSTREAM_WORDS, BadOptions, Maker, RecipeCase, Trouble, Upstream
from fakes.recipes.every import RECIPE_CASES

from adapters.base import (
    AdapterError,
    ArgumentProblem,
    ErrorKind,
    Happened,
    Invocation,
    Operation,
    Output,
    Secret,
    SideEffect,
    Target,
)
from adapters.recipes import MakesOperations, RecipeProblem

each_case = pytest.mark.parametrize("case", RECIPE_CASES, ids=lambda case: case.name)
each_trouble = pytest.mark.parametrize("trouble", [one for one in Trouble if one is not Trouble.NONE])
each_bad = pytest.mark.parametrize(
    ("case", "bad"),
    [(case, bad) for case in RECIPE_CASES for bad in case.bad],
    ids=lambda value: value.name if isinstance(value, RecipeCase) else f"{len(value.pointers)} problems",
)
ASSERTION = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlLW9mLXRoZS1hc3NlcnRpb24"
HOSTILE_TEXTS = (
    *(
        "",
        " ",
        "\0",
        "a\r\nX-Evil: 1",
        "\ud800",
        "\u202e",
        "x" * 5000,
        "http://[",
        "../..",
        "%2e%2e",
        "..\\..",
        "\uff0e" * 2,
    ),
    *("%00", "?a=b", "#a", "@evil.test", "//evil.test", "\u0661", "{}", "{customer_id}", "\u2028"),
)
HOSTILE_OPTIONS: tuple[Any, ...] = (None, True, 7, -1.5, float("nan"), "", "\0", "\ud800", "x" * 10_000, [], [None], {})
HOSTILE_OPTIONS += (
    {"": ""},
    {7: 7},
    {"argument": "/"},
    {"value": object()},
    b"x",
    object(),
    (1, 2),
    {"a": {"a": {"a": []}}},
)

HOSTILE_SCHEMAS: tuple[Mapping[str, Any], ...] = (
    {},
    {"properties": 7, "required": 7, "allOf": 7},
    {"properties": {"a": 7}, "required": [7]},
    {"$ref": "#"},
    {"anyOf": [{"$ref": "#"}] * 3, "properties": {"a": {"$ref": "#/properties/a"}}},
    {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/x.json"}}},
)


@dataclass
class Trial:
    """One operation made of its row, and asked of one upstream."""

    case: RecipeCase
    adapter: Maker
    upstream: Upstream
    now: Callable[[], float]
    learned: list[str] = field(default_factory=list)

    async def ask(self, seconds: float = 5.0, *, credential: str | None = None) -> Output | AdapterError:
        """What came of it. Anything but these two is a failure."""
        operation = self.adapter.make(self.case.recipe)
        try:
            output = await operation.invoke(self._invocation(operation, seconds, credential or self.case.credential))
        except AdapterError as error:
            self._check_silence(error)
            return error
        assert isinstance(output, Output)
        return output

    async def ask_without_credential(self) -> Output | AdapterError:
        """What came of it when the connection has none."""
        return await replace(self, case=replace(self.case, credential=None)).ask()

    def _invocation(self, operation: Operation, seconds: float, credential: str | None) -> Invocation:
        prepared = operation.prepare(copy.deepcopy(dict(self.case.arguments)))
        return Invocation(
            arguments=json.loads(json.dumps(prepared)),  # as an approval has kept them
            target=self.case.target(self.upstream.port),
            credential=None if credential is None else Secret(credential),
            deadline=self.now() + seconds,
            effect_id="effect-1",
            learn=lambda secret: self.learned.append(secret.reveal()),
            assertion=self._assert,
        )

    async def _assert(self) -> Secret:
        return Secret(ASSERTION)

    def _check_silence(self, error: AdapterError) -> None:
        said = f"{error} {error!r} {error.message} {error.__dict__}"
        behind = "".join(traceback.format_exception(error))  # what it was made of may be logged one day
        secrets = [self.case.credential, ASSERTION, *self.learned]
        assert not [secret for secret in secrets if secret and secret in said + behind]
        assert not [word for word in ("db-3", "corp.internal", UPSTREAM_WORDS) if word in said]
        assert 0 < len(error.message) <= 300
        assert error.attempts <= 3
        assert error.retry_after_seconds is None or 0 <= error.retry_after_seconds <= 86_400


@dataclass(frozen=True)
class Nobody:
    """An upstream that is not there."""

    port: int
    calls: int = 0

    async def came(self) -> None:
        """Nothing ever comes."""
        await asyncio.Event().wait()


@asynccontextmanager
async def trial(case: RecipeCase, trouble: Trouble = Trouble.NONE) -> AsyncIterator[Trial]:
    """A trial that is cleared up when the block ends."""
    clock = case.clock()
    async with case.upstream(trouble) as upstream:
        adapter = case.build(clock, upstream.port)
        try:
            yield Trial(case, adapter, upstream, clock.monotonic)
        finally:
            await adapter.close()


def made(case: RecipeCase) -> Operation:
    """The operation, for what needs no upstream."""
    return case.build(case.clock(), 1).make(case.recipe)


def has_effect(case: RecipeCase) -> bool:
    """Whether the row says that a call changes something."""
    return case.recipe.side_effect is not SideEffect.READ


def free_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


# -- making ---------------------------------------------------------------------------------------


def test_names_are_unique() -> None:
    """A case can be told from every other."""
    names = [case.name for case in RECIPE_CASES]
    assert len(names) == len(set(names))


@each_case
def test_an_operation_is_what_the_row_says(case: RecipeCase) -> None:
    """Its name, and what it does to the world; the row's schema alone says what its arguments are."""
    adapter = case.build(case.clock(), 1)
    assert isinstance(adapter, MakesOperations)
    assert dict(adapter.operations) == {}
    assert case.recipe.operation in adapter.recipes
    operation = adapter.make(case.recipe)
    assert operation.name == case.recipe.operation
    assert operation.side_effect is case.recipe.side_effect
    assert operation.arguments is dict
    assert operation.upstream


@each_case
def test_make_is_pure_and_the_same_for_the_same_row(case: RecipeCase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a network and without an event loop; what came in is untouched."""
    adapter, before = case.build(case.clock(), 1), copy.deepcopy(case.recipe)
    monkeypatch.setattr(socket, "socket", None)
    monkeypatch.setattr(socket, "getaddrinfo", None)
    first, second = adapter.make(case.recipe), adapter.make(copy.deepcopy(case.recipe))
    assert case.recipe == before
    assert _shown(first, case) == _shown(second, case)


def _shown(operation: Operation, case: RecipeCase) -> tuple[Any, ...]:
    """What of two operations can be compared."""
    prepared = operation.prepare(dict(case.arguments))
    facts = operation.name, operation.side_effect, operation.has_native_key, operation.needs_credential
    return *facts, operation.upstream, operation.reconcile is None, prepared


@each_bad
def test_a_bad_row_is_told_of_all_at_once(case: RecipeCase, bad: BadOptions) -> None:
    """Each problem with where it is, and no other."""
    adapter = case.build(case.clock(), 1)
    with pytest.raises(RecipeProblem) as caught:
        adapter.make(replace(case.recipe, options=bad.options))
    assert {issue.path for issue in caught.value.issues} == bad.pointers
    assert all(issue.rule and issue.message.endswith(".") for issue in caught.value.issues)


def test_somebody_has_a_row_with_several_problems() -> None:
    """For every adapter."""
    adapters = {case.name.partition(".")[0] for case in RECIPE_CASES}
    several = {case.name.partition(".")[0] for case in RECIPE_CASES for bad in case.bad if len(bad.pointers) > 1}
    assert several == adapters


@each_case
@pytest.mark.parametrize("value", HOSTILE_OPTIONS, ids=lambda value: f"{type(value).__name__}-{str(value)[:8]!a}")
def test_whatever_stands_in_a_row_is_a_problem_or_an_operation(case: RecipeCase, value: Any) -> None:
    """Never another exception, whatever stands in the place of any part of the options, or beside them."""
    adapter = case.build(case.clock(), 1)
    for options in (*_replaced(case.recipe.options, value), {**case.recipe.options, "another": value}):
        try:
            assert isinstance(adapter.make(replace(case.recipe, options=options)), Operation)
        except RecipeProblem as problem:
            issues = problem.issues
        else:
            continue
        assert issues
        assert all(not issue.path or issue.path.startswith("/") for issue in issues)


def _replaced(value: Mapping[str, Any], one: Any) -> Iterator[dict[str, Any]]:
    """The options with each of their parts, one after the other, being this."""
    for name, part in value.items():
        yield {**value, name: one}
        if isinstance(part, Mapping):
            yield from ({**value, name: changed} for changed in _replaced(part, one))


@each_case
@pytest.mark.parametrize("schema", HOSTILE_SCHEMAS, ids=lambda schema: str(schema)[:24])
def test_whatever_the_schema_of_a_row_is_it_is_a_problem_or_an_operation(case: RecipeCase, schema: Any) -> None:
    """And nothing that it refers to is ever fetched (G13)."""
    adapter = case.build(case.clock(), 1)
    try:
        assert isinstance(adapter.make(replace(case.recipe, input_schema=schema)), Operation)
    except RecipeProblem as problem:
        issues = problem.issues
    else:
        return
    assert issues


@each_case
def test_an_option_that_nobody_knows_is_a_problem(case: RecipeCase) -> None:
    """A row that is misspelt does not do half of what it says."""
    adapter = case.build(case.clock(), 1)
    with pytest.raises(RecipeProblem) as caught:
        adapter.make(replace(case.recipe, options={**case.recipe.options, "misspelt": 1}))
    assert {issue.path for issue in caught.value.issues} == {"/misspelt"}


# -- preparing ------------------------------------------------------------------------------------


@each_case
def test_prepare_is_pure(case: RecipeCase) -> None:
    """The same in, the same out; what came in is untouched, and what comes out is plain JSON."""
    prepare = made(case).prepare
    arguments = copy.deepcopy(dict(case.arguments))
    first, second = prepare(arguments), prepare(copy.deepcopy(arguments))
    assert arguments == case.arguments
    assert first == second == json.loads(json.dumps(first))


@each_case
@pytest.mark.parametrize("text", HOSTILE_TEXTS, ids=lambda text: ascii(text)[:20])
def test_prepare_raises_argument_problems_alone(case: RecipeCase, text: str) -> None:
    """Whatever stands in a text: it is prepared, or every issue has a place, a rule and a sentence without it."""
    prepare = made(case).prepare
    for name, value in case.arguments.items():
        if not isinstance(value, str | list):
            continue
        try:
            json.dumps(prepare({**case.arguments, name: text if isinstance(value, str) else [text]}))
        except ArgumentProblem as problem:
            issues = problem.issues
        else:
            continue
        assert issues
        assert all(one.path.startswith("/") and one.rule and one.message for one in issues)
        assert not [one for one in issues if len(text) > 3 and text in one.message]


# -- asking ---------------------------------------------------------------------------------------


@each_case
async def test_a_good_answer_is_an_output(case: RecipeCase) -> None:
    """In one attempt, as plain JSON, with a receipt in which nothing is the upstream's."""
    async with trial(case) as one:
        output = await one.ask()
        assert isinstance(output, Output), output
        assert one.upstream.calls == 1
    assert output.structured is not None or output.content
    json.dumps(output.structured, allow_nan=False)
    assert output.receipt
    assert UPSTREAM_WORDS not in output.receipt
    assert output.attempts == 1


@each_case
async def test_many_calls_at_once_do_not_disturb_one_another(case: RecipeCase) -> None:
    """Each has its output, and each is made once."""
    async with trial(case) as one:
        outputs = await asyncio.gather(*(one.ask() for _ in range(8)))
        assert one.upstream.calls == 8
    assert all(isinstance(output, Output) for output in outputs)


@each_case
@each_trouble
async def test_a_trouble_ends_in_the_truth(case: RecipeCase, trouble: Trouble) -> None:
    """Its kind says what went wrong, and nothing that may have happened is said not to have; a call that may change
    something is made once, unless the upstream tells repetitions apart.
    """
    seconds = 0.5 if trouble is Trouble.HANGS else 10.0
    async with trial(case, trouble) as one:
        async with asyncio.timeout(30):
            outcome = await one.ask(seconds)
        calls = one.upstream.calls
    assert calls == 1 or (calls <= 3 and (made(case).has_native_key or not has_effect(case)))
    if not case.kinds_of(trouble):
        assert isinstance(outcome, Output), outcome
        return
    assert isinstance(outcome, AdapterError), outcome
    assert outcome.kind in case.kinds_of(trouble)
    if not has_effect(case) or trouble is Trouble.REFUSES:
        assert outcome.happened is Happened.NO
    elif trouble in (Trouble.RESET, Trouble.HANGS, Trouble.FAULT):
        assert outcome.happened is Happened.UNKNOWN
    else:  # something was answered
        assert outcome.happened is not Happened.NO


@each_case
async def test_nobody_listening_is_unavailable(case: RecipeCase) -> None:
    """Nothing happened, however often it was tried."""
    port, clock = free_port(), case.clock()
    adapter = case.build(clock, port)
    try:
        outcome = await Trial(case, adapter, Nobody(port), clock.monotonic).ask(10.0)
    finally:
        await adapter.close()
    assert isinstance(outcome, AdapterError)
    assert (outcome.kind, outcome.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)


@each_case
async def test_a_passed_deadline_sends_nothing(case: RecipeCase) -> None:
    """And is certain of it."""
    async with trial(case) as one:
        outcome = await one.ask(-1.0)
        assert one.upstream.calls == 0
    assert isinstance(outcome, AdapterError)
    assert (outcome.kind, outcome.happened) == (ErrorKind.DEADLINE, Happened.NO)


@each_case
async def test_cancellation_passes(case: RecipeCase) -> None:
    """At once, and it is not turned into an error."""
    async with trial(case, Trouble.HANGS) as one:
        running = asyncio.create_task(one.ask(60.0))
        await asyncio.wait_for(one.upstream.came(), 10)
        running.cancel()
        async with asyncio.timeout(5):
            with pytest.raises(asyncio.CancelledError):
                await running
        assert one.upstream.calls == 1


# -- who asks -------------------------------------------------------------------------------------

with_credential = pytest.mark.parametrize(
    "case", [case for case in RECIPE_CASES if case.credential is not None], ids=lambda case: case.name
)


@with_credential
@pytest.mark.parametrize("change", [lambda text: text + "\r\nX-Evil: 1", lambda text: text + "\0", lambda _text: "\n"])
async def test_a_credential_that_cannot_be_sent_needs_a_person(case: RecipeCase, change: Callable[[str], str]) -> None:
    """It is not sent in part."""
    assert case.credential is not None
    async with trial(case) as one:
        outcome = await one.ask(credential=change(case.credential))
        assert one.upstream.calls == 0
    assert isinstance(outcome, AdapterError)
    assert (outcome.kind, outcome.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)


@with_credential
async def test_a_credential_that_is_missing_needs_a_person(case: RecipeCase) -> None:
    """Nobody is asked without it."""
    async with trial(case) as one:
        outcome = await one.ask_without_credential()
        assert one.upstream.calls == 0
    assert isinstance(outcome, AdapterError)
    assert (outcome.kind, outcome.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)


# -- the adapter as a whole -----------------------------------------------------------------------


@each_case
def test_a_good_connection_has_no_problems_and_an_empty_one_is_judged(case: RecipeCase) -> None:
    """In sentences, without raising."""
    adapter = case.build(case.clock(), 1)
    assert adapter.check_target(case.target(1)) == []
    assert all(isinstance(sentence, str) and sentence for sentence in adapter.check_target(Target(name="t")))


@each_case
@pytest.mark.parametrize("value", HOSTILE_OPTIONS, ids=lambda value: f"{type(value).__name__}-{str(value)[:8]!a}")
def test_whatever_stands_in_a_connection_is_judged(case: RecipeCase, value: Any) -> None:
    """In the place of any part of its options, or beside them."""
    adapter, target = case.build(case.clock(), 1), case.target(1)
    for options in (*_replaced(target.options, value), {**target.options, "another": value}):
        problems = adapter.check_target(replace(target, options=options))
        assert all(isinstance(sentence, str) and sentence for sentence in problems)
    assert adapter.check_target(replace(target, options={**target.options, "misspelt": 1}))


@each_case
async def test_closing_is_harmless_however_often(case: RecipeCase) -> None:
    """Before anything was asked, and after."""
    async with trial(case) as one:
        await one.ask()
        assert one.adapter.open_circuits == 0
        await one.adapter.close()
        await one.adapter.close()
    unused = case.build(case.clock(), 1)
    await unused.close()
    await unused.close()
