"""What each way to fail means: one table from SMTP to adapter errors. No word of a server is repeated."""

import re
import ssl
from enum import IntEnum

import aiosmtplib

from adapters.base import AdapterError, ErrorKind, Fault, Happened

MAX_NAMED_RECIPIENTS = 8
"""How many refused recipients a message names."""


class Phase(IntEnum):
    """How far a session came."""

    CONNECT = 1
    SECURE = 2
    LOGIN = 3
    ENVELOPE = 4
    BODY = 5
    """The message is on its way: a failure without a reply leaves the outcome unknown."""


class ConnectFailure(AdapterError):  # noqa: N818 - one kind of AdapterError, caught by its name
    """No session was opened, for a cause that may pass: the attempt may be repeated."""


class Rejected(Exception):  # noqa: N818 - the server answered, and the answer is no
    """A reply that says no. `text` is looked at for its enhanced status code and not kept."""

    def __init__(self, code: int, text: str = "", pointers: tuple[str, ...] = ()) -> None:
        super().__init__(code)
        self.code = code
        self.is_rate = code == 452 or re.match(r"4\.7\.\d", text) is not None
        self.pointers = pointers
        """The recipients that were refused, as JSON Pointers into the agent's arguments."""


def failure_of(error: Exception, phase: Phase) -> AdapterError:
    """The adapter error for whatever stopped a session in a phase."""
    if isinstance(error, AdapterError):
        return error
    if isinstance(error, aiosmtplib.SMTPResponseException) and error.code > 0:
        error = Rejected(error.code, error.message)
    if isinstance(error, Rejected):
        return _refused_recipients(error) if error.pointers else _refused(error, phase)
    if phase is Phase.BODY:
        return _unknown(error)
    if isinstance(error, ssl.SSLError | ssl.CertificateError) or isinstance(error.__cause__, ssl.SSLError):
        return _no(ErrorKind.UNAVAILABLE, "The mail server's certificate cannot be trusted.", Fault.REFUSED)
    return _lost(error, phase)


def _refused_recipients(rejected: Rejected) -> AdapterError:
    """Some recipients were refused, so that nothing was sent to anybody."""
    if rejected.code < 500:
        return _later(rejected)
    named = ", ".join(rejected.pointers[:MAX_NAMED_RECIPIENTS])
    more = len(rejected.pointers) - MAX_NAMED_RECIPIENTS
    tail = f" and {more} more" if more > 0 else ""
    message = f"The mail server refused these recipients, and nothing was sent: {named}{tail}. Correct or remove them."
    return _no(ErrorKind.INVALID, message, Fault.REFUSED)


def _refused(rejected: Rejected, phase: Phase) -> AdapterError:
    # 1. A code where it makes no sense, or that is none; after the body it may mean anything.
    if not 400 <= rejected.code < 600:
        return _unknown(rejected) if phase is Phase.BODY else _malformed()
    # 2. Not now: the server did nothing.
    if rejected.code < 500:
        return _later(rejected, is_connect=phase is Phase.CONNECT)
    # 3. No.
    kind, message = _NO[phase]
    if phase is Phase.ENVELOPE and rejected.code in _SIGN_IN_CODES:
        kind, message = _NO[Phase.LOGIN]
    if phase >= Phase.ENVELOPE and rejected.code == 552:
        kind, message = ErrorKind.TOO_LARGE, "The message is larger than the mail server takes. Nothing was sent."
    return _no(kind, message, Fault.REFUSED)


_SIGN_IN_CODES = frozenset({530, 534, 535, 538})
_NO = {
    Phase.CONNECT: (ErrorKind.UNAVAILABLE, "The mail server does not accept connections from here."),
    Phase.SECURE: (ErrorKind.UNAVAILABLE, "The mail server does not offer an encrypted connection."),
    Phase.LOGIN: (
        ErrorKind.NEEDS_AUTHORISATION,
        "The mail server did not accept the connection's credential; it must be authorised again.",
    ),
    Phase.ENVELOPE: (
        ErrorKind.FORBIDDEN,
        "The mail server does not let this connection send from its address. Nothing was sent.",
    ),
    Phase.BODY: (ErrorKind.INVALID, "The mail server refused the message for what it holds. Nothing was sent."),
}


def _later(rejected: Rejected, *, is_connect: bool = False) -> AdapterError:
    kind = ErrorKind.RATE_LIMITED if rejected.is_rate else ErrorKind.UNAVAILABLE
    made = ConnectFailure if is_connect else AdapterError
    message = "The mail server asks to try again later. Nothing was sent."
    return made(kind, message, happened=Happened.NO, fault=Fault.REFUSED)


def _lost(error: Exception, phase: Phase) -> AdapterError:
    """No reply, and nothing of the message was sent yet."""
    if isinstance(error, TimeoutError) and not isinstance(error, aiosmtplib.SMTPException):
        return _no(ErrorKind.DEADLINE, "The mail server did not answer in time. Nothing was sent.", Fault.TIMEOUT)
    if isinstance(error, aiosmtplib.SMTPResponseException):
        return _malformed()
    if phase is Phase.SECURE and type(error) is aiosmtplib.SMTPException:
        return _no(*_NO[Phase.SECURE], Fault.REFUSED)
    fault = _fault_of(error)
    made = ConnectFailure if phase <= Phase.SECURE and fault is not Fault.ERROR else AdapterError
    message = "The mail server cannot be reached. Nothing was sent; try again later."
    return made(ErrorKind.UNAVAILABLE, message, happened=Happened.NO, fault=fault)


def _fault_of(error: Exception) -> Fault:
    if isinstance(error, TimeoutError):
        return Fault.TIMEOUT
    if isinstance(error, aiosmtplib.SMTPConnectError):
        return Fault.REFUSED
    return Fault.RESET if isinstance(error, ConnectionError) else Fault.ERROR


def _unknown(error: Exception) -> AdapterError:
    """The body was under way and no reply tells what came of it."""
    if isinstance(error, TimeoutError):
        kind, fault = ErrorKind.DEADLINE, Fault.TIMEOUT
    elif isinstance(error, aiosmtplib.SMTPResponseException | Rejected):
        kind, fault = ErrorKind.MALFORMED, Fault.MALFORMED
    else:
        kind, fault = ErrorKind.UNAVAILABLE, Fault.RESET
    message = "The message went to the mail server, which did not say whether it took it. Do not simply send it again."
    return AdapterError(kind, message, happened=Happened.UNKNOWN, fault=fault)


def _malformed() -> AdapterError:
    return _no(
        ErrorKind.MALFORMED, "The mail server gave an answer that makes no sense. Nothing was sent.", Fault.MALFORMED
    )


def _no(kind: ErrorKind, message: str, fault: Fault) -> AdapterError:
    return AdapterError(kind, message, happened=Happened.NO, fault=fault)
