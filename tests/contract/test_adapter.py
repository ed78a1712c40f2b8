"""What every adapter owes: pure preparation, errors of the closed set, its deadline, and silence about secrets."""

import asyncio
import copy
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, get_type_hints, is_typeddict

import pytest
import yaml
from fakes.cases.base import Case
from fakes.cases.every import CASES

from adapters.base import (
    Adapter,
    AdapterError,
    ArgumentProblem,
    ErrorKind,
    Happened,
    Invocation,
    Operation,
    Output,
    Secret,
    Target,
)
from adapters.installed import build_adapters
from gateway.app import built_in_rows
from gateway.arguments.schema import compile_schema
from gateway.clock import SystemClock
from gateway.registry.agreement import disagreements
from gateway.registry.loader import load_registry
from gateway.settings.load import Settings
from gateway.settings.parts import CredentialGrant

HOSTILE = (
    "",
    " ",
    "\0",
    "a\r\nBcc: x@evil.test",
    "\ud800",
    "\u202e",
    "x" * 5000,
    "http://[",
    "a@b@c",
    "../..",
    "%00",
    "\u0661",
)


CONNECTING = tuple(case for case in CASES if case.connects)
each_operation = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
each_connecting = pytest.mark.parametrize("case", CONNECTING, ids=lambda case: case.name)


@dataclass
class Peer:
    """The other side: what it says at once, and whether the connection came and went."""

    greeting: bytes
    port: int = 0
    came: asyncio.Event = field(default_factory=asyncio.Event)
    went: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Say the greeting; hang up after one that is not empty, else stay silent until the caller goes."""
        self.came.set()
        try:
            writer.write(self.greeting)
            while not self.greeting and await reader.read(1024):
                pass
        except ConnectionError:
            pass
        finally:
            self.went.set()
            writer.close()


@asynccontextmanager
async def _peer(greeting: bytes = b"") -> AsyncIterator[Peer]:
    peer = Peer(greeting)
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    peer.port = server.sockets[0].getsockname()[1]
    try:
        yield peer
    finally:
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def _adapters(port: int = 1) -> AsyncIterator[dict[str, Adapter]]:
    adapters = build_adapters(SystemClock(), private_targets=[f"127.0.0.1:{port}"])
    try:
        yield adapters
    finally:
        for adapter in adapters.values():
            await adapter.close()


def _operation(case: Case) -> Operation:
    return build_adapters(SystemClock())[case.adapter].operations[case.operation]


async def _invoke(adapters: dict[str, Adapter], case: Case, port: int, seconds: float) -> Output:
    operation = adapters[case.adapter].operations[case.operation]
    invocation = Invocation(
        arguments=operation.prepare(case.arguments(port)),
        target=case.target(port),
        credential=Secret(case.credential),
        deadline=SystemClock.monotonic() + seconds,
        effect_id="effect-1",
    )
    return await operation.invoke(invocation)


async def _error(case: Case, port: int, seconds: float) -> AdapterError:
    async with _adapters(port) as adapters:
        with pytest.raises(AdapterError) as caught:
            await _invoke(adapters, case, port, seconds)
    assert case.credential not in f"{caught.value} {caught.value!r} {caught.value.message} {caught.value.__dict__}"
    assert 0 < len(caught.value.message) <= 300
    return caught.value


def test_every_operation_has_a_case() -> None:
    """An adapter that is added is added here."""
    operations = {
        (adapter.name, name) for adapter in build_adapters(SystemClock()).values() for name in adapter.operations
    }
    assert operations == {(case.adapter, case.operation) for case in CASES}


@each_operation
def test_an_operation_is_described(case: Case) -> None:
    """Its name is its key, and its arguments are a TypedDict."""
    operation = _operation(case)
    assert operation.name == case.operation
    assert is_typeddict(operation.arguments)
    assert get_type_hints(operation.arguments)


@each_operation
def test_prepare_is_pure(case: Case) -> None:
    """The same in, the same out; what came in is untouched, and what comes out is plain JSON."""
    prepare = _operation(case).prepare
    arguments = case.arguments(8000)
    before = copy.deepcopy(arguments)
    first, second = prepare(arguments), prepare(copy.deepcopy(arguments))
    assert arguments == before
    assert first == second == json.loads(json.dumps(first))


@each_operation
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_prepare_raises_argument_problems_alone(case: Case, text: str) -> None:
    """Whatever stands in a string: it is prepared, or every issue has a place, a rule and a sentence."""
    for arguments in _replaced(case.arguments(8000), text):
        try:
            json.dumps(_operation(case).prepare(arguments))
        except ArgumentProblem as problem:
            issues = problem.issues
        else:
            continue
        assert issues
        assert all(issue.path.startswith("/") and issue.rule and issue.message for issue in issues)


def _replaced(arguments: dict[str, Any], text: str) -> list[dict[str, Any]]:
    """The arguments with each string in turn being this one."""
    changed = []
    for name, value in arguments.items():
        if isinstance(value, str):
            changed.append({**arguments, name: text})
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            changed += [{**arguments, name: [one, *value[1:]]} for one in _replaced(value[0], text)]
        elif isinstance(value, list):
            changed.append({**arguments, name: [text, *value[1:]]})
    return changed


@each_connecting
async def test_a_passed_deadline_does_nothing(case: Case) -> None:
    """Certain that nothing was sent."""
    async with _peer() as peer:
        error = await _error(case, peer.port, -1.0)
    assert (error.kind, error.happened) == (ErrorKind.DEADLINE, Happened.NO)
    assert not peer.came.is_set()


@each_connecting
async def test_a_silent_peer_ends_at_the_deadline(case: Case) -> None:
    """By the adapter itself, and the connection is let go."""
    before = time.monotonic()
    async with _peer() as peer:
        error = await _error(case, peer.port, 0.3)
        await asyncio.wait_for(peer.went.wait(), 5)
    assert error.kind in (ErrorKind.DEADLINE, ErrorKind.UNAVAILABLE)
    assert error.happened is not Happened.YES
    assert time.monotonic() - before < 3.0


@each_connecting
async def test_cancellation_passes_and_lets_the_connection_go(case: Case) -> None:
    """It is not turned into an error, and nobody is left holding a line."""
    async with _peer() as peer, _adapters(peer.port) as adapters:
        running = asyncio.create_task(_invoke(adapters, case, peer.port, 30.0))
        await asyncio.wait_for(peer.came.wait(), 5)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.wait_for(peer.went.wait(), 5)


@each_connecting
async def test_nobody_listening_is_unavailable(case: Case) -> None:
    """Nothing happened, however often it was tried."""
    async with _peer() as peer:
        pass
    error = await _error(case, peer.port, 10.0)
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert 1 <= error.attempts <= 3


@each_connecting
@pytest.mark.parametrize(
    "greeting", [b"\x00\xff\xfe rubbish\r\n\r\n", b"9" * 70_000 + b"\r\n", b"HTTP/1.1 999 \r\n\r\n"]
)
async def test_a_peer_that_talks_rubbish_is_an_adapter_error(case: Case, greeting: bytes) -> None:
    """Of a kind that says so; whatever the peer says does not come through."""
    async with _peer(greeting) as peer:
        error = await _error(case, peer.port, 10.0)
    assert error.kind in (ErrorKind.MALFORMED, ErrorKind.UNAVAILABLE)
    assert "rubbish" not in str(error)


async def test_closing_twice_is_harmless() -> None:
    """For every adapter."""
    for adapter in build_adapters(SystemClock()).values():
        await adapter.close()
        await adapter.close()


def test_an_empty_target_never_raises() -> None:
    """A connection that says nothing is judged like any other."""
    for adapter in build_adapters(SystemClock()).values():
        assert all(isinstance(sentence, str) for sentence in adapter.check_target(Target(name="t")))


# -- the manifests that the adapters bring ------------------------------------------------------


def _rows() -> list[dict[str, Any]]:
    return [
        row
        for adapter in sorted({case.adapter for case in CASES})
        for row in yaml.safe_load(files(f"adapters.{adapter}").joinpath("tools.yaml").read_text("utf-8"))["tools"]
    ]


each_row = pytest.mark.parametrize("row", _rows(), ids=lambda row: row["name"])


def _bound(row: dict[str, Any]) -> Operation:
    binding = row["binding"]
    return build_adapters(SystemClock())[binding["adapter"]].operations[binding["operation"]]


@each_row
def test_a_schema_agrees_with_the_code(row: dict[str, Any]) -> None:
    """Whatever the schema lets in, the operation's TypedDict takes; the side effect is the same."""
    operation = _bound(row)
    assert list(disagreements(row["input_schema"], operation.arguments)) == []
    assert set(row["input_schema"]["properties"]) == set(get_type_hints(operation.arguments))
    assert row["side_effect"] == operation.side_effect.value


@each_row
def test_schemas_are_closed_and_of_the_strict_form(row: dict[str, Any]) -> None:
    """Objects without extra properties, every output property required, no oneOf, every input described."""
    for schema in (row["input_schema"], row["output_schema"]):
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert "oneOf" not in json.dumps(schema)
    assert all(part["description"] for part in row["input_schema"]["properties"].values())
    assert set(row["output_schema"]["required"]) == set(row["output_schema"]["properties"])


@each_row
def test_a_description_names_the_parameters(row: dict[str, Any]) -> None:
    """In backticks, every one of them and nothing that the schema lacks."""
    named = set(row["description"].split("`")[1::2])
    assert named == set(row["input_schema"]["properties"])


@each_row
def test_what_has_an_effect_asks_for_a_key(row: dict[str, Any]) -> None:
    """A write or send says what it asks of its caller so that it happens once."""
    assert row["side_effect"] == "read" or row["idempotency"] in ("required", "optional", "natural")


def test_the_gateway_takes_every_row() -> None:
    """With the connections that they are bound to, and an agent for each that is given them."""
    adapters = build_adapters(SystemClock())
    connections = {row["binding"]["connection"]: row for row in _rows() if "connection" in row["binding"]}
    manifest = {
        "connections": [_connection(name, row) for name, row in connections.items()],
        "agents": [
            {"name": f"agent_of_{row['name']}", "tenant": "acme", "tools": [row["name"]], "scopes": row["requires"]}
            for row in _rows()
        ],
    }
    grant = CredentialGrant(tenant="acme", references=("env:T_*",), hosts=("127.0.0.1", "127.0.0.1:1"))
    settings = Settings(credentials=(grant,))
    builtin = {**built_in_rows(adapters), "acme.yaml": json.dumps(manifest)}
    loaded = load_registry((), adapters=adapters, settings=settings, compile_schema=compile_schema, builtin=builtin)
    assert loaded.problems == ()
    assert loaded.catalogue is not None
    assert {tool.name for tool in loaded.catalogue.tools} == {row["name"] for row in _rows()}


def _connection(name: str, row: dict[str, Any]) -> dict[str, Any]:
    """One to a server on loopback, as the operation's case has it."""
    binding = row["binding"]
    (case,) = (one for one in CASES if one.name == f"{binding['adapter']}.{binding['operation']}")
    target, needs = case.target(1), _bound(row).needs_credential
    proof = {"credential": "env:T_TOKEN"} if needs else {}
    parts = {"hosts": list(target.hosts), "options": dict(target.options)}
    return {"name": name, "tenant": "acme", "vendor": binding["adapter"], **proof, **parts}
