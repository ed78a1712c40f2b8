"""Reading a decision. The hand-written checks and the published schema are one."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from fakes.packs import SCHEMAS
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Fault
from gateway.call import DecisionEffect
from gateway.errors import Reason, Refusal
from gateway.policy.decision import decision_of, read_decision, undefined

SCHEMA = jsonschema_rs.Draft202012Validator(json.loads(Path(SCHEMAS, "decision.schema.json").read_text()))
REVISION = "sha256:0"

OBLIGATIONS: list[dict[str, Any]] = [
    {"type": "redact", "value": {"paths": ["/a", "/b/0", "/c~1d"]}},
    {"type": "max_result_bytes", "value": 1000},
    {"type": "require_key", "value": True},
    {"type": "mark_untrusted", "value": True},
    {"type": "log_level", "value": "minimal"},
    {"type": "rate", "value": {"per_minute": 0.5, "burst": 2}},
    {"type": "approval", "value": {"roles": ["boss"], "count": 2, "expires_in_seconds": 60}},
]


def _is_read(value: Any) -> bool:
    try:
        read_decision(json.dumps(value), REVISION)
    except Refusal as refusal:
        return refusal.reason is not Reason.POLICY_INVALID
    return True


def _decision(**changes: Any) -> dict[str, Any]:
    return {"effect": "require_approval", "reasons": [], "obligations": [], **changes}


@pytest.mark.parametrize("obligation", OBLIGATIONS, ids=lambda each: each["type"])
def test_each_known_obligation_is_read(obligation: dict[str, Any]) -> None:
    """Type and value come back as they are, and the schema agrees."""
    answer = _decision(obligations=[obligation])
    assert SCHEMA.is_valid(answer)
    (read,) = read_decision(json.dumps(answer), REVISION).obligations
    assert {"type": read.type, "value": read.value} == obligation


def test_an_allow_does_not_ask_for_an_approval() -> None:
    """The two contradict each other; a denial may carry one."""
    assert not _is_read(_decision(effect="allow", obligations=[OBLIGATIONS[-1]]))
    assert _is_read(_decision(effect="deny", obligations=[OBLIGATIONS[-1]]))


NUMBERS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        [0, 1e-320, 1e-6, 1, 2, 10, 11, 1.0, 1.5, 0.0, -1, 1e6, 1e6 + 1, 16777216, 16777217, 2592000, 2592001, 10**30]
    ),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
)
TEXTS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        ["", "a", "A", "a\n", "full", "Full", "/", "/a", "/a/", "a/b", "/~", "/~0", "/~2", "//", "/a\n", "é"]
    ),
    st.integers(0, 400).map(lambda length: "a" * length),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=10),
)
ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), NUMBERS, TEXTS, st.just([]), st.just({}), st.just([[]])
)


def _rarely_odd(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(usual, usual, usual, usual, ODD)


def _objects(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects that are mostly right: now and then a field is odd, missing or one too many."""
    odd = {name: _rarely_odd(field) for name, field in fields.items()}
    whole = st.fixed_dictionaries(odd)
    some = st.fixed_dictionaries({}, optional={**odd, "extra": ODD})
    return st.one_of(whole, whole, whole, whole, some)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "redact": _objects(paths=st.lists(_rarely_odd(TEXTS), max_size=70)),
    "max_result_bytes": NUMBERS,
    "require_key": st.just(True),
    "mark_untrusted": st.just(True),
    "log_level": st.sampled_from(["full", "normal", "minimal"]),
    "rate": _objects(per_minute=NUMBERS, burst=NUMBERS),
    "approval": _objects(
        roles=st.lists(_rarely_odd(TEXTS), max_size=18), count=st.integers(0, 11), expires_in_seconds=NUMBERS
    ),
    "dance": ODD,
}


@st.composite
def _obligations(draw: st.DrawFn) -> Any:
    kind = draw(st.sampled_from(sorted(VALUES)))
    return draw(_objects(type=st.just(kind), value=VALUES[kind]))


REASONS = st.one_of(
    _objects(code=TEXTS, message=TEXTS, advice=TEXTS),
    st.fixed_dictionaries({"code": st.from_regex(r"[a-z0-9_.:-]{1,66}", fullmatch=True)}, optional={"advice": TEXTS}),
)
DECISIONS = _rarely_odd(
    _objects(
        effect=st.sampled_from(["allow", "deny", "require_approval", "ALLOW "]),
        reasons=st.lists(_rarely_odd(REASONS), max_size=18),
        obligations=st.lists(_rarely_odd(_obligations()), max_size=18),
    )
)


@settings(max_examples=1500, deadline=None)
@given(DECISIONS)
def test_the_checks_equal_the_schema(answer: Any) -> None:
    """What the schema takes is read, and nothing else."""
    assert _is_read(answer) == SCHEMA.is_valid(answer)


@settings(max_examples=400, deadline=None)
@given(st.lists(_obligations(), min_size=1, max_size=2))
def test_the_checks_of_obligations_equal_the_schema(obligations: list[Any]) -> None:
    """The same for decisions in which nothing but an obligation can be wrong."""
    answer = _decision(obligations=obligations)
    assert _is_read(answer) == SCHEMA.is_valid(answer)


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "{",
        '{"effect": "allow", "reasons": [], "obligations": []',
        '{"effect": "deny", "effect": "allow", "reasons": [], "obligations": []}',
        '{"effect": "allow", "reasons": [], "obligations": []} {}',
        '{"effect": "allow", "reasons": [{"code": "a", "message": "\\ud800"}], "obligations": []}',
        '{"effect": "allow", "reasons": [], "obligations": [{"type": "max_result_bytes", "value": NaN}]}',
        '{"effect": "allow", "reasons": [], "obligations": [{"type": "rate", "value": {"burst": 1, "burst": 2}}]}',
        "[" * 100_000,
        b"\xff",
        b"",
    ],
)
def test_g07_what_is_no_json_document_is_invalid(raw: str | bytes) -> None:
    """G07: truncated, doubled, duplicated and unsendable answers refuse; none allows."""
    with pytest.raises(Refusal) as caught:
        read_decision(raw, REVISION)
    assert (caught.value.reason, caught.value.fault) == (Reason.POLICY_INVALID, Fault.MALFORMED)


def test_bytes_are_read_like_text() -> None:
    """An engine over the network answers in bytes."""
    assert read_decision(b'{"effect":"deny","reasons":[],"obligations":[]}', REVISION).effect is DecisionEffect.DENY


def test_an_answer_that_was_parsed_already_is_read_alike() -> None:
    """By the same checks."""
    assert decision_of(_decision(), REVISION) == read_decision(json.dumps(_decision()), REVISION)
    for wrong in ({}, None, [], True, "allow", _decision(extra=1)):
        with pytest.raises(Refusal) as caught:
            decision_of(wrong, REVISION)
        assert caught.value.reason is Reason.POLICY_INVALID


def test_undefined_has_a_reason_of_its_own() -> None:
    """Who reads the audit line can tell a missing rule from a broken one."""
    assert undefined().reason is Reason.POLICY_UNDEFINED
