import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Resolution(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESOLUTION_UNSPECIFIED: _ClassVar[Resolution]
    RESOLUTION_DONE: _ClassVar[Resolution]
    RESOLUTION_NOT_DONE: _ClassVar[Resolution]
RESOLUTION_UNSPECIFIED: Resolution
RESOLUTION_DONE: Resolution
RESOLUTION_NOT_DONE: Resolution

class UnresolvedCall(_message.Message):
    __slots__ = ("call_id", "effect_id", "agent", "tool", "connection", "arguments_digest", "arguments", "claimed_at", "reconcilable")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    EFFECT_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    CLAIMED_AT_FIELD_NUMBER: _ClassVar[int]
    RECONCILABLE_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    effect_id: str
    agent: str
    tool: str
    connection: str
    arguments_digest: str
    arguments: str
    claimed_at: _timestamp_pb2.Timestamp
    reconcilable: bool
    def __init__(self, call_id: _Optional[str] = ..., effect_id: _Optional[str] = ..., agent: _Optional[str] = ..., tool: _Optional[str] = ..., connection: _Optional[str] = ..., arguments_digest: _Optional[str] = ..., arguments: _Optional[str] = ..., claimed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reconcilable: _Optional[bool] = ...) -> None: ...

class ListUnresolvedRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListUnresolvedResponse(_message.Message):
    __slots__ = ("calls", "next_page_token")
    CALLS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    calls: _containers.RepeatedCompositeFieldContainer[UnresolvedCall]
    next_page_token: str
    def __init__(self, calls: _Optional[_Iterable[_Union[UnresolvedCall, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ResolveCallRequest(_message.Message):
    __slots__ = ("call_id", "resolution", "reason")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    resolution: Resolution
    reason: str
    def __init__(self, call_id: _Optional[str] = ..., resolution: _Optional[_Union[Resolution, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class ResolveCallResponse(_message.Message):
    __slots__ = ("call",)
    CALL_FIELD_NUMBER: _ClassVar[int]
    call: UnresolvedCall
    def __init__(self, call: _Optional[_Union[UnresolvedCall, _Mapping]] = ...) -> None: ...
