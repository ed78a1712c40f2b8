"""What each way to fail means: one table from IMAP to adapter errors. No word of a server is repeated.

Reading changes nothing, so nothing ever happened.
"""

import re
import ssl
from enum import Enum

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.email.failures import ConnectFailure
from adapters.email.imap.grammar import NotImap
from adapters.email.imap.pipe import Flood, Injected

_CODE = re.compile(rb"\[([A-Za-z0-9-]{1,40})[ \]]")
_BUSY = ErrorKind.UNAVAILABLE, "The mail server asks to try again later."
_SIGN_IN = (
    ErrorKind.NEEDS_AUTHORISATION,
    "The mail server did not accept the connection's credential; it must be authorised again.",
)
_RATE = ErrorKind.RATE_LIMITED, "The mail server wants fewer calls of this account; wait before the next one."
_INSECURE = ErrorKind.UNAVAILABLE, "The mail server does not offer an encrypted connection."
_INJECTED = (
    ErrorKind.UNAVAILABLE,
    "Somebody spoke in the clear where the mail server's encryption began; its operator should look into it.",
)
_FLOOD = (
    ErrorKind.TOO_LARGE,
    "The mail server sends more than can be taken; narrow the search or read something smaller.",
)
_MALFORMED = ErrorKind.MALFORMED, "The mail server gave an answer that makes no sense."


class Step(Enum):
    """What a session is doing."""

    CONNECT = "connect"
    SECURE = "secure"
    LOGIN = "login"
    OPEN = "open"
    SEARCH = "search"
    FETCH = "fetch"


class Refused(Exception):  # noqa: N818 - the server answered, and the answer is no
    """NO, BAD or BYE. Of its text only the response code is looked at, and nothing is kept."""

    def __init__(self, word: str, text: bytes = b"") -> None:
        super().__init__(word)
        self.word = word
        found = _CODE.match(text)
        self.code = found[1].decode().upper() if found else ""


class SlowConnect(Exception):  # noqa: N818 - mapped at once
    """No greeting in the time that there is for one."""


_BY_CODE = {
    "UNAVAILABLE": _BUSY,
    "INUSE": _BUSY,
    "SERVERBUG": _BUSY,
    "CORRUPTION": _BUSY,
    "CONTACTADMIN": (ErrorKind.FORBIDDEN, "The mail server wants its administrator to look at this account first."),
    "LIMIT": _RATE,
    "OVERQUOTA": _RATE,
    "THROTTLED": _RATE,
    "AUTHENTICATIONFAILED": _SIGN_IN,
    "EXPIRED": _SIGN_IN,
    "WEBALERT": _SIGN_IN,
    "AUTHORIZATIONFAILED": (ErrorKind.FORBIDDEN, "The connection's account may not read this mailbox."),
    "NOPERM": (ErrorKind.FORBIDDEN, "The connection's account may not read this folder."),
    "PRIVACYREQUIRED": _INSECURE,
    "NONEXISTENT": (ErrorKind.NOT_FOUND, "There is no folder of this name; INBOX is always there."),
    "TRYCREATE": (ErrorKind.NOT_FOUND, "There is no folder of this name; INBOX is always there."),
    "BADCHARSET": (
        ErrorKind.INVALID,
        "The mail server cannot search for letters beyond ASCII; search for other words.",
    ),
}
_NO = {
    Step.CONNECT: _BUSY,
    Step.SECURE: _INSECURE,
    Step.LOGIN: _SIGN_IN,
    Step.OPEN: (ErrorKind.NOT_FOUND, "There is no folder of this name, or it cannot be opened; INBOX is always there."),
    Step.SEARCH: (ErrorKind.INVALID, "The mail server does not take this search; ask for less at once."),
    Step.FETCH: _BUSY,
}


def failure_of(error: Exception, step: Step) -> AdapterError:
    """The adapter error for whatever stopped a session at a step."""
    if isinstance(error, AdapterError):
        return error
    if isinstance(error, Refused):
        return _refused(error, step)
    if isinstance(error, Injected):
        return _no(*_INJECTED, Fault.REFUSED)
    if isinstance(error, Flood):
        return _no(*_FLOOD, Fault.MALFORMED)
    if isinstance(error, NotImap):
        return _no(*_MALFORMED, Fault.MALFORMED)
    return _lost(error, step)


def _refused(refused: Refused, step: Step) -> AdapterError:
    # 1. It hangs up, for a cause that may pass.
    if refused.word == "BYE":
        kind, message = _BY_CODE.get(refused.code, _BUSY)
        made = ConnectFailure if step is Step.CONNECT and kind is ErrorKind.UNAVAILABLE else AdapterError
        return made(kind, message, happened=Happened.NO, fault=Fault.REFUSED)
    # 2. It does not take the command for one. It has spoken IMAP so far: of a search, the words are at fault.
    if refused.word == "BAD" and step not in (Step.SEARCH, Step.SECURE):
        return _no(*_MALFORMED, Fault.MALFORMED)
    # 3. No, for a reason that it names or that the step is.
    return _no(*_BY_CODE.get(refused.code, _NO[step]), Fault.REFUSED)


def _lost(error: Exception, step: Step) -> AdapterError:
    """No answer."""
    if isinstance(error, ssl.SSLError | ssl.CertificateError) or isinstance(error.__cause__, ssl.SSLError):
        return _no(ErrorKind.UNAVAILABLE, "The mail server's certificate cannot be trusted.", Fault.REFUSED)
    if type(error) is TimeoutError and error.errno is None:
        return _no(ErrorKind.DEADLINE, "The mail server did not answer in time.", Fault.TIMEOUT)
    if isinstance(error, ValueError | LookupError | TypeError):
        # The server can be reached: one strange message must not make it look as if it could not.
        return _no(*_MALFORMED, Fault.ERROR)
    may_repeat = step in (Step.CONNECT, Step.SECURE) and isinstance(error, OSError | SlowConnect)
    made = ConnectFailure if may_repeat else AdapterError
    message = "The mail server cannot be reached; try again later."
    return made(ErrorKind.UNAVAILABLE, message, happened=Happened.NO, fault=_fault_of(error))


def _fault_of(error: Exception) -> Fault:
    if isinstance(error, SlowConnect | TimeoutError):
        return Fault.TIMEOUT
    if isinstance(error, ConnectionRefusedError):
        return Fault.REFUSED
    return Fault.RESET if isinstance(error, ConnectionError) else Fault.ERROR


def _no(kind: ErrorKind, message: str, fault: Fault) -> AdapterError:
    return AdapterError(kind, message, happened=Happened.NO, fault=fault)
