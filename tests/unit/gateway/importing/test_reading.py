"""A document is read strictly, and a hostile one ends with one sentence."""

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import StartError
from gateway.importing import reading
from gateway.importing.reading import description_of, read_description

GOOD: dict[str, Any] = {"openapi": "3.0.3", "paths": {}}


def yaml_of(text: str) -> dict[str, Any]:
    """A document of YAML with these lines more."""
    return description_of(f"openapi: 3.1.0\npaths: {{}}\n{text}".encode(), "a.yaml")


def refused(raw: bytes | str) -> str:
    """The sentence for what is refused."""
    with pytest.raises(StartError) as caught:
        description_of(raw if isinstance(raw, bytes) else raw.encode(), "a")
    assert caught.value.problems == ()
    return caught.value.message


def test_json_and_yaml_say_the_same(tmp_path: Path) -> None:
    """A byte order mark does not matter."""
    as_json, as_yaml = tmp_path / "a.json", tmp_path / "a.yaml"
    as_json.write_bytes(b"\xef\xbb\xbf" + json.dumps({**GOOD, "x-a": [1, 2.5, None, True, "é"]}).encode())
    as_yaml.write_text('openapi: 3.0.3\npaths: {}\nx-a: [1, 2.5, null, true, "é"]\n')
    assert read_description(as_json) == read_description(as_yaml) == {**GOOD, "x-a": [1, 2.5, None, True, "é"]}


def test_yaml_is_read_as_its_present_version_has_it() -> None:
    """Statuses need no quotes, `no` is Norway, dates and times are texts, and large numbers do no harm."""
    lines = ("200: a", "b: no", "c: 2001-01-01", "d: 17:00", "e: 010", "f: 9223372036854775807", "g: 1e3")
    found = yaml_of("x:\n" + "".join(f"  {line}\n" for line in lines))
    assert found["x"] == {
        "200": "a",
        "b": "no",
        "c": "2001-01-01",
        "d": "17:00",
        "e": "010",
        "f": 9223372036854775807,
        "g": 1000.0,
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: &x 1\nb: *x\n", "a.yaml:4: aliases"),
        ("a: 1\na: 2\n", "a.yaml:4: the key 'a' stands twice"),
        ("<<: {a: 1}\n", "merge keys"),
        ("a: !!python/object:os.system x\n", "the tag"),
        ("? [a]\n: 1\n", "keys must be strings"),
        ("--- \na: 1\n", "more than one YAML document"),
        ("a: [\n", "cannot be read as YAML"),
        ("a: " + "[" * 300 + "]" * 300, "levels deep"),
        ('a: "\\ud800"\n', "cannot be read as YAML"),
    ],
)
def test_yaml_that_hides_something_is_refused(text: str, told: str) -> None:
    """Each with its line."""
    with pytest.raises(StartError) as caught:
        yaml_of(text)
    assert told in caught.value.message


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ("[]", "holds no object"),
        ("", "holds no object"),
        ("{", "cannot be read as JSON"),
        ('{"openapi": NaN}', "cannot be read as JSON"),
        ('{"openapi": "\\ud800"}', "cannot be read as JSON"),
        ('{"openapi": "3.0.0", "openapi": "3.1.0"}', "'openapi' twice"),
        (b'{"a": "\xff"}', "cannot be read as JSON"),
        (b"a: \xff", "is not UTF-8"),
        ('{"swagger": "2.0"}', "is Swagger 2"),
        ('{"openapi": "4.0.0", "paths": {}}', "no OpenAPI 3.0 or 3.1"),
        ('{"openapi": "3.1.0"}', "has no `paths`"),
        ('{"a":' * 2000 + "1" + "}" * 2000, "cannot be read as JSON"),
        ('{"a":' * 990 + "1" + "}" * 990, "cannot be read as JSON"),
    ],
)
def test_what_is_no_document_is_one_sentence(raw: bytes | str, told: str) -> None:
    """Which says why."""
    assert told in refused(raw)


def test_an_endless_number_takes_no_time() -> None:
    """It is infinite, and no schema takes it for a bound."""
    assert description_of(b'{"openapi": "3.1.0", "paths": {}, "a": ' + b"9" * 300 + b"}", "a")["a"] == 1e300


def test_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes and values, of both formats, before anything is made of them."""
    monkeypatch.setattr(reading, "MAX_VALUES", 50)
    assert "more than 50 values" in refused(json.dumps({**GOOD, "a": [1] * 100}))
    assert "more than 50 values" in refused("openapi: 3.1.0\na:\n" + "- 1\n" * 100)
    monkeypatch.setattr(reading, "MAX_YAML_BYTES", 100)
    assert "as JSON it may have" in refused("a: " + "x" * 200)
    monkeypatch.setattr(reading, "MAX_BYTES", 100)
    assert "is larger than" in refused(json.dumps({**GOOD, "a": "x" * 200}))


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    """As is a folder."""
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(StartError, match="cannot be read"):
            read_description(path)
