"""How long a service asks to wait."""

import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration

from adapters.grpc_upstream.retry_info import retry_after

TYPE = "type.googleapis.com/google.rpc.RetryInfo"


def status(*details: Any) -> bytes:
    """A google.rpc.Status with these details, written by hand."""
    return b"\x08\x08" + b"".join(
        b"\x1a" + bytes([detail.ByteSize()]) + detail.SerializeToString() for detail in details
    )


def waiting(seconds: int, nanos: int = 0, type_url: str = TYPE) -> Any:
    """A RetryInfo, written by hand."""
    delay = Duration(seconds=seconds, nanos=nanos).SerializeToString()
    return Any(type_url=type_url, value=b"\x0a" + bytes([len(delay)]) + delay)


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        (status(waiting(7, 500_000_000)), 7.5),
        (status(waiting(1), waiting(3)), 3.0),
        (status(waiting(-5)), 0.0),
        (status(waiting(10**11)), 86_400.0),
        (status(waiting(7, type_url="type.googleapis.com/google.rpc.Other")), None),
        (status(), None),
        (b"", None),
        (b"\xff\xff", None),
        (status(Any(type_url=TYPE, value=b"\xff")), None),
        (b"\x00" * 20_000, None),
        ("text", None),
    ],
)
def test_a_wait_is_read_and_bounded(value: bytes | str, wait: float | None) -> None:
    """Whatever a service sends."""
    assert retry_after([("grpc-status-details-bin", value)]) == wait
    assert retry_after([("another-bin", value)]) is None


def test_nobody_asks() -> None:
    """There is no metadata."""
    assert retry_after(None) is None
