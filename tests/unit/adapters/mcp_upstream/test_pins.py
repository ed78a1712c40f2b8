"""The digest of what a server publishes of a tool."""

import hashlib
from typing import Any

import pytest
from fakes.mcp_sessions import published

from adapters.mcp_upstream.pins import PIN, pin_of, pins_by_name


def test_a_pin_is_over_canonical_json() -> None:
    """Sorted keys, no white space, UTF-8 as it is: anybody can work it out."""
    tool = {"name": "send", "inputSchema": {"type": "object", "b": 1, "a": "é"}, "annotations": {"readOnlyHint": True}}
    written = '{"inputSchema":{"a":"é","b":1,"type":"object"},"name":"send"}'
    assert pin_of(tool) == f"sha256:{hashlib.sha256(written.encode()).hexdigest()}"
    assert PIN.fullmatch(pin_of(tool))


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "Send_email"},
        {"title": "Send"},
        {"description": "Sends an e-mail. "},
        {"description": None},
        {"inputSchema": {"type": "object"}},
        {"outputSchema": {"type": "object"}},
    ],
    ids=str,
)
def test_whatever_a_model_goes_by_is_pinned(changed: dict[str, Any]) -> None:
    """One character is enough, and so is null in the place of nothing."""
    bare = {key: value for key, value in published().items() if value is not None}
    bare.pop("description") if changed == {"description": None} else None
    assert pin_of({**bare, **changed}) != pin_of(bare)


@pytest.mark.parametrize("member", ["annotations", "_meta", "icons", "execution"])
def test_hints_are_not_pinned(member: str) -> None:
    """They decide nothing."""
    assert pin_of(published(**{member: {"a": 1}})) == pin_of(published())


def test_the_order_of_keys_makes_no_difference() -> None:
    """At no level."""
    tool = published()
    turned = {key: tool[key] for key in reversed(tool)} | {"inputSchema": dict(reversed(tool["inputSchema"].items()))}
    assert pin_of(turned) == pin_of(tool)


def test_what_is_not_json_has_no_pin() -> None:
    """Half a character, or more levels than can be followed."""
    deep: dict[str, Any] = {}
    for _ in range(2000):
        deep = {"items": deep}
    assert pin_of(published(description="\ud800")) == ""
    assert pin_of(published(inputSchema=deep)) == ""


def test_tools_are_told_apart_byte_by_byte() -> None:
    """Another case, or a letter that looks the same, is another name; the same name twice has two pins."""
    tools = [published("send"), published("Send"), published("sеnd"), published("send", title="2"), {"title": "x"}]  # noqa: RUF001
    pins = pins_by_name([*tools, {"name": 7}])
    assert {name: len(found) for name, found in pins.items()} == {"send": 2, "Send": 1, "sеnd": 1}  # noqa: RUF001
    assert pins["send"] == (pin_of(tools[0]), pin_of(tools[3]))
