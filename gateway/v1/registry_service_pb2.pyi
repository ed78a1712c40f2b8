import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RowKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROW_KIND_UNSPECIFIED: _ClassVar[RowKind]
    ROW_KIND_TOOL: _ClassVar[RowKind]
    ROW_KIND_CONNECTION: _ClassVar[RowKind]
    ROW_KIND_AGENT: _ClassVar[RowKind]

class StopScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STOP_SCOPE_UNSPECIFIED: _ClassVar[StopScope]
    STOP_SCOPE_TENANT: _ClassVar[StopScope]
    STOP_SCOPE_AGENT: _ClassVar[StopScope]
    STOP_SCOPE_TOOL: _ClassVar[StopScope]
    STOP_SCOPE_VENDOR: _ClassVar[StopScope]
ROW_KIND_UNSPECIFIED: RowKind
ROW_KIND_TOOL: RowKind
ROW_KIND_CONNECTION: RowKind
ROW_KIND_AGENT: RowKind
STOP_SCOPE_UNSPECIFIED: StopScope
STOP_SCOPE_TENANT: StopScope
STOP_SCOPE_AGENT: StopScope
STOP_SCOPE_TOOL: StopScope
STOP_SCOPE_VENDOR: StopScope

class Row(_message.Message):
    __slots__ = ("kind", "name", "version", "document_json", "updated_by", "updated_at", "health")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_JSON_FIELD_NUMBER: _ClassVar[int]
    UPDATED_BY_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    kind: RowKind
    name: str
    version: int
    document_json: bytes
    updated_by: str
    updated_at: _timestamp_pb2.Timestamp
    health: ConnectionHealth
    def __init__(self, kind: _Optional[_Union[RowKind, str]] = ..., name: _Optional[str] = ..., version: _Optional[int] = ..., document_json: _Optional[bytes] = ..., updated_by: _Optional[str] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., health: _Optional[_Union[ConnectionHealth, _Mapping]] = ...) -> None: ...

class ConnectionHealth(_message.Message):
    __slots__ = ("last_success_at", "last_error_at", "last_error", "needs_authorisation")
    LAST_SUCCESS_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    NEEDS_AUTHORISATION_FIELD_NUMBER: _ClassVar[int]
    last_success_at: _timestamp_pb2.Timestamp
    last_error_at: _timestamp_pb2.Timestamp
    last_error: str
    needs_authorisation: bool
    def __init__(self, last_success_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_error_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_error: _Optional[str] = ..., needs_authorisation: _Optional[bool] = ...) -> None: ...

class RowChange(_message.Message):
    __slots__ = ("kind", "name", "document_json", "expected_version", "any_version")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_JSON_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    ANY_VERSION_FIELD_NUMBER: _ClassVar[int]
    kind: RowKind
    name: str
    document_json: bytes
    expected_version: int
    any_version: bool
    def __init__(self, kind: _Optional[_Union[RowKind, str]] = ..., name: _Optional[str] = ..., document_json: _Optional[bytes] = ..., expected_version: _Optional[int] = ..., any_version: _Optional[bool] = ...) -> None: ...

class RowProblem(_message.Message):
    __slots__ = ("row", "path", "rule", "message")
    ROW_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    row: str
    path: str
    rule: str
    message: str
    def __init__(self, row: _Optional[str] = ..., path: _Optional[str] = ..., rule: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class ApplyRowsRequest(_message.Message):
    __slots__ = ("changes", "validate_only")
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    changes: _containers.RepeatedCompositeFieldContainer[RowChange]
    validate_only: bool
    def __init__(self, changes: _Optional[_Iterable[_Union[RowChange, _Mapping]]] = ..., validate_only: _Optional[bool] = ...) -> None: ...

class ApplyRowsResponse(_message.Message):
    __slots__ = ("problems", "rows")
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    problems: _containers.RepeatedCompositeFieldContainer[RowProblem]
    rows: _containers.RepeatedCompositeFieldContainer[Row]
    def __init__(self, problems: _Optional[_Iterable[_Union[RowProblem, _Mapping]]] = ..., rows: _Optional[_Iterable[_Union[Row, _Mapping]]] = ...) -> None: ...

class PutRowRequest(_message.Message):
    __slots__ = ("change", "validate_only")
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    change: RowChange
    validate_only: bool
    def __init__(self, change: _Optional[_Union[RowChange, _Mapping]] = ..., validate_only: _Optional[bool] = ...) -> None: ...

class PutRowResponse(_message.Message):
    __slots__ = ("problems", "row")
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    problems: _containers.RepeatedCompositeFieldContainer[RowProblem]
    row: Row
    def __init__(self, problems: _Optional[_Iterable[_Union[RowProblem, _Mapping]]] = ..., row: _Optional[_Union[Row, _Mapping]] = ...) -> None: ...

class GetRowRequest(_message.Message):
    __slots__ = ("kind", "name")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    kind: RowKind
    name: str
    def __init__(self, kind: _Optional[_Union[RowKind, str]] = ..., name: _Optional[str] = ...) -> None: ...

class GetRowResponse(_message.Message):
    __slots__ = ("row",)
    ROW_FIELD_NUMBER: _ClassVar[int]
    row: Row
    def __init__(self, row: _Optional[_Union[Row, _Mapping]] = ...) -> None: ...

class ListRowsRequest(_message.Message):
    __slots__ = ("kind", "page_size", "page_token")
    KIND_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    kind: RowKind
    page_size: int
    page_token: str
    def __init__(self, kind: _Optional[_Union[RowKind, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListRowsResponse(_message.Message):
    __slots__ = ("rows", "next_page_token")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Row]
    next_page_token: str
    def __init__(self, rows: _Optional[_Iterable[_Union[Row, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteRowRequest(_message.Message):
    __slots__ = ("kind", "name", "expected_version", "any_version", "validate_only")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    ANY_VERSION_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    kind: RowKind
    name: str
    expected_version: int
    any_version: bool
    validate_only: bool
    def __init__(self, kind: _Optional[_Union[RowKind, str]] = ..., name: _Optional[str] = ..., expected_version: _Optional[int] = ..., any_version: _Optional[bool] = ..., validate_only: _Optional[bool] = ...) -> None: ...

class DeleteRowResponse(_message.Message):
    __slots__ = ("problems",)
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    problems: _containers.RepeatedCompositeFieldContainer[RowProblem]
    def __init__(self, problems: _Optional[_Iterable[_Union[RowProblem, _Mapping]]] = ...) -> None: ...

class Stop(_message.Message):
    __slots__ = ("scope", "name", "reason", "set_by", "set_at")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SET_BY_FIELD_NUMBER: _ClassVar[int]
    SET_AT_FIELD_NUMBER: _ClassVar[int]
    scope: StopScope
    name: str
    reason: str
    set_by: str
    set_at: _timestamp_pb2.Timestamp
    def __init__(self, scope: _Optional[_Union[StopScope, str]] = ..., name: _Optional[str] = ..., reason: _Optional[str] = ..., set_by: _Optional[str] = ..., set_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SetStopRequest(_message.Message):
    __slots__ = ("scope", "name", "reason")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    scope: StopScope
    name: str
    reason: str
    def __init__(self, scope: _Optional[_Union[StopScope, str]] = ..., name: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class SetStopResponse(_message.Message):
    __slots__ = ("stop",)
    STOP_FIELD_NUMBER: _ClassVar[int]
    stop: Stop
    def __init__(self, stop: _Optional[_Union[Stop, _Mapping]] = ...) -> None: ...

class ClearStopRequest(_message.Message):
    __slots__ = ("scope", "name", "reason")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    scope: StopScope
    name: str
    reason: str
    def __init__(self, scope: _Optional[_Union[StopScope, str]] = ..., name: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class ClearStopResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListStopsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListStopsResponse(_message.Message):
    __slots__ = ("stops",)
    STOPS_FIELD_NUMBER: _ClassVar[int]
    stops: _containers.RepeatedCompositeFieldContainer[Stop]
    def __init__(self, stops: _Optional[_Iterable[_Union[Stop, _Mapping]]] = ...) -> None: ...
