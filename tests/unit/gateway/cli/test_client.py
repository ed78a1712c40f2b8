"""The client turns answers into plain JSON values, and every failure to get one into a sentence."""

import json
from pathlib import Path

import grpc
import pytest
from fakes.certificates import TlsAuthority
from fakes.tool_service import CannedToolService, canned_gateway

from gateway.cli.client import Asked, TlsFiles, Where, connected, where
from gateway.errors import Code, Reason, StartError
from gateway.v1 import codes_pb2
from gateway.v1 import tool_service_pb2 as pb

ASKED = Asked(tool="t", arguments_json=b"{}", key="k", run="r")


def _answer(service: CannedToolService, tmp_path: Path) -> dict[str, object]:
    socket = tmp_path / "s"
    with canned_gateway(service, socket), connected(Where(target=f"unix:{socket}"), timeout_seconds=10) as client:
        return client.call(ASKED).value


def _failure(service: CannedToolService, tmp_path: Path) -> str:
    with pytest.raises(StartError) as caught:
        _answer(service, tmp_path)
    return caught.value.message


def test_every_page_of_tools_is_read(tmp_path: Path) -> None:
    """The client goes on until there is no next page."""
    service = CannedToolService(
        tools=[pb.Tool(name=f"t{i}", input_schema_json=b'{"type":"object"}') for i in range(5)], page_size=2
    )
    socket = tmp_path / "s"
    with canned_gateway(service, socket), connected(Where(target=f"unix:{socket}")) as client:
        found = client.tools()
    assert [tool["name"] for tool in found] == ["t0", "t1", "t2", "t3", "t4"]
    assert found[0]["input_schema"] == {"type": "object"}
    assert found[0]["output_schema"] is None


def test_a_result_is_a_json_value_with_everything_in_it(tmp_path: Path) -> None:
    """Blocks, structured output, receipt, truncation, labels and redactions are all there."""
    result = pb.ToolResult(
        content=[
            pb.ContentBlock(text=pb.TextBlock(text="hello")),
            pb.ContentBlock(binary=pb.BinaryBlock(mime_type="image/png", data=b"\x00\xff")),
        ],
        structured_json=b'{"n":9007199254740993}',
        receipt="Done.",
        truncation=pb.Truncation(
            limit=pb.TRUNCATION_LIMIT_RESULT_BYTES,
            original_bytes=9,
            kept_bytes=3,
            paths=["/n"],
            at_least=True,
            artifact_id="x1",
        ),
        labels=["untrusted"],
        redacted_paths=["/x"],
    )
    service = CannedToolService(
        answer=lambda _: pb.CallToolResponse(call_id="c", effect_id="e", replay=True, result=result)
    )
    assert _answer(service, tmp_path) == {
        "call_id": "c",
        "effect_id": "e",
        "replay": True,
        "result": {
            "content": [{"text": "hello"}, {"mime_type": "image/png", "data_base64": "AP8="}],
            "structured": {"n": 9007199254740993},
            "receipt": "Done.",
            "truncation": {
                "limit": "result_bytes",
                "original_bytes": 9,
                "kept_bytes": 3,
                "paths": ["/n"],
                "at_least": True,
                "artifact_id": "x1",
            },
            "labels": ["untrusted"],
            "redacted_paths": ["/x"],
        },
    }
    (request,) = service.asked
    assert (request.tool, request.arguments_json, request.idempotency_key, request.run_id) == ("t", b"{}", "k", "r")


def test_an_error_is_told_in_the_gateways_own_words(tmp_path: Path) -> None:
    """Code and reason are the names that the gateway uses inside."""
    error = pb.ToolError(
        code=codes_pb2.CODE_VALIDATION_FAILED,
        reason=codes_pb2.REASON_ARGUMENTS_INVALID,
        message="no",
        issues=[pb.FieldIssue(path="/a", rule="required", message="is missing")],
        policy_reasons=[pb.PolicyReason(code="x", message="m", advice="a")],
        retry_after_ms=7,
    )
    service = CannedToolService(answer=lambda _: pb.CallToolResponse(error=error))
    told = _answer(service, tmp_path)["error"]
    assert told == {
        "code": Code.VALIDATION_FAILED,
        "reason": Reason.ARGUMENTS_INVALID,
        "message": "no",
        "issues": [{"path": "/a", "rule": "required", "message": "is missing"}],
        "policy_reasons": [{"code": "x", "message": "m", "advice": "a"}],
        "retry_after_ms": 7,
    }


def test_a_pending_call_names_its_approval(tmp_path: Path) -> None:
    """What waits for a person is neither a result nor an error."""
    pending = pb.PendingCall(approval_id="a1", message="wait", state=pb.PENDING_STATE_APPROVAL)
    service = CannedToolService(answer=lambda _: pb.CallToolResponse(pending=pending))
    value = _answer(service, tmp_path)
    assert value["pending"] == {"approval_id": "a1", "message": "wait", "policy_reasons": [], "state": "approval"}


def test_a_call_can_be_asked_for_and_followed(tmp_path: Path) -> None:
    """GetCall tells how it stands; WatchCall each change, and last how it ended."""
    running = pb.CallToolResponse(call_id="c1", pending=pb.PendingCall(state=pb.PENDING_STATE_RUNNING))
    done = pb.CallToolResponse(call_id="c1", result=pb.ToolResult(receipt="Done."))
    service = CannedToolService(seen=[pb.WatchCallResponse(call=call) for call in (running, done)])
    with canned_gateway(service, tmp_path / "s"), connected(Where(target=f"unix:{tmp_path / 's'}")) as client:
        followed = [answered.value for answered in client.watch("c1")]
        assert client.get("c1").value == followed[1]
    assert [request.call_id for request in service.asked] == ["c1", "c1"]
    assert followed[0]["pending"]["state"] == "running"
    assert followed[1]["result"]["receipt"] == "Done."


def test_a_call_that_cannot_be_followed_is_a_sentence(tmp_path: Path) -> None:
    """As every other status."""
    service = CannedToolService(status=grpc.StatusCode.UNAUTHENTICATED)
    with (
        canned_gateway(service, tmp_path / "s"),
        connected(Where(target=f"unix:{tmp_path / 's'}")) as client,
        pytest.raises(StartError, match="does not know you"),
    ):
        list(client.watch("c1"))


def test_an_explanation_tells_effect_revision_and_refusal(tmp_path: Path) -> None:
    """`error` is there exactly when a call would be refused."""
    service = CannedToolService(
        explanation=pb.ExplainCallResponse(
            call_id="c",
            effect=pb.EFFECT_DENY,
            policy_revision="sha256:1",
            error=pb.ToolError(code=codes_pb2.CODE_PERMISSION_DENIED, reason=codes_pb2.REASON_POLICY_DENIED),
        )
    )
    socket = tmp_path / "s"
    with canned_gateway(service, socket), connected(Where(target=f"unix:{socket}")) as client:
        denied = client.explain(ASKED)
        service.explanation = pb.ExplainCallResponse(effect=pb.EFFECT_ALLOW)
        allowed = client.explain(ASKED)
    assert (denied["effect"], denied["policy_revision"], denied["error"]["reason"]) == (
        "deny",
        "sha256:1",
        "policy_denied",
    )
    assert allowed["effect"] == "allow"
    assert "error" not in allowed


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (grpc.StatusCode.UNAUTHENTICATED, "does not know you"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "may still be carried out"),
        (grpc.StatusCode.UNIMPLEMENTED, "does not serve this"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "(resource_exhausted): slow down"),
        (grpc.StatusCode.UNAVAILABLE, "went away before it answered"),
    ],
)
def test_a_status_is_a_sentence(status: grpc.StatusCode, sentence: str, tmp_path: Path) -> None:
    """No answer came, and the user is told why and what to do."""
    assert sentence in _failure(CannedToolService(status=status, details="slow down"), tmp_path)


def test_no_gateway_is_a_sentence_that_says_how_to_start_one(tmp_path: Path) -> None:
    """A socket that is not there, a closed port and an unknown host."""
    for target in (f"unix:{tmp_path / 'nothing'}", "127.0.0.1:1"):
        with pytest.raises(StartError, match="start one with"), connected(Where(target=target)) as client:
            client.tools()


def test_the_gateways_own_refusal_is_told_with_the_wait(tmp_path: Path) -> None:
    """Its sentence, and when to come back."""
    trailing = (("tollhouse-reason", "journal_unavailable"), ("retry-after-ms", "1500"))
    service = CannedToolService(status=grpc.StatusCode.UNAVAILABLE, details="The disk is full.", trailing=trailing)
    message = _failure(service, tmp_path)
    assert message == "the gateway refused the request (unavailable): The disk is full. Ask again in 1.5 s."


def test_a_socket_that_is_not_ours_is_a_sentence(tmp_path: Path) -> None:
    """Who may open it is up to the listener."""
    text = "failed to connect to all addresses; last error: UNKNOWN: connect failed: Permission denied"
    service = CannedToolService(status=grpc.StatusCode.UNAVAILABLE, details=text)
    assert "this user may not open" in _failure(service, tmp_path)


@pytest.mark.parametrize(
    "response",
    [
        pb.CallToolResponse(call_id="c"),
        pb.CallToolResponse(result=pb.ToolResult(structured_json=b"{")),
    ],
)
def test_an_answer_that_is_none_is_a_sentence(response: pb.CallToolResponse, tmp_path: Path) -> None:
    """An outcome that is missing or is not JSON does not become an empty success."""
    assert "the gateway's answer" in _failure(CannedToolService(answer=lambda _: response), tmp_path)


def test_the_token_is_shown_and_never_printed(tmp_path: Path) -> None:
    """A token goes into the metadata of a loopback call, and into no repr."""
    file = tmp_path / "token"
    file.write_text("abc.def\n")
    service = CannedToolService()
    with canned_gateway(service, tmp_path / "s") as port:
        to = where(socket=Path("unused"), address=f"127.0.0.1:{port}", token_file=file)
        with connected(to) as client:
            client.tools()
    assert service.metadata[0]["authorization"] == "Bearer abc.def"
    assert "abc" not in repr(to)


def test_a_token_is_not_sent_in_the_clear_to_another_machine(tmp_path: Path) -> None:
    """Only loopback gets a token without TLS."""
    file = tmp_path / "token"
    file.write_text("abc")
    for address in ("gateway.example:7000", "10.0.0.1:7000", "127.0.0.1.example:7000"):
        with pytest.raises(StartError, match="in the clear"):
            where(socket=Path("unused"), address=address, token_file=file)
    for address in ("127.0.0.1:7000", "[::1]:7000", "localhost:7000"):
        assert where(socket=Path("unused"), address=address, token_file=file).token == "abc"


@pytest.mark.parametrize("text", ["", "two words", "line\nline", "a\x00b", "ü"])
def test_a_file_without_one_token_is_refused(text: str, tmp_path: Path) -> None:
    """What cannot be a token is never sent, and never repeated in the sentence."""
    file = tmp_path / "token"
    file.write_text(text)
    with pytest.raises(StartError) as caught:
        where(socket=Path("unused"), address="127.0.0.1:1", token_file=file)
    assert not text or text not in caught.value.message


def test_a_missing_or_huge_token_file_is_refused(tmp_path: Path) -> None:
    """Both are sentences."""
    huge = tmp_path / "huge"
    huge.write_text("a" * 20_000)
    for file in (tmp_path / "none", huge):
        with pytest.raises(StartError, match="token"):
            where(socket=Path("unused"), address="127.0.0.1:1", token_file=file)


def test_a_token_without_an_address_is_a_mistake(tmp_path: Path) -> None:
    """It would not be sent, so the user is told."""
    with pytest.raises(StartError, match="go with --address"):
        where(socket=Path("s"), address="", token_file=tmp_path)


def _tls_files(folder: Path, authority: TlsAuthority, client: TlsAuthority | None = None) -> TlsFiles:
    """What a person gives the command: who to trust, and a certificate of the other authority."""
    (folder / "trusted.pem").write_bytes(authority.pem)
    if client is None:
        return TlsFiles(ca_file=folder / "trusted.pem")
    issued = client.pair("agent.example")
    (folder / "mine.pem").write_bytes(issued.cert + issued.key)
    return TlsFiles(ca_file=folder / "trusted.pem", cert_file=folder / "mine.pem", cert_key_file=folder / "mine.pem")


def test_over_tls_a_token_may_go_anywhere_and_a_certificate_is_shown(tmp_path: Path) -> None:
    """The gateway is trusted by its authority, the caller by its own."""
    authority, callers, service = TlsAuthority(), TlsAuthority(), CannedToolService()
    (tmp_path / "token").write_text("abc")
    issued = authority.pair("localhost")
    server = grpc.ssl_server_credentials([(issued.key, issued.cert)], callers.pem, require_client_auth=True)
    files = _tls_files(tmp_path, authority, callers)
    with canned_gateway(service, tmp_path / "s", server) as port:
        to = where(socket=Path("unused"), address=f"localhost:{port}", token_file=tmp_path / "token", tls=files)
        with connected(to) as client:
            assert client.tools() == []
        stranger = where(
            socket=Path("unused"),
            address=f"localhost:{port}",
            token_file=None,
            tls=_tls_files(tmp_path, TlsAuthority()),
        )
        with (
            connected(stranger, timeout_seconds=10) as client,
            pytest.raises(StartError, match="do not trust each other"),
        ):
            client.tools()
    assert service.metadata[0]["authorization"] == "Bearer abc"
    elsewhere = where(socket=Path("unused"), address="gateway.example:1", token_file=tmp_path / "token", tls=files)
    assert elsewhere.token == "abc"


def test_tls_files_that_cannot_be_used_are_sentences(tmp_path: Path) -> None:
    """Half a pair, no PEM, nothing there, or no address to use them at."""
    (tmp_path / "text").write_text("secret")
    (tmp_path / "huge").write_bytes(b"-----BEGIN X" + bytes(1024 * 1024))
    for files, sentence in (
        (TlsFiles(cert_file=tmp_path / "text"), "go together"),
        (TlsFiles(ca_file=tmp_path / "text", cert_key_file=tmp_path / "text"), "go together"),
        (TlsFiles(ca_file=tmp_path / "text"), "is no PEM file"),
        (TlsFiles(ca_file=tmp_path / "huge"), "is no PEM file"),
        (TlsFiles(ca_file=tmp_path / "none"), "cannot be read"),
    ):
        with pytest.raises(StartError, match=sentence):
            where(socket=Path("unused"), address="gateway.example:1", token_file=None, tls=files)
    with pytest.raises(StartError, match="go with --address"):
        where(socket=Path("s"), address="", token_file=None, tls=TlsFiles(ca_file=tmp_path / "text"))


def test_the_outcomes_bytes_are_kept(tmp_path: Path) -> None:
    """Two answers can be compared byte for byte."""
    error = pb.ToolError(message="same")
    service = CannedToolService(answer=lambda request: pb.CallToolResponse(call_id=request.tool, error=error))
    socket = tmp_path / "s"
    with canned_gateway(service, socket), connected(Where(target=f"unix:{socket}")) as client:
        one = client.call(Asked(tool="a", arguments_json=b"{}"))
        other = client.call(Asked(tool="b", arguments_json=b"{}"))
    assert one.outcome == other.outcome == error.SerializeToString()
    assert json.dumps(one.value) != json.dumps(other.value)
