"""Keys: what is taken as one, and what two of them being equal means."""

import itertools
from typing import Any

import pytest
from fakes.principals import principal
from fakes.rows import tool

from gateway.call import Arguments, Request
from gateway.errors import Reason, Refusal
from gateway.idempotency.keys import check_key, derived_key, is_own_key, key_of_call, scoped_key
from gateway.rows import KeyRule


def _key(
    *, given: str = "", run: str = "", step: str = "", digest: str = "sha256:aa", call: str = "c1", **changes: Any
) -> str:
    request = Request(tool="echo", arguments_json=b"{}", idempotency_key=given, run_id=run, step_id=step)
    arguments = Arguments(value={}, canonical=b"{}", digest=digest)
    who = principal(**changes.pop("who", {}))
    return key_of_call(who, tool(**changes), request, arguments, call_id=call)


def _reason(**changes: Any) -> Reason:
    with pytest.raises(Refusal) as caught:
        _key(**changes)
    return caught.value.reason


@pytest.mark.parametrize("key", ["a", "order 17/€"[:8], "x" * 128, "~!@#"])
def test_printable_ascii_is_a_key(key: str) -> None:
    """Up to 128 characters, taken as it is."""
    assert check_key(key) == key


@pytest.mark.parametrize("key", ["", "x" * 129, "ü", "a\nb", "a\x00", "a\x7f", "\ud800"])
def test_anything_else_is_refused(key: str) -> None:
    """With a reason of its own, and without the key in the message."""
    with pytest.raises(Refusal) as caught:
        check_key(key)
    assert caught.value.reason is Reason.KEY_INVALID


def test_no_choice_of_parts_makes_two_keys_equal() -> None:
    """However the same characters are dealt out over tenant, agent, tool and key."""
    parts = ["", "a", "ab", "b", "1:a", ":", "\x00"]
    keys = {scoped_key(*choice) for choice in itertools.product(parts, repeat=4)}
    assert len(keys) == len(parts) ** 4
    assert all(len(key) == 64 for key in keys)
    assert derived_key("a", "b", "t", "d") != derived_key("ab", "", "t", "d")


def test_a_given_key_counts_within_tenant_agent_and_tool() -> None:
    """The same three and the same key are the same effect, whatever call or run it is."""
    same = _key(given="k", call="c1") == _key(given="k", call="c2", run="r")
    assert same
    others = [
        _key(given="k"),
        _key(given="k2"),
        _key(given="k", who={"tenant": "other"}),
        _key(given="k", who={"agent": "other"}),
        _key(given="k", name="other"),
    ]
    assert len(set(others)) == len(others)


def test_a_tool_may_demand_a_key() -> None:
    """A run is no substitute."""
    assert _reason(key_rule=KeyRule.REQUIRED, run="r", step="s") is Reason.KEY_REQUIRED
    assert _reason(given="x" * 200) is Reason.KEY_INVALID


def test_a_retry_of_the_same_step_is_the_same_effect() -> None:
    """Other arguments, another step or another run are another one, and so is what a caller gives as a key."""
    assert _key(run="r", step="s", call="c1") == _key(run="r", step="s", call="c2")
    others = [
        _key(run="r", step="s"),
        _key(run="r", step="t"),
        _key(run="q", step="s"),
        _key(run="r", step="s", digest="sha256:bb"),
        _key(run="r", step="s", who={"agent": "other"}),
        _key(given=derived_key("r", "s", "echo", "sha256:aa")),
    ]
    assert len(set(others)) == len(others)


def test_without_key_and_run_every_call_is_its_own_effect() -> None:
    """So is every call of a tool that is safe to repeat, even within a run."""
    assert _key(call="c1") != _key(call="c2")
    assert _key(call="c1", run="r", key_rule=KeyRule.NATURAL) != _key(call="c2", run="r", key_rule=KeyRule.NATURAL)


def test_a_key_of_its_own_is_told_from_one_that_can_be_repeated() -> None:
    """Neither a given key nor a derived one ever looks like it, even when a caller gives a call's id as its key."""
    assert is_own_key(_key(call="c1"), "c1")
    assert not is_own_key(_key(call="c1", given="c1"), "c1")
    assert not is_own_key(_key(call="c1", run="r"), "c1")
