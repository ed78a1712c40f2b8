"""What parts tell of themselves comes to the log at its level."""

import io
import json

import pytest

from gateway.telemetry import configure
from gateway.telling import telling


@pytest.mark.parametrize(
    ("name", "level"),
    [("policy_activated", "info"), ("policy_allows_anybody", "warning"), ("registry_unreachable", "error")],
)
def test_what_is_not_known_to_be_harmless_is_an_error(name: str, level: str) -> None:
    """And an error is called a problem in the log."""
    log = io.StringIO()
    telling(configure("info", log))(name, {"error": "why"})
    told = json.loads(log.getvalue())
    assert (told["event"], told["level"], told["problem"]) == (name, level, "why")
