"""Time zones by name."""

from datetime import UTC

import pytest

from adapters.zones import find_zone


def test_utc_is_known_without_a_list() -> None:
    """It is Python's own."""
    assert find_zone("UTC") is UTC


def test_names_of_the_list_are_known() -> None:
    """By themselves."""
    assert str(find_zone("Europe/Warsaw")) == "Europe/Warsaw"


@pytest.mark.parametrize(
    "name", ["", "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "Europe", "CET+1", "\0", "x" * 5000, "\ud800"]
)
def test_other_names_are_none(name: str) -> None:
    """Never an exception."""
    assert find_zone(name) is None
