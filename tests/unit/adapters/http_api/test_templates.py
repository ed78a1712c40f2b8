"""Whatever an argument holds, the path stays the one that the row says."""

import random
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from adapters.base import Target
from adapters.http_api.options import Issues, Part
from adapters.http_api.shapes import Shapes
from adapters.http_api.templates import Template, leads_elsewhere, read_template
from adapters.transport.calls import Call, url_of

SHAPES = Shapes(
    {
        "properties": {
            "id": {"type": "string"},
            "n": {"type": ["integer", "boolean", "number"]},
            "rest": {"type": "string"},
            "a-b c": {"type": "string"},
            "optional": {"type": "string"},
            "maybe": {"type": ["string", "null"]},
            "list": {"type": "array"},
            "open": {},
        },
        "required": ["id", "n", "rest", "a-b c", "maybe", "list", "open"],
    }
)


def read(text: object) -> tuple[Template, list[str]]:
    """The template, and the rules that it breaks."""
    issues: Issues = []
    return read_template(Part({"path": text}, "", issues), "path", SHAPES), [issue.rule for issue in issues]


def fill(text: str, **arguments: Any) -> tuple[str, list[tuple[str, str]]]:
    """The path, and what is wrong."""
    template, problems = read(text)
    assert problems == []
    issues: Issues = []
    return template.fill(arguments, issues), [(issue.path, issue.rule) for issue in issues]


@pytest.mark.parametrize(
    ("template", "arguments", "path"),
    [
        ("/v1/me", {}, "/v1/me"),
        ("/", {}, "/"),
        ("/v1/{id}/notes", {"id": "c-7"}, "/v1/c-7/notes"),
        ("/{id}.json", {"id": "a"}, "/a.json"),
        ("/{n}/{id}", {"n": 5.0, "id": "a.b"}, "/5/a.b"),
        ("/{n}", {"n": True}, "/true"),
        ("/{id}", {"id": "group/project"}, "/group%2Fproject"),
        ("/{id}", {"id": "a b?c#d;e@f:g&h=i+j%k\\l"}, "/a%20b%3Fc%23d%3Be%40f%3Ag%26h%3Di%2Bj%25k%5Cl"),
        ("/{id}", {"id": "größe 💚"}, "/gr%C3%B6%C3%9Fe%20%F0%9F%92%9A"),
        ("/{id}", {"id": "https://site.example/"}, "/https%3A%2F%2Fsite.example%2F"),
        ("/files/{+rest}", {"rest": "a/b c/..d/e..f"}, "/files/a/b%20c/..d/e..f"),
        ("/x%2Fy/{id}", {"id": ".env"}, "/x%2Fy/.env"),
        ("/{a-b c}", {"a-b c": "x"}, "/x"),
    ],
)
def test_an_argument_is_escaped_where_it_stands(template: str, arguments: dict[str, Any], path: str) -> None:
    """One segment, or as many as the row lets it be."""
    assert fill(template, **arguments) == (path, [])


CLIMBING = (
    *(".", "..", "...", "../..", "a/../b", "./a", "a/..", "..\\a", "a\\..\\b", "/..", "/../etc/passwd"),
    *("%2e", "%2e%2e", "%2E%2E%2Fa", "%252e%252e", "%25252e%25252e%25252fa", "..%2fa", "..%5ca", "%2e./a"),
    *("..;/a", "a/..;x=1/b", "%2e%2e;/a", ".. /a", " ../a", "..\u200b/a", "\u200b..", ".\u00ad./a"),
    *("\uff0e\uff0e", "\u2024\u2024/a", "\u2025", "\u2026", "\uff0e\uff0e\uff0fa", "\uff0e\uff0e\uff3ca"),
    *("..\u2215a", "..\u2044a", "%c0%ae%c0%ae/a", "%C0%AE%C0%AE%C0%AFa", "%u002e%u002e/a", "%e0%80%ae."),
    *("%EF%BC%8E%EF%BC%8E/a", "%" + "25" * 20 + "2e"),
)


@pytest.mark.parametrize("text", CLIMBING, ids=ascii)
@pytest.mark.parametrize("template", ["/base/{id}", "/base/{+rest}", "/base/x-{id}", "/base/{id}/{rest}"])
def test_nothing_climbs(template: str, text: str) -> None:
    """In any spelling that some server may read so: the argument is refused, with its place."""
    assert leads_elsewhere(text)
    _, issues = fill(template, id=text, rest=text)
    assert issues
    assert {path for path, _ in issues} <= {"/id", "/rest"}


@pytest.mark.parametrize(
    "text", ["a..b", "..a", "a..", ".env", "v1.2.3", "a.", "100%", "%zz", "a;b", "a:b@c", "%2f", "-"]
)
def test_what_only_looks_like_it_passes(text: str) -> None:
    """Names have dots."""
    assert fill("/{id}", id=text)[1] == []


@pytest.mark.parametrize("text", ["\0", "a\0b", "a\r\nb", "a\tb", "%00", "a%0d%0ab", "a%250Ab", "\x7f", "\x85"])
def test_no_control_character_passes(text: str) -> None:
    """Neither as it is nor escaped."""
    assert fill("/{id}", id=text)[1]


@pytest.mark.parametrize(
    ("template", "text", "rule"),
    [
        ("/{id}", "", "min_length"),
        ("/{id}", " ", "min_length"),
        ("/{+rest}", "/evil.test", "min_length"),
        ("/{+rest}", "//evil.test", "min_length"),
        ("/{+rest}", "a//b", "min_length"),
        ("/{+rest}", "a/", "min_length"),
        ("/{id}", None, "type"),
        ("/{id}", ["a"], "type"),
        ("/{id}", "\ud800", "type"),
    ],
)
def test_what_names_nothing_is_refused(template: str, text: Any, rule: str) -> None:
    """An empty segment is another path."""
    assert [found for _, found in fill(template, id=text, rest=text)[1]] == [rule]


def test_what_two_arguments_make_together_is_looked_at_too() -> None:
    """And what an argument makes with the row's own text."""
    assert fill("/a/.{id}", id="%2e")[1] == [("/id", "path")]
    assert fill("/a/{id}{rest}/b", id="a/", rest="..;")[1] == [("/rest", "path")]
    assert fill("/a/{id}{rest}/b", id="a%2", rest="f../b")[1] == [("/id", "path")]


def test_everything_that_is_wrong_is_told() -> None:
    """In one go."""
    assert [path for path, _ in fill("/{id}/{n}/{+rest}", id="..", n=None, rest="")[1]] == ["/id", "/n", "/rest"]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", ["text"]),
        (7, ["text"]),
        ("v1", ["path"]),
        ("https://evil.test/", ["path"]),
        ("//evil.test/a", ["path"]),
        ("/a//b", ["path"]),
        ("/../a", ["path"]),
        ("/a/./b", ["path"]),
        ("/%2e%2e/a", ["path"]),
        ("/a%00", ["path"]),
        ("/a?b=c", ["path"]),
        ("/a#b", ["path"]),
        ("/a b", ["path"]),
        ("/a\\b", ["path"]),
        ("/%zz", ["path"]),
        ("/ä", ["path"]),
        ("/{id", ["path"]),
        ("/id}", ["path"]),
        ("/{}", ["path"]),
        ("{id}", ["path"]),
        ("@evil.test/", ["path"]),
        ("/{nowhere}", ["missing"]),
        ("/{optional}", ["required"]),
        ("/{maybe}/{list}/{open}", ["type", "type", "type"]),
        ("/{+n}", ["type"]),
    ],
)
def test_a_template_that_cannot_be_trusted_is_a_problem_of_its_row(text: object, rules: list[str]) -> None:
    """When the row is loaded, and not when it is called."""
    assert read(text)[1] == rules


ALPHABET = [*"ab./\\%25eEfF:;@?#&=+ \t\r\n\0{}", "..", "//", "%2e", "%2f", "\uff0e", "\u2025", "\u200b", "\ud800", "ä"]


def test_of_ten_thousand_arguments_none_leaves_its_place() -> None:
    """What passes arrives as it was given, at the host and below the path that the connection and the row say."""
    chance = random.Random(7)
    target = Target(name="t", options={"base_url": "https://api.vendor.example:8443/base"})
    template, _ = read("/v1/{id}/x/{+rest}")
    passed = 0
    for _ in range(10_000):
        arguments = {name: "".join(chance.choices(ALPHABET, k=chance.randint(0, 6))) for name in ("id", "rest")}
        issues: Issues = []
        path = template.fill(arguments, issues)
        if issues:
            continue
        passed += 1
        split = urlsplit(url_of(target, "", Call(path=path)).text)
        assert (split.scheme, split.netloc, split.query, split.fragment) == ("https", "api.vendor.example:8443", "", "")
        head, base, version, one, x, *rest = split.path.split("/")
        assert (head, base, version, unquote(one), x) == ("", "base", "v1", arguments["id"], "x")
        assert [unquote(each) for each in rest] == arguments["rest"].split("/")
    assert passed > 500
