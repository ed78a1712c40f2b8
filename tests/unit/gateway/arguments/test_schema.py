"""A compiled schema says what is wrong in the agent's words, and never uses the network."""

import http.server
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from gateway.arguments.schema import BadSchema, Validator, compile_schema

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["to", "subject"],
    "properties": {
        "to": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "email"}},
        "subject": {"type": "string", "maxLength": 10, "pattern": "^[A-Z]"},
        "priority": {"enum": ["low", "high"]},
        "count": {"type": ["integer", "null"], "minimum": 1, "multipleOf": 2},
        "meta": {"$ref": "#/$defs/meta"},
    },
    "$defs": {
        "meta": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"kind": {"const": "a"}, "ref": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        }
    },
}
GOOD = {"to": ["a@b.example"], "subject": "Hello"}


def issues(value: Any, schema: dict[str, Any] | None = None) -> list[tuple[str, str, str]]:
    """Path, rule and sentence of every issue."""
    found = compile_schema(schema or SCHEMA).issues(value)
    return [(issue.path, issue.rule, issue.message) for issue in found]


def test_a_valid_value_has_no_issues() -> None:
    """Nor problems."""
    schema = compile_schema(SCHEMA)
    assert schema.is_valid(GOOD)
    assert schema.issues(GOOD) == ()
    assert schema.problems(GOOD) == []


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ({"to": "a"}, ("/to", "type", "`to` must be a list.")),
        ({"to": []}, ("/to", "minItems", "`to` must have at least 1 items.")),
        ({"to": ["nobody"]}, ("/to/0", "format", "`0` must be a valid email.")),
        ({"subject": "X" * 11}, ("/subject", "maxLength", "`subject` must have at most 10 characters.")),
        ({"subject": "x"}, ("/subject", "pattern", "`subject` must match the pattern ^[A-Z].")),
        ({"priority": "now"}, ("/priority", "enum", '`priority` must be one of "low", "high".')),
        ({"count": 0}, ("/count", "minimum", "`count` must be at least 1.")),
        ({"count": 3}, ("/count", "multipleOf", "`count` must be a multiple of 2.")),
        ({"meta": {"kind": "b"}}, ("/meta/kind", "const", '`kind` must be "a".')),
        ({"meta": {"ref": 1}}, ("/meta/ref", "anyOf", "`ref` fits none of the forms that it may have.")),
        (
            {"meta": {"odd": 1}},
            ("/meta/odd", "additionalProperties", "`odd` is not known here; known are `kind`, `ref`."),
        ),
    ],
)
def test_each_rule_has_its_sentence(change: dict[str, Any], want: tuple[str, str, str]) -> None:
    """The path leads to the field, and the sentence says what would be right."""
    assert issues(GOOD | change) == [want]


def test_every_field_is_reported() -> None:
    """Missing and unknown ones with a path of their own."""
    found = issues({"subject": 1, "bcc": "x", "a/b": 1})
    assert {(path, rule) for path, rule, _ in found} == {
        ("/to", "required"),
        ("/subject", "type"),
        ("/bcc", "additionalProperties"),
        ("/a~1b", "additionalProperties"),
    }
    assert len(found) == 4


def test_there_are_at_most_twenty_issues() -> None:
    """However many there could be."""
    assert len(issues(GOOD | {f"k{index}": 1 for index in range(100)})) == 20
    assert len(issues(GOOD | {"to": ["x"] * 100})) == 20


def test_no_issue_repeats_a_value() -> None:
    """What the agent sent stays with the agent."""
    secret = "hunter2-hunter2"
    bad = {
        "to": [secret],
        "subject": secret,
        "priority": secret,
        "count": secret,
        "meta": {"kind": secret, "ref": [secret]},
    }
    text = repr(compile_schema(SCHEMA).issues(bad)) + repr(compile_schema(SCHEMA).problems(bad))
    assert text.count("Issue(") == 7
    assert secret not in text


@pytest.mark.parametrize("value", [object(), {1: 2}, "\ud800"])
def test_what_is_no_json_is_not_valid(value: Any) -> None:
    """The library's own exceptions do not come out."""
    schema = compile_schema({"type": ["object", "string"]})
    assert not schema.is_valid(value)
    assert [issue.rule for issue in schema.issues(value)] == ["json"]


class PanicException(BaseException):
    """Named as the library's panics are, which are no `Exception`."""


class Broken:
    """A compiled schema that raises what it is given."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def is_valid(self, _value: Any) -> bool:
        """Raises."""
        raise self._error

    iter_errors = is_valid


def test_a_panic_in_the_library_is_a_refusal() -> None:
    """Not valid, with an issue; and what is neither panic nor ValueError goes on its way."""
    schema = Validator({}, Broken(PanicException()))  # type: ignore[arg-type]
    assert not schema.is_valid({})
    assert len(schema.issues({})) == 1
    with pytest.raises(KeyboardInterrupt):
        Validator({}, Broken(KeyboardInterrupt())).is_valid({})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "strnig"}, "type"),
        ({"type": "string", "pattern": "("}, "pattern"),
        ({"type": "string", "pattern": "(?=a)b"}, "pattern"),
        ({"type": "string", "pattern": r"(a)\1"}, "pattern"),
        ({"type": "string", "format": "no-such-format"}, "no-such-format"),
        ({"$ref": "#/$defs/none"}, "reference"),
        ({"minLength": -1}, "minLength"),
        ({"required": "a"}, "required"),
        ({"enum": object()}, "not JSON"),
    ],
)
def test_a_schema_that_does_not_compile_says_why(schema: dict[str, Any], says: str) -> None:
    """Every failure is a `BadSchema` whose text names the place."""
    with pytest.raises(BadSchema, match=says):
        compile_schema(schema)


def test_a_regex_runs_in_linear_time() -> None:
    """A pattern that would explode in a backtracking engine answers at once."""
    schema = compile_schema({"type": "string", "pattern": "^(a+)+$"})
    start = time.perf_counter()
    assert not schema.is_valid("a" * 50_000 + "!")
    assert time.perf_counter() - start < 1


@pytest.fixture
def stub() -> Iterator[tuple[str, list[str]]]:
    """A web server that offers a schema, and the paths that were asked for."""
    hits: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hits.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", hits
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "template",
    [
        {"$ref": "URL/x.json"},
        {"$dynamicRef": "URL/x.json#a"},
        {"$id": "URL/x.json", "$ref": "y.json"},
        {"$id": "URL/x.json", "type": "object"},
        {"$schema": "URL/x.json", "type": "object"},
        {"properties": {"a": {"$ref": "URL/x.json#/$defs/a"}}},
        {"$ref": "file:///etc/passwd"},
    ],
)
def test_g13_nothing_is_ever_fetched(template: dict[str, Any], stub: tuple[str, list[str]]) -> None:
    """A reference to elsewhere does not compile, or is never followed: no hit at load nor at the call."""
    url, hits = stub
    try:
        compiled = compile_schema(json.loads(json.dumps(template).replace("URL", url)))
    except BadSchema:
        pass
    else:
        compiled.is_valid({"a": 1})
        compiled.issues({"a": 1})
        compiled.complete({"a": None}, may_hold_null=True)
    assert hits == []


def test_every_exception_of_the_library_is_mapped() -> None:
    """What the library defines is what this module catches; a new one must be looked at."""
    defined = {name for name in dir(jsonschema_rs) if isinstance(getattr(jsonschema_rs, name), type)
               and issubclass(getattr(jsonschema_rs, name), Exception)}  # fmt: skip
    assert defined == {"ReferencingError", "ValidationError"}


def _nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"bad": 1}
    for _ in range(levels):
        value = {"child": value}
    return {"root": value}


def _branching() -> dict[str, Any]:
    node = {"$ref": "#/$defs/node"}
    branch = {"type": "object", "additionalProperties": False, "properties": {"child": node}}
    needs = {**branch, "required": ["other"]}
    return {"type": "object", "properties": {"root": node}, "$defs": {"node": {"oneOf": [branch, needs, needs]}}}


@pytest.mark.parametrize(
    ("schema", "value", "rule"),
    [
        (_branching(), _nested(1), "oneOf"),
        (_branching(), _nested(60), "schema"),
        ({"properties": {"a": {"items": {"enum": [f"v{n}" for n in range(5000)]}}}}, {"a": ["x"] * 1000}, "enum"),
        ({"properties": {"a": {"items": {"type": "integer"}}}}, {"a": ["x"] * 100_000}, "type"),
    ],
    ids=["shallow", "deep", "long enum", "many"],
)
def test_saying_what_is_wrong_never_takes_long(schema: dict[str, Any], value: Any, rule: str) -> None:
    """All errors of a deep value of a schema that branches into itself would take for ever, and the loop with them."""
    compiled = compile_schema(schema)
    begun = time.perf_counter()
    found = compiled.issues(value)
    assert time.perf_counter() - begun < 0.5
    assert found[0].rule == rule
