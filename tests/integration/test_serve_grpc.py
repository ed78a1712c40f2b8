"""The gateway over real gRPC: what an agent's runtime sees on the wire."""

import asyncio
import contextlib
import json
import time
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import orjson
import pytest
from fakes.adapter import FakeAdapter
from fakes.audit import until
from fakes.engine import FakeEngine
from fakes.path import HIDDEN, TOKEN, registry_rows
from fakes.served import Served, asked, channel_to, served
from fakes.tokens import AUDIENCE, ISSUER, Issuer
from grpc_health.v1 import health_pb2 as health
from grpc_health.v1 import health_pb2_grpc as health_rpc

from adapters.base import AdapterError, ErrorKind, Happened, Output
from gateway.settings.limits import LimitSettings, RateSettings
from gateway.settings.listeners import JwtIdentity, Listener
from gateway.settings.parts import ArgumentSettings, ServerSettings
from gateway.v1 import codes_pb2
from gateway.v1 import tool_service_pb2 as pb
from gateway.v1 import tool_service_pb2_grpc as rpc

NOTE = '{"path":"a.txt","body":"hi"}'
ID_KEY = "tollhouse-call-id"
DENY = '{"effect":"deny","reasons":[{"code":"no.way","message":"No.","advice":"Do else."}],"obligations":[]}'
PARK = '{"effect":"require_approval","reasons":[],"obligations":[]}'


def reason(response: Any) -> str:
    """The reason of an error, as the enum names it."""
    return str(codes_pb2.Reason.Name(response.error.reason)).removeprefix("REASON_").lower()


def code(response: Any) -> str:
    """The code of an error, as the enum names it."""
    return str(codes_pb2.Code.Name(response.error.code)).removeprefix("CODE_").lower()


async def refused(call: Any) -> grpc.aio.AioRpcError:
    """The status that an RPC ended with."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


def all_metadata(*parts: Any) -> dict[str, str]:
    """Initial and trailing metadata together."""
    return {key: value for part in parts for key, value in (part or ())}


# Calls.


async def test_a_call_is_answered_with_its_result(tmp_path: Path) -> None:
    """The result as JSON bytes, its labels, its ids; one line of the same id."""
    async with served(tmp_path) as one:
        response = await one.call("echo", '{"text":"hi","times":5}')
        assert json.loads(response.result.structured_json) == {"echo": {"text": "hi", "times": 5}}
        assert list(response.result.labels) == ["untrusted"]
        assert (response.call_id, response.replay) == (response.effect_id, False)
        (line,) = one.lines
        assert (line["call_id"], line["outcome"], line["surface"]) == (response.call_id, "ok", "grpc")


async def test_a_write_says_its_id_ahead_and_a_call_that_is_answered_at_once_in_its_answer(tmp_path: Path) -> None:
    """What is in the metadata is the id of the answer; a write waits for the disk, so it is always there."""
    async with served(tmp_path) as one:
        for tool, arguments in (("note", NOTE), ("echo", '{"text":"x"}'), ("nothing", "{}")):
            call = one.stub.CallTool(asked(tool, arguments), timeout=20)
            response = await call
            found = all_metadata(await call.initial_metadata())
            assert len(response.call_id) == 32
            assert found.get(ID_KEY, response.call_id if tool != "note" else "") == response.call_id


async def test_a_call_that_waits_says_its_id_at_once(tmp_path: Path) -> None:
    """While the vendor works the caller already knows the id, in the initial metadata."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    async with served(tmp_path, adapter=adapter) as one:
        # On the wire a unary call is a stream of one answer, and only so does this client show metadata early.
        method = one.channel.unary_stream(
            "/gateway.v1.ToolService/CallTool",
            request_serializer=pb.CallToolRequest.SerializeToString,
            response_deserializer=pb.CallToolResponse.FromString,
        )
        call = method(asked("note", NOTE, key="k"), timeout=20)
        announced = all_metadata(await asyncio.wait_for(call.initial_metadata(), 5))[ID_KEY]
        assert not call.done()
        adapter.gate.set()
        assert [response.call_id async for response in call] == [announced]


async def test_sixty_four_calls_at_once_are_all_answered(tmp_path: Path) -> None:
    """Reads and writes mixed: each has its own answer and its own line."""
    async with served(tmp_path) as one:
        calls = [
            one.call("echo", json.dumps({"text": str(number)}))
            if number % 2
            else one.call("note", json.dumps({"path": str(number)}), key=f"k{number}")
            for number in range(64)
        ]
        responses = await asyncio.gather(*calls)
        said = [next(iter(json.loads(response.result.structured_json)["echo"].values())) for response in responses]
        assert said == [str(number) for number in range(64)]
        assert {response.call_id for response in responses} == {line["call_id"] for line in one.lines}
        assert len(one.lines) == 64


async def test_fifty_calls_with_one_key_are_one_effect(tmp_path: Path) -> None:
    """Over the wire too: one does it, the others conflict or replay."""
    async with served(tmp_path) as one:
        responses = await asyncio.gather(*(one.call("note", NOTE, key="k") for _ in range(50)))
        assert one.effects == 1
        assert len({response.effect_id for response in responses if response.HasField("result")}) == 1
        assert {reason(response) for response in responses if response.HasField("error")} <= {"key_in_progress"}
        assert len(one.lines) == 50


async def test_every_line_names_the_policy_also_of_a_call_that_never_reached_it(tmp_path: Path) -> None:
    """Who reads the audit knows what was in force."""
    async with served(tmp_path) as one:
        await one.call()
        await one.call("no_such_tool")
        await one.call("echo", "{")
        revision = one.gateway.describe().policy_revision
        assert revision
        assert [line["policy_revision"] for line in one.lines] == [revision] * 3


async def test_a_parked_call_is_pending(tmp_path: Path) -> None:
    """Its approval's id is in the answer and in the line; nothing was done."""
    async with served(tmp_path, engine=FakeEngine(PARK)) as one:
        response = await one.call("note", NOTE, key="k")
        assert response.pending.approval_id == one.lines[0]["approval_id"]
        assert one.effects == 0


async def test_a_denial_says_what_the_policys_author_says(tmp_path: Path) -> None:
    """Code, reason, and the author's own code, message and advice."""
    async with served(tmp_path, engine=FakeEngine(DENY)) as one:
        response = await one.call()
        assert (code(response), reason(response)) == ("permission_denied", "policy_denied")
        (said,) = response.error.policy_reasons
        assert (said.code, said.message, said.advice) == ("no.way", "No.", "Do else.")


async def test_a_message_has_at_most_512_bytes(tmp_path: Path) -> None:
    """However long what an author or an adapter says is."""
    adapter = FakeAdapter()
    adapter.failures.append(AdapterError(ErrorKind.INVALID, "ä" * 2000, happened=Happened.NO))
    async with served(tmp_path, adapter=adapter) as one:
        response = await one.call()
        assert 400 < len(response.error.message.encode()) <= 512


async def test_a_hidden_and_an_unknown_tool_are_the_same_bytes(tmp_path: Path) -> None:
    """Apart from the ids, which are new for each call and of one length."""
    async with served(tmp_path) as one:
        answers = []
        for tool in (HIDDEN, "echo_hiddem", "Echo", ""):
            response = await one.call(tool, "no json", key="k")
            assert len(response.call_id) == len(response.effect_id) == 32
            response.ClearField("call_id")
            response.ClearField("effect_id")
            answers.append(response.SerializeToString(deterministic=True))
        assert len(set(answers)) == 1
        assert len({tuple(line["steps_us"]) for line in one.lines}) == 1


# Numbers and keys on the wire.


async def test_g05_an_integer_beyond_two_to_the_53_is_refused_by_its_name(tmp_path: Path) -> None:
    """A double would have lost its last digit without a word; the message names the field."""
    async with served(tmp_path) as one:
        response = await one.call("echo", '{"text":"x","times":9007199254740993}')
        assert (code(response), reason(response)) == ("validation_failed", "arguments_malformed")
        assert [issue.path for issue in response.error.issues] == ["/times"]
        assert "string" in response.error.issues[0].message
        assert one.effects == 0
        assert len(one.lines) == 1


async def test_g05_an_id_as_a_string_and_a_small_integer_pass_exactly(tmp_path: Path) -> None:
    """The vendor gets that string, and 5 as an integer, also when it was written 5.0; so does policy."""
    engine = FakeEngine()
    async with served(tmp_path, engine=engine) as one:
        for five in ("5", "5.0"):
            await one.call("echo", f'{{"text":"9007199254740993","times":{five}}}')
        for invocation, document in zip(one.adapter.invocations, engine.documents, strict=True):
            assert invocation.arguments["text"] == "9007199254740993"
            assert (invocation.arguments["times"], type(invocation.arguments["times"])) == (5, int)
            assert b'"times":5}' in document
        assert len({line["arguments_digest"] for line in one.lines}) == 1


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
async def test_g05_what_is_no_number_is_refused(tmp_path: Path, number: str) -> None:
    """JSON has none of these."""
    async with served(tmp_path) as one:
        response = await one.call("echo", f'{{"text":"x","times":{number}}}')
        assert code(response) == "validation_failed"
        assert one.effects == 0


async def test_g06_an_argument_twice_is_refused(tmp_path: Path) -> None:
    """Nobody guesses which of the two was meant."""
    async with served(tmp_path) as one:
        response = await one.call("mail", '{"to":["team@corp.example"],"to":["x@evil.test"],"body":""}', key="k")
        assert (code(response), reason(response)) == ("validation_failed", "arguments_malformed")
        assert [(issue.path, issue.rule) for issue in response.error.issues] == [("/to", "duplicate_key")]
        assert one.effects == 0


# Sizes.


async def test_g03_a_write_whose_answer_is_5_mib_is_done_once_and_told_in_part(tmp_path: Path) -> None:
    """OK with the evidence of the cut, one effect; the same key replays what was told."""
    adapter = FakeAdapter()
    adapter.output = Output(structured={"body": "x" * (5 * 1024 * 1024)}, receipt="Written.")
    rows = registry_rows()
    async with served(tmp_path, rows=rows, adapter=adapter) as one:
        first = await one.call("note", NOTE, key="k")
        assert first.result.truncation.original_bytes > 5 * 1024 * 1024
        assert 0 < first.result.truncation.kept_bytes < 4 * 1024 * 1024
        assert list(first.result.truncation.paths) == ["/body"]
        assert first.ByteSize() < 4 * 1024 * 1024
        again = await one.call("note", NOTE, key="k")
        assert again.replay
        assert again.result == first.result
        assert one.effects == 1
        assert one.lines[0]["truncated"]


async def test_g03_a_request_with_a_string_of_4_mib_is_a_call_with_a_line(tmp_path: Path) -> None:
    """One stable reason, no effect, one line: it is not lost in the transport."""
    async with served(tmp_path) as one:
        arguments = orjson.dumps({"path": "a", "body": "x" * (4 * 1024 * 1024)})
        response = await one.call("note", arguments, key="k")
        assert (code(response), reason(response)) == ("validation_failed", "arguments_too_large")
        (line,) = one.lines
        assert (line["outcome"], line["reason"], line["stopped_at"]) == (
            "validation_failed",
            "arguments_too_large",
            "arguments",
        )
        assert one.effects == 0


async def test_a_request_at_the_bound_of_the_settings_passes(tmp_path: Path) -> None:
    """The size that the settings allow gets through the transport, both ways."""
    async with served(tmp_path, arguments=ArgumentSettings(max_bytes=4 * 1024 * 1024)) as one:
        response = await one.call("echo", orjson.dumps({"text": "x" * (4 * 1024 * 1024 - 100)}))
        assert response.result.truncation.original_bytes > 4 * 1024 * 1024 - 100


async def test_a_long_tool_name_reaches_the_line_in_part(tmp_path: Path) -> None:
    """It is a call of a tool that does not exist; what a caller chooses freely cannot fill the disk."""
    async with served(tmp_path) as one:
        response = await one.call("é\n\u202e" * 50_000)
        assert reason(response) == "tool_not_found"
        assert 0 < len(one.lines[0]["tool"]) <= 128
        written = b"".join(file.read_bytes() for file in (tmp_path / "state").rglob("*") if file.is_file())
        assert written.count(b"u202e") + written.count("\u202e".encode()) < 200


@pytest.mark.parametrize(("field", "most"), [("run_id", 128), ("step_id", 128), ("mode", 64)])
async def test_a_name_of_the_callers_own_is_taken_whole_or_not_at_all(tmp_path: Path, field: str, most: int) -> None:
    """At the bound it is in the line as it was sent; beyond it the envelope is invalid and there is no call."""
    async with served(tmp_path) as one:
        await one.call(**{field: "é" * most})
        assert one.lines[0][field] == "é" * most
        error = await refused(one.stub.CallTool(asked(**{field: "é" * (most + 1)}), timeout=20))
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert error.details() == f"{field} may have at most {most} characters"
        assert len(one.lines) == 1


# Statuses: no call.


async def test_an_envelope_that_cannot_be_read_is_invalid(tmp_path: Path) -> None:
    """Bytes that are no request: a status, and no call."""
    async with served(tmp_path) as one:
        for method in ("CallTool", "ExplainCall", "ListTools"):
            rough = one.channel.unary_unary(f"/gateway.v1.ToolService/{method}")
            error = await refused(rough(b"\xff\xfe garbage", timeout=20))
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert one.lines == []


async def test_a_caller_beyond_its_rate_is_told_when_to_come_back(tmp_path: Path) -> None:
    """RESOURCE_EXHAUSTED with `retry-after-ms`, for every RPC; no line, no effect."""
    limits = LimitSettings(caller=RateSettings(per_minute=1, burst=1))
    async with served(tmp_path, limits=limits) as one:
        await one.call()
        rpcs = (
            one.stub.CallTool(asked(), timeout=20),
            one.stub.ListTools(pb.ListToolsRequest(), timeout=20),
            one.stub.ExplainCall(pb.ExplainCallRequest(tool="echo"), timeout=20),
        )
        for call in rpcs:
            error = await refused(call)
            assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            metadata = all_metadata(error.trailing_metadata())
            assert 0 < int(metadata["retry-after-ms"]) <= 60_000
            assert metadata["tollhouse-reason"] == "caller_rate"
        assert (len(one.lines), one.effects) == (1, 1)


async def test_a_gateway_that_is_full_turns_callers_away(tmp_path: Path) -> None:
    """RESOURCE_EXHAUSTED at once; when there is room again, calls go on."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    async with served(tmp_path, adapter=adapter, limits=LimitSettings(max_in_flight=1)) as one:
        first = asyncio.ensure_future(one.call())
        await adapter.started.wait()
        error = await refused(one.stub.CallTool(asked(), timeout=20))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert error.details() == "the gateway is overloaded; ask again later"
        adapter.gate.set()
        assert (await first).HasField("result")
        assert (await one.call()).HasField("result")
        assert len(one.lines) == 2


async def test_a_method_that_is_not_served_is_unimplemented(tmp_path: Path) -> None:
    """A listener for agents serves ToolService, health and reflection, and nothing else."""
    async with served(tmp_path) as one:
        for method in (
            "/gateway.v1.ToolService/DeleteEverything",
            "/gateway.v1.ApprovalService/Decide",
            "/gateway.v1.RegistryService/PutTool",
        ):
            error = await refused(one.channel.unary_unary(method)(b"", timeout=20))
            assert error.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_g01_an_idle_agent_that_pings_is_not_cut_off(tmp_path: Path) -> None:
    """A ping each second for six, which is as often as a client can: the connection stays and calls go on over it."""
    pings = (
        ("grpc.keepalive_time_ms", 1000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
    )
    async with served(tmp_path, options=pings) as one:
        await asyncio.wait_for(one.channel.channel_ready(), 10)
        # A GOAWAY would end the state READY; grpc's own servers send one at the fourth ping.
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(one.channel.wait_for_state_change(grpc.ChannelConnectivity.READY), 6)
        assert (await one.call()).HasField("result")
        assert (await one.call("note", NOTE, key="k")).HasField("result")
        assert one.channel.get_state() is grpc.ChannelConnectivity.READY
        assert [(line["tool"], line["outcome"]) for line in one.lines] == [("echo", "ok"), ("note", "ok")]


# Health and reflection.


async def test_health_needs_no_identity_and_counts_against_no_rate(tmp_path: Path) -> None:
    """Where agents must bring tokens, a probe without one is answered, as often as it asks; there is no line."""
    listeners = (jwt_listener(tmp_path, Issuer()),)
    limits = LimitSettings(caller=RateSettings(per_minute=1, burst=1))
    async with served(tmp_path, listeners=listeners, limits=limits) as one:
        stub = health_rpc.HealthStub(one.channel)
        for service in ("", "gateway.v1.ToolService") * 5:
            response = await stub.Check(health.HealthCheckRequest(service=service), timeout=20)
            assert response.status == health.HealthCheckResponse.SERVING
        assert one.lines == []


async def test_reflection_names_the_services_and_no_tool(tmp_path: Path) -> None:
    """To anybody: what a listener serves is no secret, what an agent may call is."""
    async with served(tmp_path) as one:
        call = one.channel.stream_stream("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")()
        told = b""
        for question in (b"\x3a\x00", b"\x22\x16gateway.v1.ToolService"):
            await call.write(question)
            told += await call.read()
        await call.done_writing()
        assert await call.read() is grpc.aio.EOF
        for name in (b"gateway.v1.ToolService", b"grpc.health.v1.Health", b"grpc.reflection.v1.ServerReflection"):
            assert name in told
        for tool in registry_rows()["tools"]:
            assert tool["description"].encode() not in told
        assert HIDDEN.encode() not in told


# Leaving early.


async def test_g02_an_adapter_that_raises_cancelled_error_is_answered_at_once(tmp_path: Path) -> None:
    """The client is connected and patient, and gets a definite answer and not its own timeout; one line each."""
    adapter = FakeAdapter()
    async with served(tmp_path, adapter=adapter) as one:
        for tool, arguments, outcome in (("echo", '{"text":"x"}', "internal_error"), ("note", NOTE, "outcome_unknown")):
            adapter.failures.append(asyncio.CancelledError())
            began = time.monotonic()
            response = await one.call(tool, arguments, key="k")
            assert time.monotonic() - began < 1.0
            assert code(response) == outcome
        assert [line["outcome"] for line in one.lines] == ["internal_error", "unknown"]


async def test_a_client_whose_deadline_passes_cancels_a_read(tmp_path: Path) -> None:
    """DEADLINE_EXCEEDED for the client, one line for the call, the place free again."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    async with served(tmp_path, adapter=adapter, limits=LimitSettings(max_in_flight=1)) as one:
        error = await refused(one.stub.CallTool(asked(), timeout=0.2))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await asyncio.wait_for(until(lambda: len(one.lines) == 1), 5)
        assert one.lines[0]["outcome"] in {"cancelled", "deadline_exceeded"}
        adapter.gate.set()
        assert (await asyncio.wait_for(_once_there_is_room(one), 5)).HasField("result")


async def _once_there_is_room(one: Served) -> pb.CallToolResponse:
    """A call's answer; the place of the call before is given back a moment after its line is written."""
    while True:
        with contextlib.suppress(grpc.aio.AioRpcError):
            return await one.call()


async def test_a_client_whose_deadline_passes_during_a_write_finds_its_result_later(tmp_path: Path) -> None:
    """The write runs on; its line says ok and the key replays."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    async with served(tmp_path, adapter=adapter) as one:
        error = await refused(one.stub.CallTool(asked("note", NOTE, key="k"), timeout=0.3))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        adapter.gate.set()
        await asyncio.wait_for(until(lambda: len(one.lines) == 1), 5)
        assert (one.lines[0]["outcome"], one.lines[0]["happened"]) == ("ok", "yes")
        assert (await one.call("note", NOTE, key="k")).replay
        assert one.effects == 1


async def test_a_client_that_cancels_during_a_write_finds_its_result_later(tmp_path: Path) -> None:
    """A cancelled RPC is no cancelled effect."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    async with served(tmp_path, adapter=adapter) as one:
        call = one.stub.CallTool(asked("note", NOTE, key="k"), timeout=20)
        await adapter.started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        adapter.gate.set()
        await asyncio.wait_for(until(lambda: len(one.lines) == 1), 5)
        assert one.lines[0]["outcome"] == "ok"
        assert (await one.call("note", NOTE, key="k")).replay


async def test_a_call_in_flight_finishes_when_the_gateway_stops(tmp_path: Path) -> None:
    """The drain lets it end: an answer for the client, a line for the call."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    async with served(tmp_path, adapter=adapter) as one:
        call = asyncio.ensure_future(one.call("note", NOTE, key="k"))
        await adapter.started.wait()
        stopping = asyncio.ensure_future(one.gateway.stop())
        await asyncio.sleep(0)
        adapter.gate.set()
        assert (await call).HasField("result")
        await stopping
        assert [line["outcome"] for line in one.lines] == ["ok"]


async def test_a_write_whose_caller_left_finishes_when_the_gateway_stops(tmp_path: Path) -> None:
    """An agent and its sidecar are told to stop together: gRPC counts the call as over, its effect does not."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    async with served(tmp_path, adapter=adapter) as one:
        call = one.stub.CallTool(asked("note", NOTE, key="k"), timeout=20)
        await adapter.started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        stopping = asyncio.ensure_future(one.gateway.stop())
        done, _ = await asyncio.wait((stopping,), timeout=0.3)
        assert not done
        adapter.gate.set()
        await stopping
        assert [(line["outcome"], line["happened"]) for line in one.lines] == [("ok", "yes")]


async def test_a_write_that_outlasts_the_drain_still_has_its_line(tmp_path: Path) -> None:
    """The grace is short and the vendor slow: one line after the stop, and no second one at the next start."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    async with served(tmp_path, adapter=adapter, server=ServerSettings(drain_seconds=0.1)) as one:
        call = asyncio.ensure_future(one.call("note", NOTE, key="k"))
        await adapter.started.wait()
        stopping = asyncio.ensure_future(one.gateway.stop())
        await asyncio.wait((call,), timeout=10)
        adapter.gate.set()
        await stopping
        assert isinstance(call.exception(), grpc.aio.AioRpcError)
    async with served(tmp_path) as one:
        assert len(one.lines) == 1
        response = await one.call("note", NOTE, key="k")
        assert response.replay
        assert response.result.receipt == "Done."
        assert one.effects == 0


# Listing and explaining.


async def list_all(one: Served, size: int) -> list[list[str]]:
    """The names on every page."""
    pages, token = [], ""
    while True:
        page = await one.stub.ListTools(pb.ListToolsRequest(page_size=size, page_token=token), timeout=20)
        pages.append([tool.name for tool in page.tools])
        token = page.next_page_token
        if not token:
            return pages


async def test_tools_are_listed_by_name_in_pages(tmp_path: Path) -> None:
    """Each once, in order, whatever the page's size; the hidden one never."""
    names = sorted(tool["name"] for tool in registry_rows()["tools"] if tool["name"] != HIDDEN)
    async with served(tmp_path) as one:
        for size in (0, 1, 5, len(names), 4_000_000_000):
            pages = await list_all(one, size)
            assert [name for page in pages for name in page] == names
            assert all(len(page) <= (size or 200) for page in pages)
        after_all = await one.stub.ListTools(pb.ListToolsRequest(page_token="zzz"), timeout=20)
        assert (list(after_all.tools), after_all.next_page_token) == ([], "")


async def test_g03_a_page_of_large_tools_is_one_that_a_client_takes(tmp_path: Path) -> None:
    """However large descriptions and schemas are: no page is beyond 4 MiB, and each tool is listed once."""
    rows = registry_rows()
    for tool in rows["tools"]:
        tool["description"] = "€" * 150_000
    async with served(tmp_path, rows=rows) as one, grpc.aio.insecure_channel(one.address()) as plain:
        one.stub = rpc.ToolServiceStub(plain)  # a client that was told nothing of sizes
        pages = await list_all(one, 0)
        assert len(pages) > 2
        names = [name for page in pages for name in page]
        assert names == sorted(set(names))
        assert len(names) == len(rows["tools"]) - 1


async def test_a_listed_tool_is_what_a_model_needs_and_no_more(tmp_path: Path) -> None:
    """Name, title, description, schemas; no scope, binding, connection or credential."""
    async with served(tmp_path) as one:
        page = await one.stub.ListTools(pb.ListToolsRequest(), timeout=20)
        (tool,) = [tool for tool in page.tools if tool.name == "echo_sealed"]
        assert json.loads(tool.input_schema_json)["required"] == ["text"]
        raw = page.SerializeToString()
        for word in (b"FAKE_TOKEN", b"api.fake.example", b"test:read", b"sealed\x00", b"connection"):
            assert word not in raw


async def test_explain_leaves_a_line_of_its_own_kind_and_does_nothing(tmp_path: Path) -> None:
    """Effect, revision, no error; nothing was asked of the vendor."""
    async with served(tmp_path) as one:
        request = pb.ExplainCallRequest(tool="note", arguments_json=NOTE.encode(), idempotency_key="k")
        response = await one.stub.ExplainCall(request, timeout=20)
        assert response.effect == pb.EFFECT_ALLOW
        assert response.policy_revision.startswith("sha256:")
        assert not response.HasField("error")
        (line,) = one.lines
        assert (line["kind"], line["call_id"]) == ("explain", response.call_id)
        assert one.effects == 0


async def test_explain_says_why_not(tmp_path: Path) -> None:
    """A denial with the author's reasons, and the error that a call would get."""
    async with served(tmp_path, engine=FakeEngine(DENY)) as one:
        response = await one.stub.ExplainCall(pb.ExplainCallRequest(tool="echo", arguments_json=b'{"text":"x"}'))
        assert response.effect == pb.EFFECT_DENY
        assert [said.code for said in response.policy_reasons] == ["no.way"]
        assert reason(response) == "policy_denied"
        hidden = await one.stub.ExplainCall(pb.ExplainCallRequest(tool=HIDDEN))
        assert reason(hidden) == "tool_not_found"
        assert hidden.effect == pb.EFFECT_UNSPECIFIED


# Tokens over TCP.


def jwt_listener(folder: Path, issuer: Issuer) -> Listener:
    """A TCP listener whose callers bring tokens."""
    jwks = issuer.publish(folder / "jwks.json")
    identity = JwtIdentity(kind="jwt", issuer=ISSUER, audience=AUDIENCE, jwks_file=jwks)
    return Listener(name="agents", address="127.0.0.1:0", identity=identity)


async def test_tokens_say_who_calls(tmp_path: Path) -> None:
    """The principal of the line is the token's; its scopes are what the token holds."""
    issuer = Issuer()
    async with served(tmp_path, listeners=(jwt_listener(tmp_path, issuer),)) as one:
        metadata = (("authorization", f"Bearer {issuer.token(now=time.time(), scope='test:read')}"),)
        read = await one.stub.CallTool(asked(), metadata=metadata, timeout=20)
        write = await one.stub.CallTool(asked("note", NOTE, key="k"), metadata=metadata, timeout=20)
        assert read.HasField("result")
        assert reason(write) == "scope_missing"
        assert [(line["principal"], line["proof"]) for line in one.lines] == [("run-7", "jwt")] * 2


@pytest.mark.parametrize("proof", ["none", "garbage", "expired", "stranger", "audience"])
async def test_a_caller_without_proof_is_unauthenticated(tmp_path: Path, proof: str) -> None:
    """Every RPC, with one sentence that says nothing of why; no call, no line."""
    issuer, now = Issuer(), time.time()
    tokens = {
        "garbage": "a.b.c",
        "expired": issuer.token(now=now - 3600),
        "stranger": Issuer().token(now=now),
        "audience": issuer.token(now=now, aud="other"),
    }
    metadata = (("authorization", f"Bearer {tokens[proof]}"),) if proof != "none" else ()
    async with served(tmp_path, listeners=(jwt_listener(tmp_path, issuer),)) as one:
        for call in (
            one.stub.CallTool(asked(), metadata=metadata, timeout=20),
            one.stub.ListTools(pb.ListToolsRequest(), metadata=metadata, timeout=20),
            one.stub.ExplainCall(pb.ExplainCallRequest(), metadata=metadata, timeout=20),
        ):
            error = await refused(call)
            assert error.code() is grpc.StatusCode.UNAUTHENTICATED
            assert error.details() == "show who you are: no valid proof of identity"
        assert one.lines == []


async def test_each_listener_knows_its_own_callers(tmp_path: Path) -> None:
    """A token is worth nothing on a socket of a fixed agent, and the socket's agent is nobody on TCP."""
    issuer = Issuer()
    from fakes.served import identity, socket_listener

    listeners = (socket_listener(tmp_path, identity=identity(agent="nobody")), jwt_listener(tmp_path, issuer))
    async with served(tmp_path, listeners=listeners) as one:
        metadata = (("authorization", f"Bearer {issuer.token(now=time.time(), scope='test:read')}"),)
        on_socket = await one.stub.CallTool(asked(), metadata=metadata, timeout=20)
        assert reason(on_socket) == "tool_not_found"
        async with channel_to(one.address(1)) as channel:
            stub = rpc.ToolServiceStub(channel)
            assert (await stub.CallTool(asked(), metadata=metadata, timeout=20)).HasField("result")
            assert (await refused(stub.CallTool(asked(), timeout=20))).code() is grpc.StatusCode.UNAUTHENTICATED


async def test_no_byte_of_a_credential_leaves_or_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vendor says it back: it is neither on the wire nor in any file below the state directory."""
    monkeypatch.setenv("FAKE_TOKEN", TOKEN)
    adapter = FakeAdapter()
    adapter.output = Output(structured={"said": TOKEN}, receipt=TOKEN)
    async with served(tmp_path, adapter=adapter) as one:
        response = await one.call("note_sealed", json.dumps({"path": TOKEN}), key="k")
        assert adapter.credentials == [TOKEN]
        assert TOKEN.encode() not in response.SerializeToString()
    for file in (tmp_path / "state").rglob("*"):
        assert file.is_dir() or TOKEN.encode() not in file.read_bytes()


async def test_g11_a_send_whose_answer_comes_too_late_is_never_sent_again(tmp_path: Path) -> None:
    """The vendor did it and nobody heard: the same key says that nobody knows, at once, again, and after a restart."""
    late = AdapterError(ErrorKind.DEADLINE, "The vendor did not answer in time.", happened=Happened.UNKNOWN)
    adapter = FakeAdapter()
    adapter.failures = [late]
    async with served(tmp_path, adapter=adapter) as one:
        for _ in range(3):
            assert reason(await one.call("note", NOTE, key="k")) == "outcome_unknown"
        assert one.effects == 1
    async with served(tmp_path) as one:
        response = await one.call("note", NOTE, key="k")
        assert (reason(response), response.replay, one.effects) == ("outcome_unknown", True, 0)
        assert [line["outcome"] for line in one.lines] == ["unknown"] * 4
