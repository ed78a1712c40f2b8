"""Where events may come in."""

from pathlib import Path
from typing import Any

import pydantic
import pytest

from gateway.settings.events import EventSettings

TLS = {"cert_file": "c.pem", "key_file": "k.pem"}


@pytest.mark.parametrize(
    "fields",
    [
        {"address": "unix:e.sock"},
        {"address": "127.0.0.1:8088"},
        {"address": "[::1]:8088"},
        {"address": "0.0.0.0:8443", "tls": TLS},
    ],
)
def test_a_safe_place(fields: dict[str, Any]) -> None:
    """A socket, loopback, or behind TLS; a delivery proves itself by its signature."""
    assert EventSettings.model_validate(fields).address == fields["address"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"address": "0.0.0.0:8088"}, "need tls"),
        ({"address": "example.com:8088", "tls": TLS}, "is neither"),
        ({"address": "unix:e.sock", "mode": "0666"}, "every user"),
        ({"address": "unix:e.sock", "tls": TLS}, "takes no tls"),
        ({"address": "unix:e.sock", "max_body_bytes": 8 * 1024 * 1024 + 1}, "less than or equal"),
        ({"address": "unix:e.sock", "retain_seconds": 100, "remember_seconds": 99}, "what is kept is known"),
        ({"address": "unix:e.sock", "retain_seconds": float("inf")}, "less than or equal"),
        ({"address": "unix:e.sock", "token_file": "t"}, "not permitted"),
        ({}, "Field required"),
    ],
)
def test_what_is_not_safe_is_refused(fields: dict[str, Any], told: str) -> None:
    """With a sentence that says why."""
    with pytest.raises(pydantic.ValidationError, match=told):
        EventSettings.model_validate(fields)


def test_relative_paths_count_from_the_settings() -> None:
    """Of the socket and of the certificates."""
    one = EventSettings.model_validate({"address": "unix:e.sock"}).anchored(Path("/etc/tollhouse"))
    assert one.socket_path == Path("/etc/tollhouse/e.sock")
    two = EventSettings.model_validate({"address": "0.0.0.0:8443", "tls": TLS}).anchored(Path("/etc/tollhouse"))
    assert two.tls is not None
    assert two.tls.cert_file == Path("/etc/tollhouse/c.pem")
