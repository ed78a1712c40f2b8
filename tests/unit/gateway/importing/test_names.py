"""Names are legal, tell operations apart for whoever reads them, and stay what they are when others are added."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.importing.names import argument_name, argument_names, as_seen, names_of, plain_name, snake

LEGAL = re.compile(r"[a-z][a-z0-9_]{0,63}")
IDS = st.one_of(
    st.text(max_size=80),
    st.text("aAbB_-/1lO0", max_size=6),  # which look alike soon
    st.text(string.ascii_lowercase, min_size=60, max_size=90),
)
OPERATIONS = st.dictionaries(
    st.tuples(st.sampled_from(("GET", "POST", "DELETE")), st.text("ab/{}", max_size=6)), IDS, max_size=12
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("repos/list-for-org", "repos_list_for_org"),
        ("listPets", "list_pets"),
        ("ListHTTPServers", "list_http_servers"),
        ("getV2Item", "get_v2_item"),
        ("oauth2Token", "oauth2_token"),
        ("Überweisung ausführen", "uberweisung_ausfuhren"),
        ("注文", ""),
        ("__a__B__", "a_b"),
    ],
)
def test_words_become_snake_case(text: str, expected: str) -> None:
    """Camel case, separators and accents alike."""
    assert snake(text) == expected


def test_an_operation_without_an_id_is_named_by_method_and_path() -> None:
    """So is one whose id has no letter that is left."""
    assert plain_name(("GET", "/v1/customers/{customer_id}"), "") == "get_v1_customers_customer_id"
    assert plain_name(("POST", "/notes"), "注文") == "post_notes"
    assert plain_name(("GET", "/"), "") == "get"


@given(operations=OPERATIONS, prefix=st.sampled_from(("", "crm", "a_b", "7")))
def test_every_name_is_legal_and_looks_like_no_other(operations: dict[tuple[str, str], str], prefix: str) -> None:
    """Whatever a document calls its operations."""
    names = [name for name in names_of(operations, prefix=prefix).values() if name is not None]
    assert all(LEGAL.fullmatch(name) for name in names)
    assert len({as_seen(name) for name in names}) == len(names)


@given(operations=OPERATIONS, more=OPERATIONS)
def test_another_operation_renames_none(
    operations: dict[tuple[str, str], str], more: dict[tuple[str, str], str]
) -> None:
    """But one that it looks like: then neither has the plain name, and neither has the other's."""
    alone = names_of(operations, prefix="crm")
    both = names_of({**more, **operations}, prefix="crm")
    added = {as_seen(plain_name(key, own)) for key, own in more.items() if key not in operations}
    for key, own in operations.items():
        if as_seen(plain_name(key, own)) not in added:
            assert both[key] in (alone[key], None)
    before, after = ({name: key for key, name in names.items() if name} for names in (alone, both))
    assert all(after.get(name, key) == key for name, key in before.items()), "a name means another operation now"


def test_g19_lookalikes_all_lose_the_plain_name() -> None:
    """What differs in case, in separators or in 0 and o only. Their order does not count."""
    operations = {("GET", "/a"): "get-item", ("GET", "/b"): "getItem", ("GET", "/c"): "GETITEM", ("GET", "/d"): "lo"}
    names = names_of(operations, prefix="x")
    assert all(re.fullmatch(r"x_get_?item_[0-9a-f]{10}", str(names["GET", path])) for path in ("/a", "/b", "/c"))
    assert names["GET", "/d"] == "x_lo"
    assert names_of(dict(reversed(operations.items())), prefix="x") == names


def test_a_long_name_is_cut_and_told_apart() -> None:
    """By its own operation alone."""
    first = names_of({("GET", "/a"): "a" * 80}, prefix="x")["GET", "/a"]
    both = names_of({("GET", "/a"): "a" * 80, ("GET", "/b"): "a" * 79 + "b"}, prefix="x")
    assert first is not None
    assert len(first) == 64
    assert both["GET", "/a"] == first != both["GET", "/b"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("customer-id", "customer-id"),
        ("filter[name]", "filter_name"),
        ("$top", "top"),
        ("2fa", "_2fa"),
        ("注文", "argument"),
        ("_id", "_id"),
    ],
)
def test_arguments_have_names_that_models_take(name: str, expected: str) -> None:
    """Letters, digits, underscores, dots and hyphens; a path has no dots and hyphens."""
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", argument_name(name))
    assert argument_name(name).strip("_") == expected.strip("_")
    assert argument_name("customer-id", is_path=True) == "customer_id"


def test_parameters_of_one_name_are_told_apart_by_their_place() -> None:
    """The path keeps the plain one. What cannot be told apart is said."""
    assert argument_names([("path", "id"), ("query", "id"), ("query", "page")]) == {
        ("path", "id"): "id",
        ("query", "id"): "id_query",
        ("query", "page"): "page",
    }
    assert argument_names([("query", "a[b]"), ("query", "a_b")]) is None
