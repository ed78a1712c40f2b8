"""A conversation with an IMAP server, as far as reading needs one.

The client is our own: what there is for asyncio reads without bound, cannot STARTTLS and writes arguments as they
come. A folder is opened by EXAMINE alone, so that nothing here can change a mailbox.
"""

import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.email.account import Account
from adapters.email.imap.failures import Refused, Step
from adapters.email.imap.grammar import NotImap, Reader, Value, literal_size
from adapters.email.imap.pipe import Flood, Pipe
from adapters.email.imap.words import Literal, Word, mailbox, string
from adapters.email.proof import plain, xoauth2

MAX_LINE_BYTES = 2 * 1024 * 1024
"""A search's answer is one line: this is some 200,000 messages."""
MAX_RESPONSES = 2_000
"""How many responses are read for one command."""
MAX_PIECES = 8_000
"""Of how many lines and literals all of them are."""
MAX_FOUND = 300_000
"""How many messages a search may find."""


@dataclass(frozen=True, slots=True)
class Response:
    """One response: lines and literals in turn."""

    pieces: tuple[bytes, ...] = field(repr=False)

    @property
    def line(self) -> bytes:
        """The first line."""
        return self.pieces[0]


class Session:
    """A conversation. Its methods raise `Refused`, `NotImap`, `Flood`, `Injected` and `OSError`: see `visit`."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._tag = 0
        self._pieces_left = MAX_PIECES
        self.step = Step.CONNECT

    async def greeting(self) -> None:
        """The server is there, and does not know yet who asks."""
        first = await self._pipe.line(MAX_LINE_BYTES)
        if first.upper().startswith(b"* BYE"):
            raise Refused("BYE", first[6:])
        if not first.upper().startswith(b"* OK"):
            raise NotImap("no greeting")

    async def secure(self, host: str, tls: ssl.SSLContext) -> None:
        """The rest of the conversation is encrypted."""
        self.step = Step.SECURE
        await self.command(b"STARTTLS")
        await self._pipe.encrypt(host, tls)

    async def sign_in(self, account: Account, value: str) -> None:
        """One attempt with one method: a wrong password tried twice could lock an account."""
        self.step = Step.LOGIN
        can = await self._capabilities()
        user = account.username
        if account.method == "xoauth2":
            await self._authenticate(can, "XOAUTH2", xoauth2(user, value))
        elif "AUTH=PLAIN" in can:
            await self._authenticate(can, "PLAIN", plain(user, value))
        elif "LOGINDISABLED" in can:
            raise _no(ErrorKind.UNAVAILABLE, "The mail server offers no way to sign in that is supported here.")
        else:
            await self.command(b"LOGIN", string(user), string(value))

    async def examine(self, folder: str) -> int:
        """Open a folder for reading alone; its UIDVALIDITY."""
        self.step = Step.OPEN
        for response in await self.command(b"EXAMINE", mailbox(folder)):
            head, _, rest = response.line.upper().partition(b"[UIDVALIDITY ")
            if head == b"* OK " and rest:
                return _number(rest.partition(b"]")[0])
        raise NotImap("a folder without UIDVALIDITY")

    async def search(self, *criteria: Word, charset: bool = False) -> list[int]:
        """The UIDs of what meets all criteria, the newest first."""
        self.step = Step.SEARCH
        words = (b"UID SEARCH CHARSET UTF-8",) if charset else (b"UID SEARCH",)
        found: set[int] = set()
        count = 0
        for response in await self.command(*words, *criteria):
            kind, _, numbers = response.line[2:].partition(b" ")
            if kind.upper() == b"SEARCH":
                count += numbers.count(b" ")
                if count > MAX_FOUND:
                    raise Flood("endless messages")
                found |= {_number(number) for number in numbers.split(b" ") if number}
        return sorted(found, reverse=True)

    async def fetch(self, uids: Sequence[int], items: bytes) -> dict[int, dict[str, Value]]:
        """What the server says of each of these messages, by UID; those that are gone are left out."""
        self.step = Step.FETCH
        wanted = ",".join(map(str, uids)).encode()
        told: dict[int, dict[str, Value]] = {}
        reader = Reader()
        for response in await self.command(b"UID FETCH", wanted, b"(UID " + items + b")"):
            number, _, rest = response.line[2:].partition(b" ")
            if not number.isdigit() or not rest.upper().startswith(b"FETCH"):
                continue
            facts = _facts(reader.read((rest, *response.pieces[1:])))
            name = facts.get("UID")
            uid = _number(name.encode()) if isinstance(name, str) else 0
            if uid in uids:
                told.setdefault(uid, {}).update(facts)
        return told

    async def command(self, *words: Word) -> list[Response]:
        """The untagged responses to a command. Raises `Refused` for NO, BAD and BYE."""
        self._tag += 1
        tag = f"T{self._tag}".encode()
        await self._say(tag, words)
        return await self._answer(tag)

    def leave(self) -> None:
        """Say goodbye; nobody waits for the answer, and what was read stays read when the server is gone already."""
        self._pipe.write_last(b"T0 LOGOUT\r\n")

    async def _say(self, tag: bytes, words: Sequence[Word]) -> None:
        line = tag
        self._pieces_left = MAX_PIECES
        for word in words:
            if isinstance(word, Literal):
                await self._pipe.write(line + b" {%d}\r\n" % len(word.data))
                await self._invited(tag)
                line = word.data
            else:
                line += b" " + word
        await self._pipe.write(line + b"\r\n")

    async def _invited(self, tag: bytes) -> None:
        """The server wants the rest of the command."""
        for _ in range(MAX_RESPONSES):
            response = await self._response()
            if response.line.startswith(b"+"):
                return
            _check_bye(response)
            if response.line.startswith(tag + b" "):
                _check_done(response.line[len(tag) + 1 :])
                raise NotImap("done before the command was")
        raise Flood("endless responses")

    async def _authenticate(self, can: frozenset[str], method: str, proof: str) -> None:
        coded = proof.encode("ascii")
        if "SASL-IR" in can:
            await self.command(b"AUTHENTICATE", method.encode(), coded)
            return
        self._tag += 1
        tag = f"T{self._tag}".encode()
        await self._say(tag, (b"AUTHENTICATE", method.encode()))
        await self._invited(tag)
        await self._pipe.write(coded + b"\r\n")
        await self._answer(tag)

    async def _capabilities(self) -> frozenset[str]:
        told = [response.line.upper() for response in await self.command(b"CAPABILITY")]
        words = b" ".join(line[13:] for line in told if line.startswith(b"* CAPABILITY "))
        return frozenset(words.decode("ascii", "replace").split())

    async def _answer(self, tag: bytes) -> list[Response]:
        untagged: list[Response] = []
        while len(untagged) < MAX_RESPONSES:
            response = await self._response()
            line = response.line
            if line.startswith(tag + b" "):
                _check_done(line[len(tag) + 1 :])
                return untagged
            if line.startswith(b"+"):
                # An error of XOAUTH2 comes as a challenge: an empty answer ends it, and NO follows.
                await self._pipe.write(b"\r\n")
            elif not line.startswith(b"* "):
                raise NotImap("neither tagged nor untagged")
            _check_bye(response)
            untagged.append(response)
        raise Flood("endless responses")

    async def _response(self) -> Response:
        pieces: list[bytes] = []
        while self._pieces_left > 0:
            self._pieces_left -= 2
            pieces.append(await self._pipe.line(MAX_LINE_BYTES))
            size = literal_size(pieces[-1])
            if size is None:
                return Response(tuple(pieces))
            pieces.append(await self._pipe.exactly(size))
        raise Flood("responses without end")


def _check_bye(response: Response) -> None:
    if response.line[:5].upper() == b"* BYE":
        raise Refused("BYE", response.line[6:])


def _check_done(status: bytes) -> None:
    word, _, text = status.partition(b" ")
    word = word.upper()
    if word in (b"NO", b"BAD"):
        raise Refused(word.decode(), text)
    if word != b"OK":
        raise NotImap("a status that is none")


def _number(digits: bytes) -> int:
    """A UID or UIDVALIDITY: from 1 to 2^32-1."""
    if not digits.isdigit() or len(digits) > 10 or not 0 < int(digits) < 2**32:
        raise NotImap("a number that is none")
    return int(digits)


def _facts(values: list[Value]) -> dict[str, Value]:
    """Name and value in turn, as FETCH gives them: `FETCH (UID 7 RFC822.SIZE 44)`."""
    inner = values[1] if len(values) > 1 else None
    if not isinstance(inner, list) or len(inner) % 2:
        raise NotImap("a FETCH that is none")
    pairs = zip(inner[::2], inner[1::2], strict=True)
    return {name.upper(): value for name, value in pairs if isinstance(name, str)}


def _no(kind: ErrorKind, message: str) -> AdapterError:
    return AdapterError(kind, message, happened=Happened.NO, fault=Fault.REFUSED)
