import datetime

from gateway.v1 import codes_pb2 as _codes_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TruncationLimit(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRUNCATION_LIMIT_UNSPECIFIED: _ClassVar[TruncationLimit]
    TRUNCATION_LIMIT_RESULT_BYTES: _ClassVar[TruncationLimit]
    TRUNCATION_LIMIT_VENDOR_BYTES: _ClassVar[TruncationLimit]

class PendingState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PENDING_STATE_UNSPECIFIED: _ClassVar[PendingState]
    PENDING_STATE_APPROVAL: _ClassVar[PendingState]
    PENDING_STATE_RUNNING: _ClassVar[PendingState]

class Cancelled(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CANCELLED_UNSPECIFIED: _ClassVar[Cancelled]
    CANCELLED_NOTHING_DONE: _ClassVar[Cancelled]
    CANCELLED_MAY_HAVE_HAPPENED: _ClassVar[Cancelled]
    CANCELLED_TOO_LATE: _ClassVar[Cancelled]
    CANCELLED_NOT_FOUND: _ClassVar[Cancelled]

class Effect(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EFFECT_UNSPECIFIED: _ClassVar[Effect]
    EFFECT_ALLOW: _ClassVar[Effect]
    EFFECT_DENY: _ClassVar[Effect]
    EFFECT_REQUIRE_APPROVAL: _ClassVar[Effect]
TRUNCATION_LIMIT_UNSPECIFIED: TruncationLimit
TRUNCATION_LIMIT_RESULT_BYTES: TruncationLimit
TRUNCATION_LIMIT_VENDOR_BYTES: TruncationLimit
PENDING_STATE_UNSPECIFIED: PendingState
PENDING_STATE_APPROVAL: PendingState
PENDING_STATE_RUNNING: PendingState
CANCELLED_UNSPECIFIED: Cancelled
CANCELLED_NOTHING_DONE: Cancelled
CANCELLED_MAY_HAVE_HAPPENED: Cancelled
CANCELLED_TOO_LATE: Cancelled
CANCELLED_NOT_FOUND: Cancelled
EFFECT_UNSPECIFIED: Effect
EFFECT_ALLOW: Effect
EFFECT_DENY: Effect
EFFECT_REQUIRE_APPROVAL: Effect

class ListToolsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListToolsResponse(_message.Message):
    __slots__ = ("tools", "next_page_token")
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[Tool]
    next_page_token: str
    def __init__(self, tools: _Optional[_Iterable[_Union[Tool, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class Tool(_message.Message):
    __slots__ = ("name", "title", "description", "input_schema_json", "output_schema_json")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    name: str
    title: str
    description: str
    input_schema_json: bytes
    output_schema_json: bytes
    def __init__(self, name: _Optional[str] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., input_schema_json: _Optional[bytes] = ..., output_schema_json: _Optional[bytes] = ...) -> None: ...

class CallToolRequest(_message.Message):
    __slots__ = ("tool", "arguments_json", "idempotency_key", "run_id", "step_id", "mode", "yield_after_ms")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    YIELD_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    tool: str
    arguments_json: bytes
    idempotency_key: str
    run_id: str
    step_id: str
    mode: str
    yield_after_ms: int
    def __init__(self, tool: _Optional[str] = ..., arguments_json: _Optional[bytes] = ..., idempotency_key: _Optional[str] = ..., run_id: _Optional[str] = ..., step_id: _Optional[str] = ..., mode: _Optional[str] = ..., yield_after_ms: _Optional[int] = ...) -> None: ...

class CallToolResponse(_message.Message):
    __slots__ = ("call_id", "effect_id", "replay", "result", "error", "pending")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    EFFECT_ID_FIELD_NUMBER: _ClassVar[int]
    REPLAY_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    effect_id: str
    replay: bool
    result: ToolResult
    error: ToolError
    pending: PendingCall
    def __init__(self, call_id: _Optional[str] = ..., effect_id: _Optional[str] = ..., replay: _Optional[bool] = ..., result: _Optional[_Union[ToolResult, _Mapping]] = ..., error: _Optional[_Union[ToolError, _Mapping]] = ..., pending: _Optional[_Union[PendingCall, _Mapping]] = ...) -> None: ...

class ToolResult(_message.Message):
    __slots__ = ("content", "structured_json", "receipt", "truncation", "labels", "redacted_paths")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    STRUCTURED_JSON_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    TRUNCATION_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    REDACTED_PATHS_FIELD_NUMBER: _ClassVar[int]
    content: _containers.RepeatedCompositeFieldContainer[ContentBlock]
    structured_json: bytes
    receipt: str
    truncation: Truncation
    labels: _containers.RepeatedScalarFieldContainer[str]
    redacted_paths: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, content: _Optional[_Iterable[_Union[ContentBlock, _Mapping]]] = ..., structured_json: _Optional[bytes] = ..., receipt: _Optional[str] = ..., truncation: _Optional[_Union[Truncation, _Mapping]] = ..., labels: _Optional[_Iterable[str]] = ..., redacted_paths: _Optional[_Iterable[str]] = ...) -> None: ...

class ContentBlock(_message.Message):
    __slots__ = ("text", "binary")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    BINARY_FIELD_NUMBER: _ClassVar[int]
    text: TextBlock
    binary: BinaryBlock
    def __init__(self, text: _Optional[_Union[TextBlock, _Mapping]] = ..., binary: _Optional[_Union[BinaryBlock, _Mapping]] = ...) -> None: ...

class TextBlock(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class BinaryBlock(_message.Message):
    __slots__ = ("mime_type", "data")
    MIME_TYPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    mime_type: str
    data: bytes
    def __init__(self, mime_type: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class Truncation(_message.Message):
    __slots__ = ("limit", "original_bytes", "kept_bytes", "paths", "at_least", "artifact_id")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    KEPT_BYTES_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_ID_FIELD_NUMBER: _ClassVar[int]
    limit: TruncationLimit
    original_bytes: int
    kept_bytes: int
    paths: _containers.RepeatedScalarFieldContainer[str]
    at_least: bool
    artifact_id: str
    def __init__(self, limit: _Optional[_Union[TruncationLimit, str]] = ..., original_bytes: _Optional[int] = ..., kept_bytes: _Optional[int] = ..., paths: _Optional[_Iterable[str]] = ..., at_least: _Optional[bool] = ..., artifact_id: _Optional[str] = ...) -> None: ...

class ToolError(_message.Message):
    __slots__ = ("code", "reason", "message", "issues", "policy_reasons", "retry_after_ms")
    CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ISSUES_FIELD_NUMBER: _ClassVar[int]
    POLICY_REASONS_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    code: _codes_pb2.Code
    reason: _codes_pb2.Reason
    message: str
    issues: _containers.RepeatedCompositeFieldContainer[FieldIssue]
    policy_reasons: _containers.RepeatedCompositeFieldContainer[PolicyReason]
    retry_after_ms: int
    def __init__(self, code: _Optional[_Union[_codes_pb2.Code, str]] = ..., reason: _Optional[_Union[_codes_pb2.Reason, str]] = ..., message: _Optional[str] = ..., issues: _Optional[_Iterable[_Union[FieldIssue, _Mapping]]] = ..., policy_reasons: _Optional[_Iterable[_Union[PolicyReason, _Mapping]]] = ..., retry_after_ms: _Optional[int] = ...) -> None: ...

class FieldIssue(_message.Message):
    __slots__ = ("path", "rule", "message")
    PATH_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    path: str
    rule: str
    message: str
    def __init__(self, path: _Optional[str] = ..., rule: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class PolicyReason(_message.Message):
    __slots__ = ("code", "message", "advice")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    advice: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., advice: _Optional[str] = ...) -> None: ...

class PendingCall(_message.Message):
    __slots__ = ("approval_id", "message", "policy_reasons", "state")
    APPROVAL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    POLICY_REASONS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    approval_id: str
    message: str
    policy_reasons: _containers.RepeatedCompositeFieldContainer[PolicyReason]
    state: PendingState
    def __init__(self, approval_id: _Optional[str] = ..., message: _Optional[str] = ..., policy_reasons: _Optional[_Iterable[_Union[PolicyReason, _Mapping]]] = ..., state: _Optional[_Union[PendingState, str]] = ...) -> None: ...

class GetCallRequest(_message.Message):
    __slots__ = ("call_id", "tool", "idempotency_key")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    tool: str
    idempotency_key: str
    def __init__(self, call_id: _Optional[str] = ..., tool: _Optional[str] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class GetCallResponse(_message.Message):
    __slots__ = ("call",)
    CALL_FIELD_NUMBER: _ClassVar[int]
    call: CallToolResponse
    def __init__(self, call: _Optional[_Union[CallToolResponse, _Mapping]] = ...) -> None: ...

class WatchCallRequest(_message.Message):
    __slots__ = ("call_id",)
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    def __init__(self, call_id: _Optional[str] = ...) -> None: ...

class WatchCallResponse(_message.Message):
    __slots__ = ("call", "step", "elapsed_ms", "progress")
    CALL_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_MS_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    call: CallToolResponse
    step: str
    elapsed_ms: int
    progress: Progress
    def __init__(self, call: _Optional[_Union[CallToolResponse, _Mapping]] = ..., step: _Optional[str] = ..., elapsed_ms: _Optional[int] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("done", "total")
    DONE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    done: float
    total: float
    def __init__(self, done: _Optional[float] = ..., total: _Optional[float] = ...) -> None: ...

class CancelCallRequest(_message.Message):
    __slots__ = ("call_id",)
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    def __init__(self, call_id: _Optional[str] = ...) -> None: ...

class CancelCallResponse(_message.Message):
    __slots__ = ("cancelled", "message")
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    cancelled: Cancelled
    message: str
    def __init__(self, cancelled: _Optional[_Union[Cancelled, str]] = ..., message: _Optional[str] = ...) -> None: ...

class ReadArtifactRequest(_message.Message):
    __slots__ = ("artifact_id", "offset", "max_bytes")
    ARTIFACT_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    artifact_id: str
    offset: int
    max_bytes: int
    def __init__(self, artifact_id: _Optional[str] = ..., offset: _Optional[int] = ..., max_bytes: _Optional[int] = ...) -> None: ...

class ReadArtifactResponse(_message.Message):
    __slots__ = ("data", "total_bytes", "error")
    DATA_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    total_bytes: int
    error: ToolError
    def __init__(self, data: _Optional[bytes] = ..., total_bytes: _Optional[int] = ..., error: _Optional[_Union[ToolError, _Mapping]] = ...) -> None: ...

class ExplainCallRequest(_message.Message):
    __slots__ = ("tool", "arguments_json", "run_id", "step_id", "mode", "idempotency_key")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    tool: str
    arguments_json: bytes
    run_id: str
    step_id: str
    mode: str
    idempotency_key: str
    def __init__(self, tool: _Optional[str] = ..., arguments_json: _Optional[bytes] = ..., run_id: _Optional[str] = ..., step_id: _Optional[str] = ..., mode: _Optional[str] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class ExplainCallResponse(_message.Message):
    __slots__ = ("call_id", "effect", "error", "policy_reasons", "policy_revision")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    POLICY_REASONS_FIELD_NUMBER: _ClassVar[int]
    POLICY_REVISION_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    effect: Effect
    error: ToolError
    policy_reasons: _containers.RepeatedCompositeFieldContainer[PolicyReason]
    policy_revision: str
    def __init__(self, call_id: _Optional[str] = ..., effect: _Optional[_Union[Effect, str]] = ..., error: _Optional[_Union[ToolError, _Mapping]] = ..., policy_reasons: _Optional[_Iterable[_Union[PolicyReason, _Mapping]]] = ..., policy_revision: _Optional[str] = ...) -> None: ...

class WatchEventsRequest(_message.Message):
    __slots__ = ("after", "from_oldest", "connections", "kinds")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    FROM_OLDEST_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    after: str
    from_oldest: bool
    connections: _containers.RepeatedScalarFieldContainer[str]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, after: _Optional[str] = ..., from_oldest: _Optional[bool] = ..., connections: _Optional[_Iterable[str]] = ..., kinds: _Optional[_Iterable[str]] = ...) -> None: ...

class WatchEventsResponse(_message.Message):
    __slots__ = ("event", "cursor", "missed")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    event: Event
    cursor: str
    missed: bool
    def __init__(self, event: _Optional[_Union[Event, _Mapping]] = ..., cursor: _Optional[str] = ..., missed: _Optional[bool] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("id", "connection", "vendor", "kind", "subject", "occurred_at", "received_at", "data_json", "labels")
    ID_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    VENDOR_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_AT_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    id: str
    connection: str
    vendor: str
    kind: str
    subject: str
    occurred_at: _timestamp_pb2.Timestamp
    received_at: _timestamp_pb2.Timestamp
    data_json: bytes
    labels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., connection: _Optional[str] = ..., vendor: _Optional[str] = ..., kind: _Optional[str] = ..., subject: _Optional[str] = ..., occurred_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., received_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., data_json: _Optional[bytes] = ..., labels: _Optional[_Iterable[str]] = ...) -> None: ...
