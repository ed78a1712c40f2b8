"""The rows of mail: a mail server says this, and the agent is told that.

A row of `table/email.yaml` says at which stage the server says something else than it should:

    - name: a greylisted sender may come again
      operation: send
      say: {rcpt: "450 4.2.0 later"}      # banner, auth, mail, rcpt, data (instead of 354), body (after its end)
      want: {code: unavailable, attempts: 1, happened: "no"}
    - name: a folder that is not there is not found
      operation: search
      say: {EXAMINE: "{tag} NO [NONEXISTENT] no"}   # GREETING or an IMAP command; a list is several lines
      want: {code: not_found, attempts: 1, happened: "no"}

`drop` breaks the connection and `hang` says nothing; `capabilities` is what an IMAP server says it can.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.cases.every import CASES
from fakes.imap import imap_server
from fakes.smtp import DROP, HANG, PASSWORD, smtp_server
from fakes.table import TableRow, check_row, row_params
from fakes.trying import tried

_CASES = {case.operation: replace(case, credential=PASSWORD) for case in CASES if case.adapter == "email"}
_MAILS = 9


class MailRow(TableRow):
    """What a mail server says, by stage."""

    say: dict[str, str | list[str]]


@asynccontextmanager
async def smtp_saying(row: MailRow, folder: Path) -> AsyncIterator[int]:
    """The port of an SMTP server."""
    with smtp_server(folder, "none") as server:
        for stage, reply in row.say.items():
            assert isinstance(reply, str)
            if stage == "rcpt":
                server.faults.recipients = {"ann@corp.example": reply}
            else:
                assert hasattr(server.faults, stage), f"SMTP has no stage {stage}"
                setattr(server.faults, stage, reply)
        yield server.port


@asynccontextmanager
async def imap_saying(row: MailRow) -> AsyncIterator[int]:
    """The port of an IMAP server."""
    async with imap_server() as server:
        server.keep(*[b"Subject: Hi\n\nHello\n"] * _MAILS)
        for stage, told in row.say.items():
            lines = [told] if isinstance(told, str) else told
            if stage == "capabilities":
                server.capabilities = " ".join(lines).encode()
            else:
                server.says[stage] = (
                    told.encode() if told in (DROP, HANG) else "".join(f"{line}\r\n" for line in lines).encode()
                )
        yield server.port


@pytest.mark.parametrize(("vendor", "row"), row_params("email", MailRow))
async def test_what_a_mail_server_says_is_told_as_the_row_wants(vendor: str, row: MailRow, tmp_path: Path) -> None:
    """Code, wait, attempts, and what happened."""
    saying = smtp_saying(row, tmp_path) if row.operation == "send" else imap_saying(row)
    async with saying as port:
        came = await tried(_CASES[row.operation], port, arguments=row.arguments, seconds=row.seconds)
    check_row(row, came)


def test_every_operation_has_rows() -> None:
    """Of successes and of failures."""
    rows = [param.values[1] for param in row_params("email", MailRow)]
    told = {(row.operation, row.want.code == "ok") for row in rows if isinstance(row, MailRow)}
    assert told == {(operation, is_ok) for operation in _CASES for is_ok in (True, False)}
