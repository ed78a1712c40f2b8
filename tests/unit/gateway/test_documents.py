"""YAML and JSON files are read strictly, and every problem has a file, a line and a rule."""

from pathlib import Path
from typing import Any

import pydantic
import pytest

from gateway.documents import MAX_FILE_BYTES, Problem, Unreadable, documents_of, parse, read_document, read_documents


def refused(text: str) -> Problem:
    """Why this text is not read."""
    with pytest.raises(Unreadable) as caught:
        documents_of(text, "x.yaml")
    return caught.value.problem


def value(text: str) -> Any:
    """What this text says."""
    (document,) = documents_of(text, "x.yaml")
    return document.value


def test_values_are_what_json_would_make_of_them() -> None:
    """A date is a string; numbers, truth and null are themselves."""
    text = "{a: 1, b: 1.5, c: true, d: null, e: 2026-01-02, f: [x, 'no', \"17:00\"], g: {}, h: 09:00}"
    want = {"a": 1, "b": 1.5, "c": True, "d": None, "e": "2026-01-02", "f": ["x", "no", "17:00"], "g": {}, "h": "09:00"}
    assert want == value(text)


def test_json_is_read() -> None:
    """As the YAML that it is."""
    assert value('{\t"a":\n\t[]}') == {"a": []}
    assert value('{"a": ["\\u00e9", -1.5e3, "1e3", true]}') == {"a": ["é", -1500.0, "1e3", True]}


@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "duplicate_key"),
        ('{"effect": "deny", "effect": "allow"}', 1, "duplicate_key"),
        ("x:\n- a: {b: 1, b: 1}\n", 2, "duplicate_key"),
        ("a: &x [1]\nb: *x\n", 1, "alias"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", 3, "merge_key"),
        ("a: !!python/name:os.system x\n", 1, "tag"),
        ("a: !secret x\n", 1, "tag"),
        ("a: " + "[" * 200 + "]" * 200, 1, "depth"),
        ("a:\n  " + '{"b": ' * 300 + "1" + "}" * 300, 2, "depth"),
        ("1: a\n", 1, "key"),
        ("true: a\n", 1, "key"),
        ("[a]: b\n", 1, "key"),
        ("a: yes\n", 1, "ambiguous"),
        ("a: off\n", 1, "ambiguous"),
        ("a:\n- 17:00\n", 2, "ambiguous"),
        ("a: .nan\n", 1, "finite"),
        ("a: -.inf\n", 1, "finite"),
        ("a: 1e999\n", 1, "finite"),
        ("a: 9007199254740992\n", 1, "integer_range"),
        ("a: -9007199254740992\n", 1, "integer_range"),
        ('a: "\\ud83d"\n', 1, "yaml"),
        ("a: [\n", 2, "yaml"),
        ("a: b: c\n", 1, "yaml"),
        ("a: \x07\n", 0, "yaml"),
        ("[" * 5000, 1, "yaml"),
    ],
)
def test_what_is_not_strict_is_refused_at_its_line(text: str, line: int, rule: str) -> None:
    """With a rule of its own."""
    problem = refused(text)
    assert (problem.file, problem.line, problem.rule) == ("x.yaml", line, rule)


def test_g06_a_duplicate_says_where_the_first_is() -> None:
    """So that both can be looked at."""
    assert refused("effect: deny\n\neffect: allow\n").message == "the key 'effect' stands twice; the first is in line 1"


def test_a_document_knows_the_lines_of_its_parts() -> None:
    """The nearest enclosing one when a part has none; file, line and rule are in its text."""
    (document,) = documents_of("a:\n  b:\n  - x\n  - c: 1\n", "x.yaml")
    places: list[tuple[str | int, ...]] = [("a",), ("a", "b"), ("a", "b", 1, "c"), ("a", "b", 1, "none"), ("none",), ()]
    assert [document.line(place) for place in places] == [1, 2, 4, 4, 1, 1]
    assert str(document.problem(("a", "b"), "rule", "message")) == "x.yaml:2: rule: message"


def test_a_file_may_hold_several_documents(tmp_path: Path) -> None:
    """Unless one is asked for; none at all is an empty mapping."""
    file = tmp_path / "x.yaml"
    file.write_text("a: 1\n---\nb: 2\n")
    assert [document.value for document in read_documents(file)] == [{"a": 1}, {"b": 2}]
    with pytest.raises(Unreadable, match="one_document"):
        read_document(file)
    file.write_text("# nothing\n")
    assert read_document(file).value == {}


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    """Missing, not UTF-8, or too large."""
    file = tmp_path / "x.yaml"
    for content, rule in ((None, "readable"), (b"\xff\xfe", "utf8"), (b"#" * (MAX_FILE_BYTES + 1), "size")):
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(Unreadable) as caught:
            read_document(file)
        assert (caught.value.problem.file, caught.value.problem.rule) == (str(file), rule)


class Part(pydantic.BaseModel):
    """A model for the tests."""

    model_config = pydantic.ConfigDict(extra="forbid")
    name: str = pydantic.Field(pattern="^[a-z]+$")
    count: int = 0


def test_a_model_reports_every_problem_at_its_line() -> None:
    """With the rules that people know, and never the value that was given."""
    (document,) = documents_of("part:\n  name: SECRET1\n  count: SECRET2\n  colour: SECRET3\n", "x.yaml")
    model, problems = parse(Part, document, ("part",))
    assert model is None
    assert [(problem.line, problem.rule) for problem in problems] == [
        (2, "pattern"),
        (3, "int_parsing"),
        (4, "unknown_key"),
    ]
    assert "SECRET" not in " ".join(map(str, problems))


def test_a_model_that_fits_comes_back() -> None:
    """Without a problem."""
    (document,) = documents_of("{name: a, count: 2}", "x.yaml")
    assert parse(Part, document) == (Part(name="a", count=2), [])


def test_a_file_without_a_size_is_read_no_further_than_any_other() -> None:
    """A device says that it holds nothing, and has no end."""
    with pytest.raises(Unreadable, match="size"):
        read_document(Path("/dev/zero"))


def test_a_problem_points_into_its_document() -> None:
    """By line for people, by JSON Pointer for programs."""
    (document,) = documents_of("a/b:\n  c~d:\n  - 1\n  - 2\n", "x")
    problem = document.problem(("a/b", "c~d", 1), "rule", "wrong")
    assert (problem.line, problem.path) == (4, "/a~1b/c~0d/1")
    assert document.problem((), "rule", "wrong").path == ""
