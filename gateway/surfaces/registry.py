"""RegistryService in gRPC: operators change what there is, and stop what must stop. No decision is taken here."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

import grpc
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from gateway.administration import Administration, Applied
from gateway.call import Principal
from gateway.errors import Refused, RefusedKind
from gateway.registry.changes import Change, RowIssue
from gateway.registry.written import NotADocument, document_of
from gateway.store.rows import Health, RowKind, StoredRow
from gateway.store.stops import Stop, StopScope
from gateway.surfaces.edge import Context, Edge, unary
from gateway.v1 import registry_service_pb2 as pb

SERVICE = "gateway.v1.RegistryService"
PAGE_SIZE = 500
PAGE_BYTES = 2 * 1024 * 1024
"""What a page may hold of documents: a client takes no message beyond 4 MiB unless it is told to."""
MOST_CHANGES = 20_000
"""In one request; a request is bounded in bytes as well."""
MOST_DOCUMENT_BYTES = 512 * 1024
MOST_REASON = 300
"""Characters: as many as a line keeps of what a person says."""

_MOST_CHARACTERS = {"name": 128, "reason": MOST_REASON, "page_token": 256}
_KINDS: Mapping[pb.RowKind, RowKind] = {
    pb.ROW_KIND_TOOL: RowKind.TOOL,
    pb.ROW_KIND_CONNECTION: RowKind.CONNECTION,
    pb.ROW_KIND_AGENT: RowKind.AGENT,
}
_NUMBERS = {kind: number for number, kind in _KINDS.items()}
_SCOPES: Mapping[pb.StopScope, StopScope] = {
    pb.STOP_SCOPE_TENANT: StopScope.TENANT,
    pb.STOP_SCOPE_AGENT: StopScope.AGENT,
    pb.STOP_SCOPE_TOOL: StopScope.TOOL,
    pb.STOP_SCOPE_VENDOR: StopScope.VENDOR,
}
_SCOPE_NUMBERS = {scope: number for number, scope in _SCOPES.items()}

Work = Callable[[Principal, Any], Awaitable[Message]]


class RegistryService:
    """RegistryService of one listener: its callers are who its authenticator says."""

    def __init__(self, edge: Edge, administration: Administration) -> None:
        self._edge = edge
        self._administration = administration

    def handler(self) -> grpc.ServiceRpcHandler:
        """The RPCs of the service, to be added to a server."""
        methods = {
            "ApplyRows": self._unary(self._apply_rows, pb.ApplyRowsRequest),
            "PutRow": self._unary(self._put_row, pb.PutRowRequest),
            "GetRow": self._unary(self._get_row, pb.GetRowRequest),
            "ListRows": self._unary(self._list_rows, pb.ListRowsRequest),
            "DeleteRow": self._unary(self._delete_row, pb.DeleteRowRequest),
            "SetStop": self._unary(self._set_stop, pb.SetStopRequest),
            "ClearStop": self._unary(self._clear_stop, pb.ClearStopRequest),
            "ListStops": self._unary(self._list_stops, pb.ListStopsRequest),
        }
        return cast(grpc.ServiceRpcHandler, grpc.method_handlers_generic_handler(SERVICE, methods))

    def _unary(self, work: Work, message: type[Message]) -> "grpc.RpcMethodHandler[Any, Any]":
        async def method(request: Any, context: Context) -> bytes:
            async def done(caller: Principal) -> bytes:
                await self._edge.admission.admit(caller)
                return (await work(caller, request)).SerializeToString()

            return await self._edge.guarded(context, done)

        return unary(method, message, self._edge.unreadable, most_characters=_MOST_CHARACTERS)

    async def _apply_rows(self, caller: Principal, request: Any) -> Message:
        changes, issues = _read(request.changes, caller.tenant)
        applied = await self._applied(caller, changes, issues, validate_only=request.validate_only)
        return pb.ApplyRowsResponse(problems=map(_problem, applied.issues), rows=map(_row, applied.rows))

    async def _put_row(self, caller: Principal, request: Any) -> Message:
        if not request.change.document_json:
            raise _invalid("document_json must hold the row; DeleteRow takes one away")
        changes, issues = _read([request.change], caller.tenant)
        applied = await self._applied(caller, changes, issues, validate_only=request.validate_only)
        (row,) = applied.rows or (None,)
        return pb.PutRowResponse(problems=map(_problem, applied.issues), row=None if row is None else _row(row))

    async def _delete_row(self, caller: Principal, request: Any) -> Message:
        change = Change(kind=_kind(request.kind), name=_name(request.name), expected=_expected(request))
        applied = await self._applied(caller, [change], (), validate_only=request.validate_only)
        return pb.DeleteRowResponse(problems=map(_problem, applied.issues))

    async def _get_row(self, caller: Principal, request: Any) -> Message:
        row = await self._administration.row(caller, _kind(request.kind), _name(request.name))
        return pb.GetRowResponse(row=_row(row))

    async def _list_rows(self, caller: Principal, request: Any) -> Message:
        kinds = (_kind(request.kind),) if request.kind else tuple(RowKind)
        size = min(request.page_size or PAGE_SIZE, PAGE_SIZE)
        found = await self._administration.rows(caller, kinds, after=_after(request.page_token), limit=size + 1)
        shown = found[: _fitting(found[:size])]
        token = f"{shown[-1].kind}/{shown[-1].name}" if len(found) > len(shown) else ""
        return pb.ListRowsResponse(rows=map(_row, shown), next_page_token=token)

    async def _set_stop(self, caller: Principal, request: Any) -> Message:
        stop = await self._administration.set_stop(caller, *_stop_of(request))
        return pb.SetStopResponse(stop=_stop(stop))

    async def _clear_stop(self, caller: Principal, request: Any) -> Message:
        await self._administration.clear_stop(caller, *_stop_of(request))
        return pb.ClearStopResponse()

    async def _list_stops(self, caller: Principal, _request: Any) -> Message:
        return pb.ListStopsResponse(stops=map(_stop, await self._administration.stops(caller)))

    async def _applied(
        self, caller: Principal, changes: Sequence[Change], issues: tuple[RowIssue, ...], *, validate_only: bool
    ) -> Applied:
        if issues:
            return Applied(issues=issues)
        return await self._administration.apply(caller, changes, validate_only=validate_only)


def _read(messages: Sequence[Any], tenant: str) -> tuple[list[Change], tuple[RowIssue, ...]]:
    """The changes, and what is wrong with documents that are no rows at all. Raises `Refused`."""
    if not 0 < len(messages) <= MOST_CHANGES:
        raise _invalid(f"one request changes between 1 and {MOST_CHANGES} rows")
    changes: dict[tuple[RowKind, str], Change] = {}
    issues = []
    for message in messages:
        kind, name = _kind(message.kind), _name(message.name)
        if (kind, name) in changes:
            raise _invalid(f"{kind}/{name} stands twice in this request")
        document = None
        try:
            document = _document(message, kind, name, tenant)
        except NotADocument as wrong:
            issues.append(RowIssue(row=f"{kind}/{name}", path="", rule=wrong.rule, message=wrong.message))
        changes[kind, name] = Change(kind=kind, name=name, document=document, expected=_expected(message))
    return list(changes.values()), tuple(issues)


def _document(message: Any, kind: RowKind, name: str, tenant: str) -> bytes | None:
    if not message.document_json:
        return None
    if len(message.document_json) > MOST_DOCUMENT_BYTES:
        raise NotADocument("size", f"is larger than {MOST_DOCUMENT_BYTES} bytes")
    return document_of(message.document_json, kind, name, tenant)


def _expected(message: Any) -> int | None:
    return None if message.any_version else int(message.expected_version)


def _kind(number: Any) -> RowKind:
    if number not in _KINDS:
        raise _invalid("kind must be tool, connection or agent")
    return _KINDS[number]


def _name(name: str) -> str:
    if not 0 < len(name) <= 64 or not name.isprintable() or "/" in name:
        raise _invalid("name must be that of a row, of at most 64 characters")
    return name


def _after(token: str) -> tuple[str, str] | None:
    if not token:
        return None
    kind, slash, name = token.partition("/")
    if not slash or kind not in set(RowKind):
        raise _invalid("page_token must be one that ListRows gave")
    return kind, name


def _stop_of(request: Any) -> tuple[StopScope, str, str]:
    """Scope, name and reason. Raises `Refused`."""
    if request.scope not in _SCOPES:
        raise _invalid("scope must be tenant, agent, tool or vendor")
    scope, reason = _SCOPES[request.scope], request.reason.strip()
    if not reason:
        raise _invalid("say why in reason; it is kept in the audit")
    if scope is StopScope.TENANT and request.name:
        raise _invalid("the tenant is your own; leave name empty")
    return scope, "" if scope is StopScope.TENANT else _name(request.name), reason


def _invalid(message: str) -> Refused:
    return Refused(RefusedKind.INVALID, message)


def _fitting(rows: Sequence[StoredRow]) -> int:
    """How many fit into one page: at least one, so that every page goes on."""
    room = PAGE_BYTES
    for count, row in enumerate(rows):
        room -= len(row.document)
        if room < 0:
            return max(count, 1)
    return len(rows)


def _row(row: StoredRow) -> pb.Row:
    return pb.Row(
        kind=_NUMBERS[row.kind],
        name=row.name,
        version=row.version,
        document_json=row.document,
        updated_by=row.updated_by,
        updated_at=_timestamp(row.updated_at),
        health=_health(row.health) if row.health is not None else None,
    )


def _health(health: Health) -> pb.ConnectionHealth:
    return pb.ConnectionHealth(
        last_success_at=_timestamp(health.last_success_at),
        last_error_at=_timestamp(health.last_error_at),
        last_error=health.last_error,
        needs_authorisation=health.needs_authorisation,
    )


def _problem(issue: RowIssue) -> pb.RowProblem:
    return pb.RowProblem(row=issue.row, path=issue.path, rule=issue.rule, message=issue.message)


def _stop(stop: Stop) -> pb.Stop:
    return pb.Stop(
        scope=_SCOPE_NUMBERS[stop.scope],
        name=stop.name,
        reason=stop.reason,
        set_by=stop.set_by,
        set_at=_timestamp(stop.set_at),
    )


def _timestamp(moment: datetime | None) -> Timestamp | None:
    if moment is None:
        return None
    made = Timestamp()
    made.FromDatetime(moment)
    return made
