"""A row in the store is one JSON document that everybody reads alike."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.registry.written import NotADocument, document_of, placed_at
from gateway.store.rows import RowKind


def rule(raw: bytes, kind: RowKind = RowKind.AGENT) -> str:
    """Why it is no row of acme's named x."""
    with pytest.raises(NotADocument) as caught:
        document_of(raw, kind, "x", "acme")
    return caught.value.rule


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        (b"", "json"),
        (b"{", "json"),
        (b"\xff", "json"),
        (b"[]", "object"),
        (b'"x"', "object"),
        (b'{"name":"x","a":NaN}', "json"),
        (b'{"name":"x","a":1e999}', "finite"),
        (b'{"name":"x","a":9007199254740992}', "integer_range"),
        (b'{"name":"x","name":"x"}', "duplicate_key"),
        (b'{"name":"x","a":{"b":1,"b":2}}', "duplicate_key"),
        (b'{"name":"x","a":"\\ud800"}', "unicode"),
        (b'{"name":"x","\\ud800":1}', "unicode"),
        (b'{"name":"x","a":' + b"[" * 70 + b"]" * 70 + b"}", "depth"),
        (b"[" * 100_000, "depth"),
        (b"{}", "name"),
        (b'{"name":"y"}', "name"),
        (b'{"name":"x","tenant":"rival"}', "tenant"),
        (b'{"name":"x","tenant":null}', "tenant"),
    ],
)
def test_each_way_to_be_no_row_has_its_rule(raw: bytes, want: str) -> None:
    """Nothing of it is taken for another thing, and no text of it is repeated but a key."""
    assert rule(raw) == want


def test_it_is_kept_in_one_form_and_with_its_tenant() -> None:
    """Sorted keys; a tool belongs to no tenant by its own words, and the store knows whose it is."""
    assert document_of(b'{ "b": 1, "name": "x" }', RowKind.AGENT, "x", "acme") == b'{"b":1,"name":"x","tenant":"acme"}'
    assert document_of(b'{"name":"x"}', RowKind.TOOL, "x", "acme") == b'{"name":"x"}'
    same = document_of(b'{"tenant":"acme","name":"x"}', RowKind.CONNECTION, "x", "acme")
    assert document_of(same, RowKind.CONNECTION, "x", "acme") == same


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(TEXTS, JSON, max_size=5))
def test_what_is_kept_says_what_was_given(value: dict[str, object]) -> None:
    """Whatever JSON it is."""
    value["name"] = "x"
    kept = document_of(orjson.dumps(value), RowKind.TOOL, "x", "acme")
    assert orjson.loads(kept) == value
    assert placed_at(RowKind.TOOL, "x", kept).value == value


def test_a_problem_of_a_stored_row_names_the_row_and_the_place() -> None:
    """There is no file, and no line."""
    problem = placed_at(RowKind.TOOL, "x", b"{}").problem(("a/b", 0, "c~"), "rule", "wrong")
    assert (problem.file, problem.path) == ("tool/x", "/a~1b/0/c~0")
