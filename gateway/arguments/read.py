"""Step 5: bytes become the one form of the arguments that policy, hash, approver and vendor see."""

from typing import Any, NoReturn, Protocol

from adapters.base import ArgumentIssue, ArgumentProblem, Fault, Operation
from gateway.arguments.canonical import canonical, digest
from gateway.arguments.strict_json import MAX_ISSUES, read_object
from gateway.call import Arguments
from gateway.errors import Reason, Refusal
from gateway.rows import Schema, Tool


class Reading(Protocol):
    """What of a tool this step needs; an entry of the catalogue is one."""

    @property
    def tool(self) -> Tool:
        """The tool's row."""
        ...

    @property
    def schema(self) -> Schema:
        """Its input schema, compiled."""
        ...

    @property
    def operation(self) -> Operation:
        """What it stands for."""
        ...


def read_arguments(raw: bytes, reading: Reading, *, max_bytes: int) -> Arguments:
    """The arguments after strict reading, defaults, schema and `prepare`.

    Raises `Refusal`: `arguments_too_large`, `arguments_malformed`, `arguments_invalid` with an issue per
    field, or `internal` when `prepare` does what it must not.
    """
    schema = reading.schema
    value = read_object(raw, max_bytes=max_bytes, max_leaves=reading.tool.max_leaves)
    value = schema.complete(value, may_hold_null=b"null" in raw)
    if not schema.is_valid(value):
        raise _invalid(schema.issues(value))
    prepared = _prepare(reading.operation, value)
    try:
        form = canonical(prepared)
    except ValueError as error:
        raise _broken() from error
    return Arguments(value=prepared, canonical=form, digest=digest(form))


def _prepare(operation: Operation, value: dict[str, Any]) -> dict[str, Any]:
    try:
        prepared = operation.prepare(value)
    except ArgumentProblem as problem:
        raise _invalid(problem.issues) from problem
    except BaseException as error:  # noqa: BLE001 - a panic in a library is a BaseException
        _refuse_broken(error)
    if type(prepared) is not dict:
        raise _broken()
    return prepared


def _refuse_broken(error: BaseException) -> NoReturn:
    """The operator may always stop the process; everything else is an adapter that broke its contract."""
    if isinstance(error, KeyboardInterrupt | SystemExit):
        raise error
    raise _broken() from error


def _invalid(issues: tuple[ArgumentIssue, ...]) -> Refusal:
    shown = issues[:MAX_ISSUES]
    first = shown[0].message if shown else "Look at the tool's input schema."
    return Refusal(Reason.ARGUMENTS_INVALID, f"The arguments do not fit the tool. {first}", issues=shown)


def _broken() -> Refusal:
    return Refusal(Reason.INTERNAL, "The gateway could not prepare the arguments. Nothing was done.", fault=Fault.ERROR)
