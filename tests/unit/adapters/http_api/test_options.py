"""Options are read strictly, and every problem is told with its place."""

import datetime as dt
from types import MappingProxyType
from typing import Any

import pytest

from adapters.http_api.options import MAX_PARTS, Issues, Part, plain_json


def part(raw: Any) -> tuple[Part, Issues]:
    """A part, and what it notes."""
    issues: Issues = []
    return Part(raw, "/a", issues), issues


def test_what_is_right_is_not_noted() -> None:
    """And comes back as it is."""
    one, issues = part(MappingProxyType({"name": "x", "kind": "b", "inner": {"deep": "y"}}))
    one.only("name", "kind", "inner")
    assert (one.text("name"), one.choice("kind", ("a", "b"))) == ("x", "b")
    assert one.part("inner").text("deep") == "y"
    assert one.part("absent").raw == {}
    assert (one.text("absent", "usual"), one.choice("absent", ("a",), "a")) == ("usual", "a")
    assert issues == []


def test_every_problem_has_its_place() -> None:
    """A pointer into the options, in the order in which they were found."""
    one, issues = part({"name": 7, "kind": "c", "inner": [], "a/b": 1, 3: 1, "empty": ""})
    one.only("name", "kind", "inner", "empty")
    one.text("name")
    one.text("empty")
    one.text("absent")
    one.choice("kind", ("a", "b"))
    one.choice("name", ("a",))
    one.part("inner").text("absent")
    one.problem(None, "rule", "All of it.")
    expected = ["/a/a~1b", "/a/3", "/a/name", "/a/empty", "/a/absent", "/a/kind", "/a/name", "/a/inner", "/a"]
    assert [issue.path for issue in issues] == expected


def test_names_are_texts() -> None:
    """YAML has others."""
    one, issues = part({"x": {}, 7: {}})
    assert [name for name, _ in one.parts()] == ["x"]
    assert [issue.path for issue in issues] == ["/a/7"]


def test_a_literal_becomes_plain_json() -> None:
    """However it is frozen."""
    value = MappingProxyType({"a": (1, 2.5, None, True, "ä"), "b": {"c": []}})
    assert plain_json(value) == {"a": [1, 2.5, None, True, "ä"], "b": {"c": []}}
    assert type(plain_json(value)["a"]) is list


@pytest.mark.parametrize(
    "value",
    [
        dt.date(2026, 1, 1),
        {1: 2},
        b"x",
        "\ud800",
        {"\ud800": 1},
        2**53,
        float("nan"),
        float("-inf"),
        pytest.param(object(), id="object"),
    ],
    ids=repr,
)
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    """Inside and outside, also what others would read otherwise."""
    for one in (value, [value], {"a": value}):
        with pytest.raises(ValueError, match=r".+"):
            plain_json(one)


def test_a_literal_without_end_is_refused() -> None:
    """YAML's anchors can make one."""
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ValueError, match="nested"):
        plain_json(value)


def test_a_part_has_an_end() -> None:
    """What is sent is made of it for every call."""
    issues: Issues = []
    assert Part({str(one): {} for one in range(MAX_PARTS + 1)}, "/query", issues).parts() == []
    assert [(issue.path, issue.rule) for issue in issues] == [("/query", "many")]
