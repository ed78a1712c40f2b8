"""gRPC services: one unary method is one tool."""

import asyncio
import re
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from fakes.clock import FakeClock
from fakes.grpc_service.compiled import CUSTOMERS, KINDS, compiled, descriptor_set, message, pool_of
from fakes.grpc_service.server import GrpcServer, grpc_server, publishing, refusing, saying
from fakes.recipes.grpc_upstream import OFFERS, SERVICE, build, recipe, target

from adapters.base import (
    AdapterError,
    ArgumentProblem,
    ErrorKind,
    Happened,
    Invocation,
    Operation,
    Secret,
    SideEffect,
    Target,
)
from adapters.grpc_upstream.adapter import GrpcUpstreamAdapter
from adapters.grpc_upstream.offers import offers_of
from adapters.recipes import MakesOperations, Offers, Recipe
from gateway.arguments.schema import compile_schema
from gateway.registry.loader import load_registry
from gateway.settings.assertions import AssertionSettings, AudienceGrant
from gateway.settings.load import Settings
from gateway.settings.parts import CredentialGrant

ROOT = Path(__file__).parents[4]
ADD, GET = f"{SERVICE}/AddNote", f"{SERVICE}/GetCustomer"


def kind(name: str) -> Any:
    """A class of the service's messages."""
    return message(f"acme.customers.v1.{name}", CUSTOMERS)


def invocation(prepared: dict[str, Any], where: Target, *, credential: str | None = None) -> Invocation:
    """Five seconds of it, on a clock that stands still."""
    return Invocation(
        arguments=prepared,
        target=where,
        credential=None if credential is None else Secret(credential),
        deadline=FakeClock().monotonic() + 5.0,
        effect_id="eff-1",
    )


async def ask(adapter: GrpcUpstreamAdapter, operation: Operation, arguments: dict[str, Any], where: Target) -> Any:
    """The structured output."""
    return (await operation.invoke(invocation(operation.prepare(arguments), where))).structured


@pytest.fixture
async def server() -> AsyncIterator[GrpcServer]:
    """One that publishes what it offers."""
    data = descriptor_set(CUSTOMERS, KINDS)
    reflecting = publishing(data, pool_of(data), SERVICE, "acme.kinds.v1.KindService")
    async with grpc_server({ADD: saying(kind("Note")(note_id="n-1"))}, reflecting=reflecting) as one:
        yield one


@pytest.fixture
async def adapter(server: GrpcServer) -> AsyncIterator[GrpcUpstreamAdapter]:
    """Before it."""
    one = build(FakeClock(), server.port)
    yield one
    await one.close()


def test_it_makes_operations_and_tells_what_there_is() -> None:
    """By the contract."""
    one = build(FakeClock(), 1)
    assert isinstance(one, MakesOperations)
    assert isinstance(one, Offers)
    assert (one.name, one.recipes, one.operations, one.open_circuits) == ("grpc_upstream", ("unary",), {}, 0)


def test_an_operation_is_what_the_row_says() -> None:
    """With what stands behind it, and whether repetitions are told apart."""
    adapter = build(FakeClock(), 1)
    operation = adapter.make(recipe("AddNote", SideEffect.SEND, key_metadata="x-key"))
    assert operation.side_effect is SideEffect.SEND
    assert operation.upstream == f"{ADD} {OFFERS['AddNote'].digest}"
    assert operation.has_native_key
    assert not adapter.make(recipe("AddNote", SideEffect.WRITE)).has_native_key


def test_policy_sees_all_that_is_sent() -> None:
    """In one form, whatever form it came in."""
    prepare = build(FakeClock(), 1).make(recipe("AddNote", SideEffect.WRITE)).prepare
    whole = {"customer_id": "c-1", "text": "", "labels": {"a": "x", "b": "y"}}
    listed = [{"key": "b", "value": "y"}, {"key": "a", "value": "x"}]
    assert prepare({"customer_id": "c-1", "labels": listed}) == whole
    assert prepare(whole) == whole


async def test_what_is_sent_is_what_policy_saw(server: GrpcServer, adapter: GrpcUpstreamAdapter) -> None:
    """To the byte."""
    operation = adapter.make(recipe("AddNote", SideEffect.WRITE))
    arguments = {"customer_id": "c-1", "labels": [{"key": "b", "value": "y"}, {"key": "a", "value": "x"}]}
    prepared = operation.prepare(arguments)
    output = await operation.invoke(invocation(prepared, target(server.port)))
    assert output.structured == {"note_id": "n-1", "text": ""}
    assert output.receipt == f"Called {ADD}."
    assert kind("AddNoteRequest").FromString(server.asked[0].request) == kind("AddNoteRequest")(
        customer_id="c-1", labels={"a": "x", "b": "y"}
    )


def test_arguments_that_are_no_request() -> None:
    """Every issue, in the agent's words."""
    with pytest.raises(ArgumentProblem) as caught:
        build(FakeClock(), 1).make(recipe("AddNote")).prepare({"customerId": "c", "text": 7})
    assert {issue.path for issue in caught.value.issues} == {"/customerId", "/text"}


async def test_prepared_arguments_that_fit_no_request_are_not_sent(
    server: GrpcServer, adapter: GrpcUpstreamAdapter
) -> None:
    """A row may have changed since an approval was asked for."""
    operation = adapter.make(recipe("AddNote", SideEffect.WRITE))
    with pytest.raises(AdapterError) as caught:
        await operation.invoke(invocation({"other": 1}, target(server.port)))
    assert (caught.value.kind, caught.value.happened, server.asked) == (ErrorKind.INVALID, Happened.NO, [])


async def test_a_service_that_has_changed_is_not_called(server: GrpcServer, adapter: GrpcUpstreamAdapter) -> None:
    """The pin is of what was accepted."""
    assert server.reflecting is not None
    server.reflecting.now(["acme.kinds.v1.KindService"], pool_of(descriptor_set(KINDS)))
    operation = adapter.make(recipe("AddNote", SideEffect.WRITE))
    with pytest.raises(AdapterError) as caught:
        await ask(adapter, operation, {}, target(server.port))
    assert (caught.value.kind, caught.value.happened, server.asked) == (ErrorKind.CHANGED, Happened.NO, [])
    assert adapter.open_circuits == 0


async def test_a_connection_may_say_that_its_service_publishes_nothing(adapter: GrpcUpstreamAdapter) -> None:
    """Only then it is called without a look."""
    async with grpc_server({ADD: saying(kind("Note")())}) as silent:
        one = build(FakeClock(), silent.port)
        operation = one.make(recipe("AddNote", SideEffect.WRITE))
        with pytest.raises(AdapterError, match="reflection: false"):
            await ask(one, operation, {}, target(silent.port))
        assert silent.asked == []
        assert await ask(one, operation, {}, target(silent.port, reflection=False)) == {"note_id": "", "text": ""}
        await one.close()


class CountingExecutor(ThreadPoolExecutor):
    """How often something was done beside the event loop."""

    count = 0

    def submit(self, *args: Any, **kwargs: Any) -> Any:
        """What asyncio calls."""
        self.count += 1
        return super().submit(*args, **kwargs)


async def test_a_large_answer_is_read_beside_the_loop(server: GrpcServer, adapter: GrpcUpstreamAdapter) -> None:
    """Others are served meanwhile. A small one is read at once."""
    executor = CountingExecutor()
    asyncio.get_running_loop().set_default_executor(executor)
    operation, counts = adapter.make(recipe("GetCustomer")), []
    for notes in (1, 1, 20_000):
        server.answers[GET] = saying(kind("Customer")(notes=[{"text": "x" * 20}] * notes))
        assert len((await ask(adapter, operation, {}, target(server.port)))["notes"]) == notes
        counts.append(executor.count)
    looked, small, large = counts
    assert (small, large) == (looked, looked + 1)


@pytest.mark.parametrize("data", [b"\xff\xff\xff", b"\x0a\x01\xff"], ids=["no message", "no text"])
async def test_an_answer_that_is_none(server: GrpcServer, adapter: GrpcUpstreamAdapter, data: bytes) -> None:
    """The service did it all the same."""
    server.answers[ADD] = saying(data)
    with pytest.raises(AdapterError) as caught:
        await ask(adapter, adapter.make(recipe("AddNote", SideEffect.WRITE)), {}, target(server.port))
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.MALFORMED, Happened.YES)


async def test_an_answer_of_too_many_parts(server: GrpcServer, adapter: GrpcUpstreamAdapter) -> None:
    """Small on the wire, and more than anybody has memory for; the service did it all the same."""
    server.answers[GET] = saying(kind("Customer")(notes=[{}]).SerializeToString() * 400_000)
    with pytest.raises(AdapterError) as caught:
        await ask(adapter, adapter.make(recipe("GetCustomer", SideEffect.WRITE)), {}, target(server.port))
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.TOO_LARGE, Happened.YES)


async def test_an_answer_that_json_cannot_carry(server: GrpcServer, adapter: GrpcUpstreamAdapter) -> None:
    """A moment that does not exist."""
    server.answers[GET] = saying(kind("Customer")(created_at={"seconds": 2**62}))
    with pytest.raises(AdapterError) as caught:
        await ask(adapter, adapter.make(recipe("GetCustomer")), {}, target(server.port))
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.MALFORMED, Happened.NO)


async def test_what_a_service_offers_is_what_its_files_say(server: GrpcServer, adapter: GrpcUpstreamAdapter) -> None:
    """The same names, digests and schemas; without comments, which nobody publishes."""
    found = await adapter.offers(invocation({}, target(server.port)))
    expected = offers_of(descriptor_set(CUSTOMERS, KINDS))
    assert [(one.name, one.digest, one.options, one.input_schema, one.problems) for one in found] == [
        (one.name, one.digest, one.options, one.input_schema, one.problems) for one in expected
    ]
    assert {one.description for one in found} == {""}


async def test_offers_of_a_service_that_publishes_nothing(server: GrpcServer, adapter: GrpcUpstreamAdapter) -> None:
    """It cannot be asked."""
    with pytest.raises(AdapterError, match="reflection"):
        await adapter.offers(invocation({}, target(server.port, reflection=False)))


async def test_offers_are_asked_for_with_the_credential(server: GrpcServer, adapter: GrpcUpstreamAdapter) -> None:
    """And not without one."""
    where = target(server.port, auth={"kind": "bearer"})
    assert await adapter.offers(invocation({}, where, credential="s3"))
    with pytest.raises(AdapterError) as caught:
        await adapter.offers(invocation({}, where))
    assert caught.value.kind is ErrorKind.NEEDS_AUTHORISATION


async def test_an_end_while_somebody_looks_is_no_cancellation() -> None:
    """Nobody cancelled the caller: it is told."""
    came = asyncio.Event()

    class Silent(grpc.GenericRpcHandler):
        """It listens, and says nothing."""

        def service(self, _details: Any) -> Any:
            """What gRPC calls."""

            async def handle(_requests: Any, _context: Any) -> AsyncIterator[bytes]:
                came.set()
                await asyncio.Event().wait()
                yield b""

            return grpc.stream_stream_rpc_method_handler(handle)

    async with grpc_server({}, reflecting=Silent()) as silent:
        one = build(FakeClock(), silent.port)
        looking = asyncio.create_task(one.offers(invocation({}, target(silent.port))))
        await asyncio.wait_for(came.wait(), 5)
        await one.close()
        with pytest.raises(AdapterError) as caught:
            await asyncio.wait_for(looking, 5)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)


async def test_a_connection_that_is_not_set_up_well_reaches_nobody(
    server: GrpcServer, adapter: GrpcUpstreamAdapter
) -> None:
    """It is told before, and once more when it is used."""
    bad = Target(name="t", options={"address": f"127.0.0.1:{server.port}"})
    assert adapter.check_target(bad) == ["hosts: must name 127.0.0.1: it is where the credential goes"]
    assert adapter.check_target(target(server.port)) == []
    with pytest.raises(AdapterError) as caught:
        await ask(adapter, adapter.make(recipe("AddNote", SideEffect.WRITE)), {}, bad)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)


async def test_every_kind_of_field_goes_there_and_back(server: GrpcServer, adapter: GrpcUpstreamAdapter) -> None:
    """Nothing is lost on the way."""

    async def echo(request: bytes, _context: Any) -> bytes:
        return request

    name = "acme.kinds.v1.KindService/Echo"
    server.answers[name] = echo
    offer = next(one for one in offers_of(descriptor_set(KINDS)) if one.name == name)
    operation = adapter.make(
        Recipe(
            tool="echo",
            operation="unary",
            side_effect=SideEffect.READ,
            options=offer.options,
            input_schema=offer.input_schema,
            output_schema=offer.output_schema,
        )
    )
    arguments = {
        "long": "-9223372036854775808",
        "octets": "AP8=",
        "by_name": [{"key": "é", "value": {"name": "x"}}],
        "within": {"moment": "2026-05-31T09:00:00Z", "object": '{"a": [1, 2.5, null]}'},
        "second": {},
    }
    assert await ask(adapter, operation, arguments, target(server.port)) == operation.prepare(arguments)


async def test_a_service_that_refuses_who_asks_needs_a_person(server: GrpcServer, adapter: GrpcUpstreamAdapter) -> None:
    """Its words are not repeated."""
    server.answers[ADD] = refusing(grpc.StatusCode.UNAUTHENTICATED, "token s3 of jdoe has expired")
    with pytest.raises(AdapterError) as caught:
        await ask(adapter, adapter.make(recipe("AddNote", SideEffect.WRITE)), {}, target(server.port))
    assert caught.value.kind is ErrorKind.NEEDS_AUTHORISATION
    assert "jdoe" not in f"{caught.value} {caught.value.message}"


def test_the_rows_of_the_documentation_are_taken(tmp_path: Path) -> None:
    """Its descriptors are those of its own `.proto`, and the registry has nothing to say about the rows."""
    text = (ROOT / "docs" / "grpc_upstream.md").read_text("utf-8")
    proto, rows = (re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL) for kind in ("proto", "yaml"))
    assert proto is not None
    assert rows is not None
    (tmp_path / "crm.proto").write_text(proto[1])
    (offer,) = offers_of(compiled(tmp_path, tmp_path / "crm.bin", "crm.proto"))
    manifest = yaml.safe_load(rows[1])
    (tool,), (connection,) = manifest["tools"], manifest["connections"]
    assert tool["binding"]["options"] == {**offer.options, "key_metadata": "x-idempotency-key"}
    assert tool["input_schema"]["properties"].keys() == offer.input_schema["properties"].keys()
    grant = CredentialGrant(tenant="acme", references=("vault:kv/*",), hosts=tuple(connection["hosts"]))
    audience = AudienceGrant(name="crm", hosts=tuple(connection["hosts"]))
    settings = Settings(
        credentials=(grant,),
        assertions=AssertionSettings(issuer="https://tollhouse.test", key_file=tmp_path / "key", audiences=(audience,)),
    )
    adapter = build(FakeClock(), 1)
    loaded = load_registry(
        (),
        adapters={adapter.name: adapter},
        settings=settings,
        compile_schema=compile_schema,
        builtin={"docs": rows[1]},
    )
    assert loaded.problems == ()
