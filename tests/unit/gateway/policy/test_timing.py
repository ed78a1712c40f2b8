"""How long a policy takes, measured before it may decide."""

import itertools
import json
import time
from typing import Any

import jsonschema_rs
import pytest
from fakes.packs import ALLOW_ALL, pack
from fakes.rows import agent, tool

from gateway.call import Decision
from gateway.errors import Reason, Refusal
from gateway.policy.embedded import EmbeddedEngine
from gateway.policy.timing import largest, slow_tools


class Watch:
    """An engine that takes the given milliseconds, in turn, and keeps the documents; its clock is `clock`."""

    def __init__(self, *milliseconds: float) -> None:
        self._takes = itertools.cycle(milliseconds)
        self._now = 0.0
        self.documents: list[dict[str, Any]] = []

    def clock(self) -> float:
        """Seconds, which pass by deciding alone."""
        return self._now

    def decide_now(self, input_json: bytes) -> Decision:
        """Nothing, after a while."""
        self.documents.append(json.loads(input_json))
        self._now += next(self._takes) / 1000
        raise Refusal(Reason.POLICY_UNDEFINED, "")


def test_a_slow_policy_is_refused_with_tool_and_time() -> None:
    """The author learns for which tool, and how long it took."""
    watch = Watch(12.3)
    (problem,) = slow_tools(watch, [tool()], max_ms=10, clock=watch.clock)
    assert problem.rule == "too_slow"
    assert problem.message == "tool echo: the decision takes 12.3 ms, more than 10 ms"


def test_a_slow_run_is_measured_again() -> None:
    """Another process's noise does not refuse a good policy; the first quick run is enough."""
    watch = Watch(50, 9, 50)
    assert slow_tools(watch, [tool()], max_ms=10, clock=watch.clock) == ()
    assert len(watch.documents) == 2


def test_each_tool_is_judged() -> None:
    """One problem for each slow tool."""
    watch = Watch(11)
    problems = slow_tools(watch, [tool(), tool(name="other")], max_ms=10, clock=watch.clock)
    assert [problem.message.split(":")[0] for problem in problems] == ["tool echo", "tool other"]


def test_the_agent_with_a_grant_is_asked_for() -> None:
    """Its argument rules are what takes the time."""
    watch = Watch(1)
    granted = agent(name="granted", grants={"echo": {}}, policy_json=b'{"name":"granted"}')
    slow_tools(watch, [tool()], max_ms=10, clock=watch.clock, agents=[agent(), granted])
    assert {document["agent"]["name"] for document in watch.documents} == {"granted"}
    assert {document["principal"]["agent"] for document in watch.documents} == {"granted"}


def test_prepare_makes_what_policy_sees() -> None:
    """The adapter's own preparation counts; one that cannot take made-up arguments does not stop the check."""
    watch = Watch(1)
    slow_tools(watch, [tool()], max_ms=10, clock=watch.clock, prepare=lambda _tool, _arguments: {"prepared": 1})
    assert watch.documents[-1]["arguments"] == {"prepared": 1}

    def fails(_tool: object, _arguments: object) -> dict[str, Any]:
        raise ValueError("no")

    slow_tools(watch, [tool()], max_ms=10, clock=watch.clock, prepare=fails)
    assert list(watch.documents[-1]["arguments"]) == ["text"]


def test_a_quadratic_policy_is_found() -> None:
    """On the engine: quick on one recipient, far too slow on as many as the schema admits."""
    text = f"{ALLOW_ALL} if count([1 | some x in input.arguments.to; some y in input.arguments.to; x == y]) >= 0"
    items = {"type": "array", "items": {"type": "string", "maxLength": 20}}
    engine = EmbeddedEngine(pack(text))

    def judged(most: int) -> int:
        schema = {"type": "object", "properties": {"to": {**items, "maxItems": most}}}
        return len(slow_tools(engine, [tool(input_schema=schema)], max_ms=5, clock=time.perf_counter))

    assert (judged(1), judged(500)) == (0, 1)


SCHEMAS: list[dict[str, Any]] = [
    {
        "type": "object",
        "properties": {"a": {"type": "array", "maxItems": 7, "items": {"type": "string", "maxLength": 3}}},
    },
    {
        "type": "object",
        "properties": {"a": {"enum": ["x", "longest", "y"]}, "b": {"const": 1}, "c": {"type": "boolean"}},
    },
    {"type": "object", "properties": {"a": {"type": ["null", "string"], "maxLength": 5}, "b": {"type": "number"}}},
    {
        "type": "object",
        "$defs": {
            "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "v": {"type": "integer"}}}
        },
        "properties": {"a": {"$ref": "#/$defs/node"}},
    },
    {"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 9}]}}},
    {"type": "object", "allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "string"}}}]},
    {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "integer"}},
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_largest_is_an_instance(schema: dict[str, Any]) -> None:
    """It is what an agent could really send."""
    validator = jsonschema_rs.Draft202012Validator(schema)
    made = list(largest(schema))
    assert made
    for value in made:
        assert value
        assert "$defs" in schema or validator.is_valid(value)  # recursion is cut, and ends in null


def test_lists_and_strings_are_full() -> None:
    """As many items and as many letters as the schema admits."""
    (value,) = largest(SCHEMAS[0])
    assert [len(item) for item in value["a"]] == [3] * 7


def test_each_property_is_filled_first_once() -> None:
    """Two unbounded lists share the leaves; the policy may be slow on either."""
    items = {"type": "array", "items": {"type": "string"}}
    made = list(largest({"type": "object", "properties": {"a": items, "b": items}}, leaves=100))
    assert [(len(value["a"]), len(value["b"])) for value in made] == [(99, 1), (1, 99)]


def test_leaves_and_bytes_are_bounded() -> None:
    """No schema makes the check itself run away."""
    deep: dict[str, Any] = {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}
    (value,) = largest({"type": "object", "properties": {"a": deep}}, leaves=50, max_bytes=5000)
    assert len(json.dumps(value)) < 20_000
    empty: dict[str, Any] = {"type": "array", "items": {"type": "array", "items": {"type": "object"}}}
    (value,) = largest({"type": "object", "properties": {"a": empty}}, leaves=50)
    assert value == {"a": [[{}] * 50]}


def test_addresses_look_like_addresses() -> None:
    """A rule about domains has something to take apart."""
    items = {"type": "array", "maxItems": 2, "items": {"type": "string", "format": "email", "maxLength": 40}}
    (value,) = largest({"type": "object", "properties": {"to": items}})
    assert all(item.endswith("@example.com") and len(item) == 40 for item in value["to"])
