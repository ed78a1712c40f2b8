"""References are followed inside of the document, and not without end."""

from typing import Any

import pytest

from gateway.errors import StartError
from gateway.importing import references as module
from gateway.importing.reasons import Inexpressible, Skipped
from gateway.importing.references import References, listed, mapping, texts

ROOT: dict[str, Any] = {
    "a": {"x/y": {"~": {"type": "string"}}, "list": [{"type": "integer"}]},
    "b": {"$ref": "#/a"},
    "ring": {"$ref": "#/gnir"},
    "gnir": {"$ref": "#/ring"},
}


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("#", ROOT),
        ("#/a/x~1y/~0", {"type": "string"}),
        ("#/a/x%7E1y/~0", {"type": "string"}),
        ("#/a/list/0", {"type": "integer"}),
        ("#/b", ROOT["a"]),
    ],
)
def test_a_local_reference_is_followed(reference: str, expected: Any) -> None:
    """Escapes and indices as well, and chains to their end."""
    assert References(ROOT).follow({"$ref": reference}) == expected


@pytest.mark.parametrize("reference", ["#/c", "#/a/list/7", "#/a/list/x", "#/ring", "#a", "#/" + "a" * 2000, None, 5])
def test_what_leads_nowhere_cannot_be_expressed(reference: Any) -> None:
    """Rings too."""
    with pytest.raises(Inexpressible):
        References(ROOT).follow({"$ref": reference})


@pytest.mark.parametrize("reference", ["", "a.yaml", "a.yaml#/x", "http://h/a", "file:///etc/passwd", "/etc/passwd"])
def test_g13_what_leads_elsewhere_is_never_fetched(reference: str) -> None:
    """The operation is skipped."""
    with pytest.raises(Skipped, match="never fetched"):
        References(ROOT).follow({"$ref": reference})


def test_work_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the whole document."""
    monkeypatch.setattr(module, "MAX_STEPS", 10)
    references = References(ROOT)
    references.spend(10)
    with pytest.raises(StartError, match="too much work"):
        references.spend()


def test_other_types_are_read_as_nothing() -> None:
    """A document may hold anything anywhere."""
    assert (mapping([]), mapping({"a": 1}), listed({}), listed([1])) == ({}, {"a": 1}, [], [1])
    assert texts(["a", 1, None, "b"]) == ["a", "b"]
    assert References(ROOT).follow("x") == {}
