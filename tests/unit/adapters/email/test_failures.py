"""Every exception of the library, in every phase, is one of ours."""

import ssl
from collections.abc import Iterator

import aiosmtplib
import pytest
from aiosmtplib import errors

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.email.failures import ConnectFailure, Phase, Rejected, failure_of

VENDOR_TEXT = "vendor words AGJvdABodW50ZXIy"


def every_exception() -> Iterator[Exception]:
    """One of each class that the library can raise, found by looking."""
    for name in errors.__all__:
        kind = getattr(errors, name)
        if issubclass(kind, errors.SMTPSenderRefused | errors.SMTPRecipientRefused):
            yield kind(550, VENDOR_TEXT, "x@evil.test")
        elif issubclass(kind, errors.SMTPResponseException):
            yield kind(550, VENDOR_TEXT)
        elif issubclass(kind, errors.SMTPRecipientsRefused):
            yield kind([errors.SMTPRecipientRefused(550, VENDOR_TEXT, "x@evil.test")])
        else:
            yield kind(VENDOR_TEXT)
    others = (ssl.SSLError, ssl.SSLCertVerificationError, OSError, ConnectionResetError, BrokenPipeError, TimeoutError)
    yield from (kind(VENDOR_TEXT) for kind in (*others, ValueError, UnicodeError, RuntimeError, KeyError))


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("error", list(every_exception()), ids=lambda error: type(error).__name__)
def test_every_exception_is_mapped(error: Exception, phase: Phase) -> None:
    """No word of the vendor's; before the body nothing happened; in the body only a reply says so."""
    failure = failure_of(error, phase)
    assert type(failure) in (AdapterError, ConnectFailure)
    assert "vendor" not in failure.message
    assert "AGJvd" not in str(failure)
    assert len(failure.message) <= 300
    is_reply = isinstance(error, errors.SMTPResponseException)
    is_known = phase is not Phase.BODY or is_reply
    assert failure.happened is (Happened.NO if is_known else Happened.UNKNOWN)


@pytest.mark.parametrize(
    ("phase", "code", "text", "kind"),
    [
        (Phase.CONNECT, 554, "no", ErrorKind.UNAVAILABLE),
        (Phase.CONNECT, 421, "busy", ErrorKind.UNAVAILABLE),
        (Phase.CONNECT, 421, "4.7.0 too many", ErrorKind.RATE_LIMITED),
        (Phase.SECURE, 502, "no", ErrorKind.UNAVAILABLE),
        (Phase.LOGIN, 535, "no", ErrorKind.NEEDS_AUTHORISATION),
        (Phase.LOGIN, 454, "later", ErrorKind.UNAVAILABLE),
        (Phase.ENVELOPE, 550, "no", ErrorKind.FORBIDDEN),
        (Phase.ENVELOPE, 530, "sign in", ErrorKind.NEEDS_AUTHORISATION),
        (Phase.ENVELOPE, 552, "too big", ErrorKind.TOO_LARGE),
        (Phase.ENVELOPE, 452, "later", ErrorKind.RATE_LIMITED),
        (Phase.BODY, 451, "later", ErrorKind.UNAVAILABLE),
        (Phase.BODY, 450, "4.7.1 slow down", ErrorKind.RATE_LIMITED),
        (Phase.BODY, 552, "too big", ErrorKind.TOO_LARGE),
        (Phase.BODY, 554, "spam", ErrorKind.INVALID),
    ],
)
def test_a_reply_that_says_no(phase: Phase, code: int, text: str, kind: ErrorKind) -> None:
    """Code and phase give the kind; nothing happened."""
    failure = failure_of(Rejected(code, text), phase)
    assert (failure.kind, failure.happened) == (kind, Happened.NO)


@pytest.mark.parametrize("code", [-1, 199, 354])
def test_nonsense_after_the_body_leaves_the_outcome_unknown(code: int) -> None:
    """Neither yes nor no was said."""
    failure = failure_of(aiosmtplib.SMTPResponseException(code, "?"), Phase.BODY)
    assert (failure.kind, failure.happened) == (ErrorKind.MALFORMED, Happened.UNKNOWN)


def test_refused_recipients_are_named_by_their_place() -> None:
    """JSON Pointers, at most eight, and no address."""
    failure = failure_of(Rejected(550, "no", tuple(f"/to/{index}" for index in range(10))), Phase.ENVELOPE)
    assert failure.kind is ErrorKind.INVALID
    assert "/to/0, " in failure.message
    assert "/to/7 and 2 more" in failure.message
    assert "/to/8" not in failure.message


def test_a_bad_certificate_is_not_tried_again() -> None:
    """A TLS failure is refused, also when the library wraps it."""
    wrapped = aiosmtplib.SMTPConnectError("wrapped")
    wrapped.__cause__ = ssl.SSLCertVerificationError("bad")
    for error in (wrapped, ssl.SSLCertVerificationError("bad")):
        failure = failure_of(error, Phase.CONNECT)
        assert (failure.kind, failure.fault) == (ErrorKind.UNAVAILABLE, Fault.REFUSED)
        assert not isinstance(failure, ConnectFailure)


def test_an_adapter_error_passes_as_it_is() -> None:
    """What is already ours is not mapped again."""
    error = AdapterError(ErrorKind.INVALID, "x", happened=Happened.NO)
    assert failure_of(error, Phase.LOGIN) is error


@pytest.mark.parametrize("code", [2, 25, 100, 220, 250, 354, 600, 999])
def test_a_code_that_is_none_of_a_refusal_proves_nothing(code: int) -> None:
    """After the body it may mean anything; before it nothing was sent."""
    assert failure_of(Rejected(code), Phase.BODY).happened is Happened.UNKNOWN
    before = failure_of(Rejected(code), Phase.ENVELOPE)
    assert (before.kind, before.happened) == (ErrorKind.MALFORMED, Happened.NO)
