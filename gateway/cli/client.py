"""A caller of ToolService, for the client commands and the demo's agent. Answers are plain JSON values."""

import base64
import ipaddress
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from gateway.errors import StartError
from gateway.v1 import codes_pb2
from gateway.v1 import tool_service_pb2 as pb
from gateway.v1.tool_service_pb2_grpc import ToolServiceStub

Json = dict[str, Any]

PAGE_SIZE = 200
LARGEST_ANSWER_BYTES = 16 * 1024 * 1024
LARGEST_TOKEN_BYTES = 16 * 1024
LARGEST_PEM_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """Who may vouch for the gateway, and the certificate to show it. With `ca_file` or `cert_file` TLS is spoken."""

    ca_file: Path | None = None
    """Certificates that may vouch for the gateway, PEM; those that gRPC brings along when left out."""
    cert_file: Path | None = None
    """The caller's own certificate chain, PEM."""
    cert_key_file: Path | None = None
    """Its private key, PEM."""

    @property
    def are_named(self) -> bool:
        """Whether TLS is spoken."""
        return self.ca_file is not None or self.cert_file is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Which gateway to ask, and what to show it."""

    target: str
    """As gRPC writes it: `unix:PATH` or `HOST:PORT`."""
    token: str = field(default="", repr=False)
    tls: grpc.ChannelCredentials | None = field(default=None, repr=False)
    """How to speak TLS; None for a connection in the clear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One call that is to be made or explained."""

    tool: str
    arguments_json: bytes = field(repr=False)
    key: str = ""
    run: str = ""
    yield_after_ms: int = 0
    """After how long a handle is wanted instead of an answer; 0: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer as a JSON value, and the bytes of its outcome as they came."""

    value: Json = field(repr=False)
    outcome: bytes = field(repr=False)


IN_THE_CLEAR = TlsFiles()


def where(*, socket: Path, address: str, token_file: Path | None, tls: TlsFiles = IN_THE_CLEAR) -> Where:
    """The gateway behind the options of a client command. Raises `StartError`."""
    if not address:
        if token_file is not None or tls != IN_THE_CLEAR:
            raise StartError("--token-file, --ca, --cert and --cert-key go with --address; a socket needs none of them")
        return Where(target=f"unix:{socket.absolute()}")
    if (tls.cert_file is None) != (tls.cert_key_file is None):
        raise StartError("--cert and --cert-key go together: a certificate, and the private key that fits it")
    if token_file is not None and not tls.are_named and not _is_loopback(address):
        raise StartError(f"a token is not sent to {address} in the clear; name a --ca to speak TLS")
    token = "" if token_file is None else _read_token(token_file)
    return Where(target=address, token=token, tls=_credentials(tls) if tls.are_named else None)


def _credentials(tls: TlsFiles) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(
        root_certificates=_read_pem(tls.ca_file),
        private_key=_read_pem(tls.cert_key_file),
        certificate_chain=_read_pem(tls.cert_file),
    )


class Client:
    """Calls one gateway. Every method raises `StartError` when there was no answer."""

    def __init__(self, channel: grpc.Channel, to: Where, *, timeout_seconds: float) -> None:
        self._stub = ToolServiceStub(channel)
        self._to = to
        self._timeout_seconds = timeout_seconds

    def tools(self) -> list[Json]:
        """Every tool that this caller may see, with its schemas as JSON values."""
        found: list[Json] = []
        token = ""
        while True:
            page = self._ask(self._stub.ListTools, pb.ListToolsRequest(page_size=PAGE_SIZE, page_token=token))
            found += [_tool(tool) for tool in page.tools]
            token = page.next_page_token
            if not token:
                return found

    def call(self, asked: Asked) -> Answered:
        """What the call came to: a value with `result`, `error` or `pending` in it."""
        request = pb.CallToolRequest(
            tool=asked.tool,
            arguments_json=asked.arguments_json,
            idempotency_key=asked.key,
            run_id=asked.run,
            yield_after_ms=asked.yield_after_ms,
        )
        return answered(self._ask(self._stub.CallTool, request))

    def get(self, call_id: str) -> Answered:
        """How a call stands, or how it ended."""
        return answered(self._ask(self._stub.GetCall, pb.GetCallRequest(call_id=call_id)).call)

    def watch(self, call_id: str) -> Iterator[Answered]:
        """How a call stands, again whenever that changes, and last how it ended."""
        parts = self._ask(self._stub.WatchCall, pb.WatchCallRequest(call_id=call_id))
        try:
            for seen in parts:
                yield answered(seen.call)
        except grpc.RpcError as error:
            raise StartError(sentence(error, self._to.target)) from error

    def explain(self, asked: Asked) -> Json:
        """What a call would come to, and the decision behind it."""
        request = pb.ExplainCallRequest(
            tool=asked.tool, arguments_json=asked.arguments_json, idempotency_key=asked.key, run_id=asked.run
        )
        response = self._ask(self._stub.ExplainCall, request)
        value: Json = {
            "call_id": response.call_id,
            "effect": _word(pb.Effect.Name(response.effect), "EFFECT_"),
            "policy_revision": response.policy_revision,
            "policy_reasons": _reasons(response.policy_reasons),
        }
        return value | ({"error": failure(response.error)} if response.HasField("error") else {})

    def _ask(self, method: Any, request: Any) -> Any:
        metadata = (("authorization", f"Bearer {self._to.token}"),) if self._to.token else ()
        try:
            return method(request, timeout=self._timeout_seconds, metadata=metadata)
        except grpc.RpcError as error:
            raise StartError(sentence(error, self._to.target)) from error


@contextmanager
def connected(to: Where, *, timeout_seconds: float = 150.0) -> Iterator[Client]:
    """A client of the gateway, closed in the end."""
    with opened(to) as channel:
        yield Client(channel, to, timeout_seconds=timeout_seconds)


def opened(to: Where) -> grpc.Channel:
    """A channel to the gateway; close it in the end."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its core tells standard error of every farewell
    options = [
        ("grpc.max_receive_message_length", LARGEST_ANSWER_BYTES),
        ("grpc.enable_retries", 0),  # a call is repeated by whoever made it, never by a library
        ("grpc.enable_http_proxy", 0),
    ]
    return _channel(to, options)


def _channel(to: Where, options: list[tuple[str, int]]) -> grpc.Channel:
    if to.tls is None:
        return grpc.insecure_channel(to.target, options)
    return grpc.secure_channel(to.target, to.tls, options)


def sentence(error: grpc.RpcError, target: str) -> str:
    """Why there was no answer and what to do, from the status."""
    status, details = error.code(), error.details() or ""
    trailing: Any = error.trailing_metadata() or ()
    said = {key: value for key, value in trailing if isinstance(value, str)}
    if status is grpc.StatusCode.UNAVAILABLE and "tollhouse-reason" not in said:
        return _unreachable(details, target)
    known = {
        grpc.StatusCode.UNAUTHENTICATED: f"the gateway at {target} does not know you; give it a valid --token-file, or "
        "the --cert and --cert-key of a caller that it knows",
        grpc.StatusCode.DEADLINE_EXCEEDED: "the gateway did not answer in time; the call may still be carried out",
        grpc.StatusCode.UNIMPLEMENTED: f"what answers at {target} does not serve this; name the --socket or --address "
        "of another listener",
    }
    wait = said.get("retry-after-ms", "0")
    when = f" Ask again in {int(wait) / 1000:.1f} s." if wait.isdigit() and int(wait) else ""
    return known.get(status, f"the gateway refused the request ({status.name.lower()}): {details[:300]}{when}")


def _unreachable(details: str, target: str) -> str:
    """Nobody answered, or somebody went away. gRPC tells the two apart in its text alone."""
    if "Permission denied" in details:
        return f"this user may not open {target}; run as a user or group that the listener lets in"
    if "handshake failed" in details:
        return f"{target} and this command do not trust each other; check --ca, --cert and --cert-key"
    if details.startswith(("failed to connect", "errors resolving")):
        return f"no gateway answers at {target}; start one with `tollhouse serve`, or name its --socket"
    return "the gateway went away before it answered; what changes something may have been done: repeat its --key"


def answered(response: Any) -> Answered:
    """A CallToolResponse as a value with `result`, `error` or `pending` in it. Raises `StartError`."""
    name = response.WhichOneof("outcome")
    if name is None:
        raise StartError("the gateway's answer has no outcome; is it newer than this command?")
    value = {"call_id": response.call_id, "effect_id": response.effect_id, "replay": response.replay}
    outcome = getattr(response, name)
    return Answered(value=value | {name: _OUTCOMES[name](outcome)}, outcome=outcome.SerializeToString())


def _tool(tool: Any) -> Json:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": _json(tool.input_schema_json),
        "output_schema": _json(tool.output_schema_json),
    }


def _result(result: Any) -> Json:
    value = {
        "content": [_block(block) for block in result.content],
        "structured": _json(result.structured_json),
        "receipt": result.receipt,
        "labels": list(result.labels),
        "redacted_paths": list(result.redacted_paths),
    }
    return value | ({"truncation": _truncation(result.truncation)} if result.HasField("truncation") else {})


def _block(block: Any) -> Json:
    if block.WhichOneof("block") == "text":
        return {"text": block.text.text}
    return {"mime_type": block.binary.mime_type, "data_base64": base64.b64encode(block.binary.data).decode()}


def _truncation(cut: Any) -> Json:
    return {
        "limit": _word(pb.TruncationLimit.Name(cut.limit), "TRUNCATION_LIMIT_"),
        "original_bytes": cut.original_bytes,
        "kept_bytes": cut.kept_bytes,
        "paths": list(cut.paths),
        "at_least": cut.at_least,
        "artifact_id": cut.artifact_id,
    }


def failure(error: Any) -> Json:
    """A ToolError as a value."""
    return {
        "code": _word(codes_pb2.Code.Name(error.code), "CODE_"),
        "reason": _word(codes_pb2.Reason.Name(error.reason), "REASON_"),
        "message": error.message,
        "issues": [{"path": issue.path, "rule": issue.rule, "message": issue.message} for issue in error.issues],
        "policy_reasons": _reasons(error.policy_reasons),
        "retry_after_ms": error.retry_after_ms,
    }


def _pending(pending: Any) -> Json:
    return {
        "approval_id": pending.approval_id,
        "message": pending.message,
        "policy_reasons": _reasons(pending.policy_reasons),
        "state": _word(pb.PendingState.Name(pending.state), "PENDING_STATE_"),
    }


_OUTCOMES = {"result": _result, "error": failure, "pending": _pending}


def _reasons(reasons: Any) -> list[Json]:
    return [{"code": reason.code, "message": reason.message, "advice": reason.advice} for reason in reasons]


def _word(name: str, prefix: str) -> str:
    return name.removeprefix(prefix).lower()


def _json(raw: bytes) -> Any:
    """The JSON value, None when there is none. Floats keep every digit that Python's floats hold."""
    try:
        return json.loads(raw) if raw else None
    except ValueError as error:
        raise StartError("the gateway's answer holds something that is not JSON") from error


def _read_pem(path: Path | None) -> bytes | None:
    """What the file holds; None when there is none."""
    if path is None:
        return None
    try:
        pem = path.read_bytes() if path.stat().st_size <= LARGEST_PEM_BYTES else b""
    except OSError as error:
        raise StartError(f"{path} cannot be read ({error.strerror}); name a PEM file") from error
    if b"-----BEGIN " not in pem:
        raise StartError(f"{path} is no PEM file; it should hold -----BEGIN and so on")
    return pem


def _read_token(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_TOKEN_BYTES:
            raise StartError(f"{path} is too large for a token")
        token = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(f"the token in {path} cannot be read; name a file with one token in it") from error
    if not token or not token.isprintable() or " " in token:
        raise StartError(f"{path} does not hold one token; write it there on one line")
    return token


def _is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
