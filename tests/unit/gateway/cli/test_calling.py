"""`tools`, `call` and `explain` show what an agent would get, harmlessly; 0 is only for what was carried out."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.tool_service import CannedToolService, canned_gateway

from gateway.cli.root import run
from gateway.v1 import codes_pb2
from gateway.v1 import tool_service_pb2 as pb

Told = pytest.CaptureFixture[str]

HOSTILE = "\x1b[2J[bold]x[/bold]\u202e\r"


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CannedToolService]:
    """A canned gateway, found by TOLLHOUSE_SOCKET."""
    made = CannedToolService()
    monkeypatch.setenv("TOLLHOUSE_SOCKET", str(tmp_path / "s"))
    monkeypatch.setenv("COLUMNS", "160")
    with canned_gateway(made, tmp_path / "s"):
        yield made


def _will_answer(service: CannedToolService, **outcome: object) -> None:
    service.answer = lambda _request: pb.CallToolResponse(call_id="c1", effect_id="e1", **outcome)  # type: ignore[arg-type]


def test_a_result_is_shown_and_is_zero(service: CannedToolService, capsys: Told) -> None:
    """Receipt, text, structured output, what was cut, labels and the call's id."""
    result = pb.ToolResult(
        content=[
            pb.ContentBlock(text=pb.TextBlock(text="two\nlines")),
            pb.ContentBlock(binary=pb.BinaryBlock(mime_type="image/png", data=b"x")),
        ],
        structured_json='{"city":"Łódź"}'.encode(),
        receipt="Done.",
        truncation=pb.Truncation(limit=pb.TRUNCATION_LIMIT_RESULT_BYTES, original_bytes=9, kept_bytes=3),
        labels=["untrusted"],
    )
    _will_answer(service, result=result)
    assert run(["call", "t", '{"a": 1}', "--key", "k", "--run", "r"]) == 0
    shown = capsys.readouterr().out
    for words in ("ok Done.", "two\nlines", "image/png", "Łódź", "3 of 9 bytes", "untrusted", "call c1"):
        assert words in shown
    (request,) = service.asked
    assert (request.tool, request.arguments_json, request.idempotency_key, request.run_id) == (
        "t",
        b'{"a": 1}',
        "k",
        "r",
    )


def test_a_refusal_is_shown_and_is_one(service: CannedToolService, capsys: Told) -> None:
    """Code, message, issues, the policy's reasons with advice, and when to ask again."""
    error = pb.ToolError(
        code=codes_pb2.CODE_PERMISSION_DENIED,
        reason=codes_pb2.REASON_POLICY_DENIED,
        message="No.",
        issues=[pb.FieldIssue(path="/a", rule="required", message="is missing")],
        policy_reasons=[pb.PolicyReason(code="x", message="Not him.", advice="Ask her.")],
        retry_after_ms=1500,
    )
    _will_answer(service, error=error)
    assert run(["call", "t"]) == 1
    shown = capsys.readouterr().out
    for words in ("permission_denied No.", "/a: is missing (required)", "x: Not him. Ask her.", "in 1.5 s"):
        assert words in shown


def test_a_pending_call_is_one(service: CannedToolService, capsys: Told) -> None:
    """It was not carried out; the approval is named."""
    _will_answer(service, pending=pb.PendingCall(approval_id="a1", message="Wait."))
    assert run(["call", "t"]) == 1
    assert "approval a1" in capsys.readouterr().out


def test_json_is_the_whole_answer(service: CannedToolService, capsys: Told) -> None:
    """For a script, with the same exit codes."""
    _will_answer(service, error=pb.ToolError(code=codes_pb2.CODE_NOT_FOUND, message=HOSTILE))
    assert run(["call", "t", "--json"]) == 1
    shown = capsys.readouterr().out
    assert json.loads(shown)["error"]["message"] == HOSTILE
    assert shown.strip().isprintable()


def test_hostile_answers_are_harmless(service: CannedToolService, capsys: Told) -> None:
    """Wherever in an answer they stand."""
    reason = pb.PolicyReason(code=HOSTILE, message=HOSTILE, advice=HOSTILE)
    result = pb.ToolResult(
        content=[pb.ContentBlock(text=pb.TextBlock(text=HOSTILE))],
        structured_json=json.dumps({HOSTILE: HOSTILE}).encode(),
        receipt=HOSTILE,
        labels=[HOSTILE],
    )
    error = pb.ToolError(
        message=HOSTILE, issues=[pb.FieldIssue(path=HOSTILE, message=HOSTILE)], policy_reasons=[reason]
    )
    service.tools = [
        pb.Tool(name=HOSTILE, description=HOSTILE, input_schema_json=json.dumps({"properties": {HOSTILE: {}}}).encode())
    ]
    service.explanation = pb.ExplainCallResponse(policy_revision=HOSTILE, effect=pb.EFFECT_DENY, error=error)
    for outcome in (
        {"result": result},
        {"error": error},
        {"pending": pb.PendingCall(approval_id=HOSTILE, message=HOSTILE)},
    ):
        _will_answer(service, **outcome)
        run(["call", "t"])
    run(["explain", "t"])
    run(["tools"])
    told = capsys.readouterr()
    shown = told.out + told.err
    assert not {"\x1b", "\u202e", "\r"} & set(shown)
    assert "[bold]x[/bold]" in shown


def test_arguments_come_from_standard_input(service: CannedToolService, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads them as they are: the gateway judges them."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a":\xff}')))
    run(["call", "t", "-"])
    assert service.asked[0].arguments_json == b'{"a":\xff}'


def test_endless_standard_input_is_refused(
    service: CannedToolService, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    """It is not read to its end, and nothing is asked."""
    monkeypatch.setattr("gateway.cli.calling.LARGEST_ARGUMENTS", 10)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * 11)))
    assert run(["call", "t", "-"]) == 2
    assert "no gateway takes so many" in capsys.readouterr().err
    assert service.asked == []


@pytest.mark.parametrize(
    ("explanation", "code", "words"),
    [
        (pb.ExplainCallResponse(effect=pb.EFFECT_ALLOW, policy_revision="sha256:1"), 0, "would be carried out"),
        (pb.ExplainCallResponse(effect=pb.EFFECT_REQUIRE_APPROVAL), 1, "require_approval"),
        (pb.ExplainCallResponse(effect=pb.EFFECT_DENY, error=pb.ToolError(message="No.")), 1, "No."),
        (pb.ExplainCallResponse(effect=pb.EFFECT_ALLOW, error=pb.ToolError(message="Key used.")), 1, "Key used."),
        (pb.ExplainCallResponse(error=pb.ToolError(message="There is no such tool.")), 1, "no such tool"),
    ],
)
def test_an_explanation_is_zero_only_for_what_would_run(
    explanation: pb.ExplainCallResponse, code: int, words: str, service: CannedToolService, capsys: Told
) -> None:
    """As text and as JSON."""
    service.explanation = explanation
    assert run(["explain", "t"]) == code
    assert words in capsys.readouterr().out
    assert run(["explain", "t", "--json"]) == code
    assert json.loads(capsys.readouterr().out)["effect"]


def test_tools_are_listed(service: CannedToolService, capsys: Told) -> None:
    """With their arguments; those that may be left out have a question mark."""
    schema = {"properties": {"a": {}, "b": {}}, "required": ["a"]}
    service.tools = [pb.Tool(name="one", description="Does it.", input_schema_json=json.dumps(schema).encode())]
    assert run(["tools"]) == 0
    shown = capsys.readouterr().out
    assert "one" in shown
    assert "a, b?" in shown
    assert run(["tools", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tools"][0]["input_schema"] == schema


def test_no_tools_is_a_sentence(service: CannedToolService, capsys: Told) -> None:
    """That says where an agent's tools come from."""
    assert service.tools == []
    assert run(["tools"]) == 0
    assert "You see no tool here" in capsys.readouterr().out


def test_no_gateway_is_two(tmp_path: Path, capsys: Told) -> None:
    """With a sentence on how to start one."""
    assert run(["tools", "--socket", str(tmp_path / "nothing")]) == 2
    assert "start one with `tollhouse serve`" in capsys.readouterr().err


def test_a_handle_is_shown_with_how_to_follow_it(service: CannedToolService, capsys: Told) -> None:
    """It was asked for with --yield-after; the call is not carried out yet."""
    _will_answer(service, pending=pb.PendingCall(message="Running.", state=pb.PENDING_STATE_RUNNING))
    assert run(["call", "t", "--yield-after", "250"]) == 1
    shown = capsys.readouterr().out
    assert "pending Running." in shown
    assert "tollhouse calls watch c1" in shown
    assert "approval" not in shown
    assert service.asked[0].yield_after_ms == 250


def test_a_cut_result_says_where_the_whole_is(service: CannedToolService, capsys: Told) -> None:
    """When it is kept."""
    cut = pb.Truncation(
        limit=pb.TRUNCATION_LIMIT_RESULT_BYTES, original_bytes=9, kept_bytes=3, artifact_id="the-artifact"
    )
    _will_answer(service, result=pb.ToolResult(truncation=cut))
    assert run(["call", "t"]) == 0
    assert "tollhouse calls artifact the-artifact" in capsys.readouterr().out
