"""Step 5 as a whole: bytes in, the one form of the arguments out."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from fakes import rows
from fakes.adapter import FakeAdapter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.base import ArgumentIssue, ArgumentProblem, Operation
from gateway.arguments.canonical import digest
from gateway.arguments.read import read_arguments
from gateway.arguments.schema import compile_schema
from gateway.call import Arguments
from gateway.errors import Reason, Refusal
from gateway.rows import Schema, Tool

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is not a failure."""

SCHEMA = compile_schema(
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["text"],
        "properties": {
            "text": {"type": "string"},
            "times": {"type": "integer", "default": 1},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    }
)


@dataclass(frozen=True, slots=True)
class Read:
    """What the step needs."""

    tool: Tool
    schema: Schema
    operation: Operation


def read(raw: bytes, prepare: Callable[[dict[str, Any]], Any] = dict, max_leaves: int = 1000) -> Arguments:
    """Step 5 over the fake adapter, with this `prepare`."""
    adapter = FakeAdapter()
    adapter.prepare = prepare
    reading = Read(tool=rows.tool(max_leaves=max_leaves), schema=SCHEMA, operation=adapter.operations["echo"])
    return read_arguments(raw, reading, max_bytes=4096)


def refused(raw: bytes, prepare: Callable[[dict[str, Any]], Any] = dict) -> Refusal:
    """How step 5 stops such a call."""
    with pytest.raises(Refusal) as caught:
        read(raw, prepare)
    return caught.value


def test_what_prepare_returns_is_what_is_hashed() -> None:
    """With nulls dropped and defaults filled in before it."""
    seen: list[dict[str, Any]] = []

    def prepare(value: dict[str, Any]) -> dict[str, Any]:
        seen.append(dict(value))
        return {**value, "length": len(value["text"])}

    arguments = read(b'{"tags": null, "text": "hi"}', prepare)
    assert seen == [{"text": "hi", "times": 1}]
    assert arguments.value == {"text": "hi", "times": 1, "length": 2}
    assert arguments.canonical == b'{"length":2,"text":"hi","times":1}'
    assert arguments.digest == digest(arguments.canonical)


def test_g05_spellings_of_one_value_have_one_digest() -> None:
    """Order, space, 2.0 for 2, an escape, a null and an explicit default make no other call of it."""
    same = [
        b'{"text": "a", "times": 2}',
        b'{"times":2.0,"text":"\\u0061"}',
        b' {"times": 2e0, "tags": null, "text": "a"}',
    ]
    assert len({read(raw).digest for raw in same}) == 1
    assert read(b'{"text": "a"}').digest == read(b'{"text": "a", "times": 1}').digest
    assert read(b'{"text": "a", "times": 3}').digest != read(same[0]).digest


def test_every_issue_is_named() -> None:
    """One refusal with an issue per field."""
    refusal = refused(b'{"times": "x", "bcc": 1}')
    assert refusal.reason is Reason.ARGUMENTS_INVALID
    assert {(issue.path, issue.rule) for issue in refusal.issues} == {
        ("/text", "required"),
        ("/times", "type"),
        ("/bcc", "additionalProperties"),
    }


def test_a_problem_that_prepare_finds_is_the_agents() -> None:
    """Its issues come back as they are."""
    issue = ArgumentIssue(path="/text", rule="recipient", message="`text` is not an address.")

    def prepare(_value: dict[str, Any]) -> dict[str, Any]:
        raise ArgumentProblem(issue)

    refusal = refused(b'{"text": "a"}', prepare)
    assert (refusal.reason, refusal.issues) == (Reason.ARGUMENTS_INVALID, (issue,))


class Panic(BaseException):
    """As a Rust library throws."""


@pytest.mark.parametrize("error", [ValueError("secret-text"), Panic("secret-text"), asyncio.CancelledError()])
def test_anything_else_that_prepare_raises_is_ours(error: BaseException) -> None:
    """Refused as internal, with nothing of the exception's text."""

    def prepare(_value: dict[str, Any]) -> dict[str, Any]:
        raise error

    refusal = refused(b'{"text": "a"}', prepare)
    assert refusal.reason is Reason.INTERNAL
    assert "secret-text" not in refusal.message


@pytest.mark.parametrize("result", [None, [], {"a": object()}, {1: 2}, {"a": float("nan")}, {"a": 2**60}])
def test_what_prepare_returns_must_be_a_json_object(result: Any) -> None:
    """Anything else is a broken adapter, and refused."""
    assert refused(b'{"text": "a"}', lambda _value: result).reason is Reason.INTERNAL


def test_the_operator_can_still_stop_the_process() -> None:
    """An interrupt is not turned into an answer."""

    def prepare(_value: dict[str, Any]) -> dict[str, Any]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(b'{"text": "a"}', prepare)


def test_limits_come_from_the_row_and_the_settings() -> None:
    """Leaves by the tool's row, bytes by the settings."""
    assert refused(b'{"text": "' + b"a" * 5000 + b'"}').reason is Reason.ARGUMENTS_TOO_LARGE
    with pytest.raises(Refusal) as caught:
        read(b'{"text": "a", "tags": ["b", "c"]}', max_leaves=2)
    assert caught.value.reason is Reason.ARGUMENTS_TOO_LARGE


@relaxed
@given(st.binary(max_size=40) | st.text(alphabet='{}[]",:text null1.e\\', max_size=40).map(str.encode))
def test_nothing_but_a_refusal_comes_out_of_hostile_bytes(raw: bytes) -> None:
    """Any bytes give arguments or a `Refusal`."""
    with contextlib.suppress(Refusal):
        assert isinstance(read(raw).value["text"], str)
