"""An IMAP server that keeps to the RFC until a test tells it what to say instead."""

import asyncio
import base64
import contextlib
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

import trustme

from fakes.smtp import DROP, HANG, PASSWORD, USERNAME

VALIDITY = 1_700_000_001
DATE = b"01-Jan-2026 10:00:00 +0100"
_WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"|\(([^)]*)\)|([^\s"()]+(?:\[[^\]]*\](?:<[\d.]+>)?)?)')


@dataclass
class Kept:
    """A message in a folder."""

    raw: bytes
    flags: bytes = b""
    structure: bytes | None = None
    """Instead of what the message's own structure is."""

    @property
    def parsed(self) -> Message:
        """As Python reads it."""
        return message_from_bytes(self.raw)


@dataclass
class ImapServer:
    """What it has, what it is to say instead of what it should, and what it was told."""

    folders: dict[bytes, dict[int, Kept]] = field(default_factory=lambda: {b"INBOX": {}})
    says: dict[str, bytes | Callable[[bytes], bytes]] = field(default_factory=dict)
    """By command (`GREETING` is the first): what is said instead; `{tag}` stands for the tag. `DROP` and `HANG` too."""
    capabilities: bytes = b"IMAP4rev1 SASL-IR AUTH=PLAIN"
    found: list[int] | None = None
    """What a search finds; None: everything."""
    validity: int = VALIDITY
    told: list[list[bytes]] = field(default_factory=list)
    """Every command without its tag: lines and literals in turn."""
    signed_in: list[bytes] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    tls: str = "none"
    ca_file: Path | None = None
    takes_literals: bool = True
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """A client has left."""

    @property
    def options(self) -> dict[str, Any]:
        """The options of a target that reads through this server."""
        host = "127.0.0.1" if self.tls == "none" else "localhost"
        told = {"imap_host": host, "imap_port": self.port, "imap_tls": self.tls, "username": USERNAME}
        return told | ({"ca_file": str(self.ca_file)} if self.ca_file else {})

    @property
    def commands(self) -> list[str]:
        """The names of all commands."""
        return [_name(told[0]) for told in self.told]

    def keep(self, *raws: bytes, folder: bytes = b"INBOX") -> None:
        """Messages with the next UIDs."""
        mails = self.folders.setdefault(folder, {})
        for raw in raws:
            mails[len(mails) + 1] = Kept(raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))


class _Visit:
    """One connection."""

    def __init__(
        self, server: ImapServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, tls: ssl.SSLContext | None
    ) -> None:
        self.server, self.reader, self.writer, self.tls = server, reader, writer, tls
        self.mails: dict[int, Kept] = {}

    async def serve(self) -> None:
        """Until the client leaves."""
        self.server.connections += 1
        await self.say("GREETING", b"", b"* OK ready\r\n")
        while line := await self.reader.readline():
            tag, _, rest = line.rstrip(b"\r\n").partition(b" ")
            pieces = await self._pieces(rest)
            self.server.told.append(pieces)
            name = _name(pieces[0])
            if re.search(rb"\{\d+\}$", pieces[-1]):
                await self.write(tag + b" NO no literals\r\n")
                continue
            answer = getattr(self, f"_{name.lower()}", self._others)(pieces[0])
            done = b"" if answer.startswith(b"+") else b"{tag} OK done\r\n"
            await self.say(name, tag, answer + done)
            if name == "STARTTLS" and self.tls is not None:
                await self.writer.start_tls(self.tls)
            elif not done:
                self.server.signed_in.append(base64.b64decode(await self.reader.readline()))
                await self.write(tag + b" OK in\r\n")

    async def _pieces(self, line: bytes) -> list[bytes]:
        """A command's line, and literals and lines in turn."""
        pieces = [line]
        while self.server.takes_literals and (found := re.search(rb"\{(\d+)\}$", pieces[-1])):
            await self.write(b"+ go on\r\n")
            pieces.append(await self.reader.readexactly(int(found[1])))
            pieces.append((await self.reader.readline()).rstrip(b"\r\n"))
        return pieces

    async def say(self, name: str, tag: bytes, answer: bytes) -> None:
        """The answer, or what a test wants instead."""
        instead = self.server.says.get(name)
        if callable(instead):
            answer = instead(tag)
        elif instead is not None:
            answer = instead
        if answer == DROP.encode():
            self.writer.transport.abort()
        elif answer == HANG.encode():
            await asyncio.Event().wait()
        await self.write(answer.replace(b"{tag}", tag))

    async def write(self, data: bytes) -> None:
        """Send it."""
        self.writer.write(data)
        await self.writer.drain()

    def _others(self, _line: bytes) -> bytes:
        return b""

    def _capability(self, _line: bytes) -> bytes:
        return b"* CAPABILITY " + self.server.capabilities + b"\r\n"

    def _login(self, line: bytes) -> bytes:
        self.server.signed_in.append(line)
        return b""

    def _authenticate(self, line: bytes) -> bytes:
        if b"SASL-IR" not in self.server.capabilities:
            return b"+ \r\n"
        self.server.signed_in.append(base64.b64decode(line.split()[-1]))
        return b""

    def _examine(self, line: bytes) -> bytes:
        name = _WORD.findall(line.partition(b" ")[2])[0][0]
        if name not in self.server.folders:
            return b"{tag} NO [NONEXISTENT] no such folder\r\n"
        self.mails = self.server.folders[name]
        told = b"* FLAGS (\\Seen)\r\n* %d EXISTS\r\n* OK [UIDVALIDITY %d] valid\r\n"
        return told % (len(self.mails), self.server.validity)

    def _search(self, _line: bytes) -> bytes:
        found = sorted(self.mails) if self.server.found is None else self.server.found
        return b"* SEARCH" + b"".join(b" %d" % uid for uid in found) + b"\r\n"

    def _fetch(self, line: bytes) -> bytes:
        uids, items = re.fullmatch(rb"UID FETCH ([\d,]+) \((.*)\)", line).groups()  # type: ignore[union-attr]
        answers = []
        for uid in map(int, uids.split(b",")):
            if uid in self.mails:
                facts = b" ".join(_fact(item, uid, self.mails[uid]) for item in _items(items))
                answers.append(b"* %d FETCH (%s)\r\n" % (uid, facts))
        return b"".join(answers)


def _name(line: bytes) -> str:
    words = line.split()
    return words[1 if words[:1] == [b"UID"] else 0].decode() if words else ""


def _items(items: bytes) -> list[bytes]:
    return re.findall(rb"[A-Z0-9.]+(?:\[[^\]]*\])?(?:<\d+\.\d+>)?", items)


def _fact(item: bytes, uid: int, mail: Kept) -> bytes:
    if item.startswith(b"BODY.PEEK["):
        section = item[10:].partition(b"]")[0]
        count = int(item.rpartition(b".")[2].rstrip(b">"))
        data = _section(mail, section)[:count]
        return b"BODY[%s]<0> {%d}\r\n%s" % (section, len(data), data)
    told = {
        b"UID": b"%d" % uid,
        b"FLAGS": b"(" + mail.flags + b")",
        b"INTERNALDATE": b'"' + DATE + b'"',
        b"RFC822.SIZE": b"%d" % len(mail.raw),
        b"BODYSTRUCTURE": mail.structure or _structure(mail.parsed),
    }
    return item + b" " + told[item]


def _section(mail: Kept, section: bytes) -> bytes:
    header, _, body = mail.raw.partition(b"\r\n\r\n")
    if section.startswith(b"HEADER"):
        return header + b"\r\n\r\n"
    part = whole = mail.parsed
    for number in section.split(b"."):
        if part.is_multipart():
            part = part.get_payload()[int(number) - 1]  # type: ignore[assignment,index]
    return body if part is whole else _body(part)


def _body(part: Message) -> bytes:
    return str(part.get_payload()).replace("\r\n", "\n").replace("\n", "\r\n").encode()


def _structure(part: Message) -> bytes:
    if part.is_multipart() and part.get_content_maintype() == "multipart":
        inner = b"".join(_structure(one) for one in part.get_payload())  # type: ignore[arg-type]
        return b'(%s "%s" NIL NIL NIL)' % (inner, part.get_content_subtype().encode())
    size = len(_body(part))
    name = part.get_filename()
    params = b'("charset" "%s")' % (part.get_content_charset() or "us-ascii").encode()
    disposition = b'("%s" ("filename" "%s"))' % ((part.get_content_disposition() or "").encode(), (name or "").encode())
    lines = b" 1" if part.get_content_maintype() == "text" else b""
    told = (part.get_content_maintype(), part.get_content_subtype())
    encoding = str(part.get("Content-Transfer-Encoding", "7bit"))
    kind = b'"%s" "%s" %s' % (told[0].encode(), told[1].encode(), params)
    return b'(%s NIL NIL "%s" %d%s NIL %s NIL)' % (
        kind,
        encoding.encode(),
        size,
        lines,
        disposition if name or part.get_content_disposition() else b"NIL",
    )


@asynccontextmanager
async def imap_server(
    folder: Path | None = None, tls: str = "none", authority: trustme.CA | None = None
) -> AsyncIterator[ImapServer]:
    """A server on 127.0.0.1 whose certificate is for `localhost`; `tls` as in a target's options."""
    server = ImapServer(tls=tls)
    context = None
    if folder is not None:
        authority = authority or trustme.CA()
        server.ca_file = folder / "imap-ca.pem"
        authority.cert_pem.write_to_path(str(server.ca_file))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(context)
    visits: set[asyncio.Task[None]] = set()
    listening = _listener_tls(context, tls)
    running = await asyncio.start_server(_serving(server, context, visits), "127.0.0.1", 0, ssl=listening, limit=2**20)
    server.port = running.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        running.close()
        for visit in list(visits):
            visit.cancel()
        if visits:
            await asyncio.wait(visits, timeout=5)
        await running.wait_closed()


def _listener_tls(context: ssl.SSLContext | None, tls: str) -> ssl.SSLContext | None:
    """What it listens with: STARTTLS begins in the clear."""
    return context if tls == "implicit" else None


def _serving(
    server: ImapServer, context: ssl.SSLContext | None, visits: set[asyncio.Task[None]]
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        visits.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
                await _Visit(server, reader, writer, context).serve()
        finally:
            server.gone.set()
            visits.discard(task)
            writer.transport.abort()

    return serve


def password_proof() -> bytes:
    """What AUTHENTICATE PLAIN says with the right password."""
    return b"\0".join((b"", USERNAME.encode(), PASSWORD.encode()))
