"""Every way to fail, at every step, is an adapter error."""

import ssl

import pytest

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.email.failures import ConnectFailure
from adapters.email.imap.failures import Refused, SlowConnect, Step, failure_of
from adapters.email.imap.grammar import NotImap
from adapters.email.imap.pipe import Flood, Injected

WORDS = "vendor words AGJvdABodW50ZXIy"
EVERY = [
    Refused("NO", WORDS.encode()),
    Refused("NO", b"[X-NEW] " + WORDS.encode()),
    Refused("BAD", WORDS.encode()),
    Refused("BYE", WORDS.encode()),
    Flood(WORDS),
    Injected(WORDS),
    NotImap(WORDS),
    SlowConnect(WORDS),
    TimeoutError(),
    TimeoutError(110, WORDS),
    *(
        kind(WORDS)
        for kind in (
            OSError,
            ConnectionResetError,
            ConnectionRefusedError,
            BrokenPipeError,
            ssl.SSLError,
            ssl.SSLCertVerificationError,
            ValueError,
            UnicodeError,
            RuntimeError,
            KeyError,
            IndexError,
        )
    ),
]


@pytest.mark.parametrize("step", Step)
@pytest.mark.parametrize("error", EVERY, ids=lambda error: type(error).__name__)
def test_every_exception_is_mapped(error: Exception, step: Step) -> None:
    """No word of the server's, and nothing ever happened."""
    failure = failure_of(error, step)
    assert type(failure) in (AdapterError, ConnectFailure)
    assert "vendor" not in f"{failure} {failure.message}"
    assert "AGJvd" not in f"{failure!r} {failure.__dict__}"
    assert 0 < len(failure.message) <= 300
    assert failure.happened is Happened.NO


@pytest.mark.parametrize(
    ("word", "text", "step", "kind"),
    [
        ("NO", b"[AUTHENTICATIONFAILED] x", Step.LOGIN, ErrorKind.NEEDS_AUTHORISATION),
        ("NO", b"wrong password", Step.LOGIN, ErrorKind.NEEDS_AUTHORISATION),
        ("NO", b"[EXPIRED] x", Step.LOGIN, ErrorKind.NEEDS_AUTHORISATION),
        ("NO", b"[UNAVAILABLE] x", Step.LOGIN, ErrorKind.UNAVAILABLE),
        ("NO", b"[LIMIT] x", Step.LOGIN, ErrorKind.RATE_LIMITED),
        ("NO", b"[authorizationfailed] x", Step.LOGIN, ErrorKind.FORBIDDEN),
        ("NO", b"[PRIVACYREQUIRED] x", Step.LOGIN, ErrorKind.UNAVAILABLE),
        ("BAD", b"x", Step.LOGIN, ErrorKind.MALFORMED),
        ("BAD", b"x", Step.SECURE, ErrorKind.UNAVAILABLE),
        ("NO", b"x", Step.OPEN, ErrorKind.NOT_FOUND),
        ("NO", b"[NONEXISTENT] x", Step.OPEN, ErrorKind.NOT_FOUND),
        ("NO", b"[NOPERM] x", Step.OPEN, ErrorKind.FORBIDDEN),
        ("NO", b"[INUSE] x", Step.OPEN, ErrorKind.UNAVAILABLE),
        ("NO", b"[BADCHARSET (US-ASCII)] x", Step.SEARCH, ErrorKind.INVALID),
        ("BAD", b"x", Step.SEARCH, ErrorKind.INVALID),
        ("NO", b"[OVERQUOTA] x", Step.FETCH, ErrorKind.RATE_LIMITED),
        ("NO", b"x", Step.FETCH, ErrorKind.UNAVAILABLE),
        ("BYE", b"x", Step.FETCH, ErrorKind.UNAVAILABLE),
        ("BYE", b"[UNAVAILABLE] x", Step.LOGIN, ErrorKind.UNAVAILABLE),
    ],
)
def test_a_refusal_means_what_step_and_code_say(word: str, text: bytes, step: Step, kind: ErrorKind) -> None:
    """Of its text only the code counts."""
    assert failure_of(Refused(word, text), step).kind is kind


@pytest.mark.parametrize(
    ("error", "step", "may_repeat"),
    [
        (ConnectionRefusedError(), Step.CONNECT, True),
        (ConnectionResetError(), Step.SECURE, True),
        (SlowConnect(), Step.CONNECT, True),
        (Refused("BYE"), Step.CONNECT, True),
        (Refused("BYE"), Step.LOGIN, False),
        (ConnectionResetError(), Step.LOGIN, False),
        (ssl.SSLCertVerificationError(), Step.CONNECT, False),
        (NotImap(), Step.CONNECT, False),
        (TimeoutError(), Step.CONNECT, False),
    ],
)
def test_only_getting_a_connection_is_repeated(error: Exception, step: Step, may_repeat: bool) -> None:
    """A password is never tried twice."""
    assert isinstance(failure_of(error, step), ConnectFailure) is may_repeat


def test_causes_are_told_apart() -> None:
    """For the audit line."""
    faults = {
        Fault.TIMEOUT: TimeoutError(),
        Fault.REFUSED: ConnectionRefusedError(),
        Fault.RESET: ConnectionResetError(),
        Fault.MALFORMED: NotImap(),
        Fault.ERROR: RuntimeError(),
    }
    assert {fault: failure_of(error, Step.FETCH).fault for fault, error in faults.items()} == {
        fault: fault for fault in faults
    }


def test_an_adapter_error_passes_as_it_is() -> None:
    """What is already ours is not mapped again."""
    error = AdapterError(ErrorKind.INVALID, "x", happened=Happened.NO)
    assert failure_of(error, Step.LOGIN) is error


@pytest.mark.parametrize("error", [ValueError(WORDS), KeyError(WORDS), IndexError(WORDS), TypeError(WORDS)])
def test_a_message_that_cannot_be_read_does_not_make_the_server_unreachable(error: Exception) -> None:
    """Otherwise a stranger's mail could open the circuit for the whole mailbox."""
    failure = failure_of(error, Step.FETCH)
    assert (failure.kind, failure.fault) == (ErrorKind.MALFORMED, Fault.ERROR)
