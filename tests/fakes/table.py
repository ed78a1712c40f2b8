"""A vendor's table: what a vendor says, and what an agent is told of it.

A file `tests/vendors/table/VENDOR.yaml` is a list of rows, read strictly. A row for a vendor that is asked over HTTP:

    - name: a secondary limit is a limit and not a refusal
      operation: create_issue
      arguments: {...}          # those of the operation's case when left out; `{port}` in a string is the server's
      seconds: 0.3              # until the deadline; 5 when left out
      say:                      # one answer, or several in turn of which the last is given again and again
        status: 403             # 200 when left out
        headers: {Retry-After: "30"}
        json: {message: "..."}  # or body: "text"; hangs: true or cut: true instead of an answer
      want: {code: rate_limited, wait: 30, attempts: 1, happened: "no", asked: 1}

`say: well` (also one of several) is the good answer of the operation's case. The clock stands at 2026-01-01T00:00:00Z,
1767225600, and goes on only by waits. `code` is what the gateway answers, or `ok`; `wait` is in seconds, null for none;
`asked`, how many requests came, may be left out.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import pydantic
import pytest
from _pytest.mark.structures import ParameterSet

from fakes.cases.base import ApiCase, Case
from fakes.trying import Build, Tried, installed, tried
from fakes.vendor import Answer, Asked, Said, vendor_server
from gateway.documents import Unreadable, parse, read_document
from gateway.errors import Code

TABLES = Path(__file__).parent.parent / "vendors" / "table"


class Strict(pydantic.BaseModel):
    """What a row is made of: an unknown key is an error."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, frozen=True)


class Want(Strict):
    """What comes of it."""

    code: str
    attempts: int = pydantic.Field(ge=1)
    happened: Literal["no", "unknown", "yes"]
    wait: float | None = None
    asked: int | None = None

    @pydantic.field_validator("code")
    @classmethod
    def _is_code(cls, code: str) -> str:
        """One of the gateway's, or `ok`."""
        if code != "ok":
            Code(code)
        return code


class TableRow(Strict):
    """What every row has, whatever its vendor is asked by. A vendor that is not asked over HTTP adds its own `say`."""

    name: str = pydantic.Field(min_length=10)
    operation: str
    arguments: dict[str, Any] | None = None
    seconds: float = 5.0
    want: Want


class Saying(Strict):
    """One answer over HTTP."""

    status: int = 200
    headers: dict[str, str] = {}
    value: Any = pydantic.Field(None, alias="json")
    body: str | None = None
    hangs: bool = False
    cut: bool = False

    @property
    def said(self) -> Said:
        """As the stub server says it."""
        body = None if "value" in self.model_fields_set else (self.body or "").encode()
        return Said(self.value, self.status, self.headers, body, self.hangs, self.cut)

    @pydantic.model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        """JSON, or a body as it is."""
        if {"value", "body"} <= self.model_fields_set:
            raise ValueError("json and body exclude each other")
        return self


Says = Saying | Literal["well"]


class HttpRow(TableRow):
    """A row for a vendor that is asked over HTTP."""

    say: Says | list[Says]

    def answer(self, case: Case) -> Answer:
        """What the stub server does."""
        left = list(self.say) if isinstance(self.say, list) else [self.say]

        def answer(asked: Asked) -> Said:
            says = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(says, Saying):
                return says.said
            assert isinstance(case, ApiCase), f"{case.name} has no good answer of its own"
            return case.answer(asked)

        return answer


R = TypeVar("R", bound=TableRow)


def vendors_with_table() -> list[str]:
    """The vendors of which there is a table."""
    return sorted(path.stem for path in TABLES.glob("*.yaml"))


def rows_of(vendor: str, model: type[R], folder: Path = TABLES) -> Sequence[R]:
    """The rows of a vendor's table. Raises AssertionError with every problem of the file and its line."""

    class Table(pydantic.RootModel[list[model]]):  # type: ignore[valid-type]
        """The file."""

    try:
        document = read_document(folder / f"{vendor}.yaml")
    except Unreadable as error:
        raise AssertionError(str(error)) from error
    table, problems = parse(Table, document)
    assert table is not None, "\n".join(map(str, problems))
    rows: Sequence[R] = table.root
    names = [row.name for row in rows]
    assert sorted(set(names)) == sorted(names), f"{vendor}.yaml: two rows have one name"
    return rows


def row_params(vendor: str, model: type[R], folder: Path = TABLES) -> list[ParameterSet]:
    """The rows as parameters `vendor, row` of a test, which the report then counts as rows of the table."""
    rows = rows_of(vendor, model, folder)
    return [pytest.param(vendor, row, id=f"{vendor}: {row.name}", marks=pytest.mark.row(vendor)) for row in rows]


def check_row(row: TableRow, came: Tried, *, asked: int | None = None) -> None:
    """Fail with what was wanted and what came when they differ. A wait that was repeated before may be off by what the
    repetitions waited for.
    """
    attempt = came.attempt
    got = Want(
        code="ok" if attempt.refusal is None else attempt.refusal.code.value,
        attempts=attempt.attempts,
        happened=attempt.happened.value,
        wait=came.wait,
        asked=None if row.want.asked is None else asked,
    )
    if row.want.wait is not None and got.wait is not None:
        leeway = 0.01 if got.attempts == 1 else 2.0
        assert got.wait == pytest.approx(row.want.wait, abs=leeway)
        got = got.model_copy(update={"wait": row.want.wait})
    assert got.model_dump() == row.want.model_dump()


async def run_row(case: Case, row: HttpRow, build: Build = installed) -> None:
    """Let the vendor say it, and compare."""
    async with vendor_server(row.answer(case)) as server:
        arguments = None if row.arguments is None else _with_port(row.arguments, server.port)
        came = await tried(case, server.port, arguments=arguments, seconds=row.seconds, build=build)
        check_row(row, came, asked=len(server.asked))


def _with_port(value: Any, port: int) -> Any:
    """The value with the server's port where a string in it has `{port}`."""
    if isinstance(value, dict):
        return {name: _with_port(part, port) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_port(part, port) for part in value]
    return value.replace("{port}", str(port)) if isinstance(value, str) else value
