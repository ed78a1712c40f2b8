"""What upstreams publish against what rows have accepted."""

from typing import Any

import pytest
from fakes.offering import offer

from adapters.base import SideEffect, Target
from gateway.cli.reviewing import Standing, accepted, findings
from gateway.cli.upstreams import Upstream
from gateway.importing.reasons import Skipped
from gateway.rows import Connection

CONNECTION = Connection(name="docs", tenant="acme", vendor="making", target=Target(name="docs"), policy_json=b"{}")


def row(name: str, word: str, pin: str = "sha256:old", **changes: Any) -> dict[str, Any]:
    """A tool that is bound to one thing of the upstream."""
    binding = {"adapter": "making", "operation": "say", "connection": "docs", "options": {"word": word, "pin": pin}}
    return {"name": name, "version": "1", "risk": "high", "description": "Ours.", "binding": binding} | changes


def found(tools: list[dict[str, Any]], *offers: Any, problem: str = "") -> list[tuple[str, str, Standing]]:
    """Of each finding the upstream's name, the row's, and how they stand."""
    upstream = Upstream(connection=CONNECTION, offers=offers, problem=problem)
    return [(one.upstream, one.tool, one.standing) for one in findings(tools, [upstream])]


def test_everything_that_is_offered_and_every_row_has_its_standing() -> None:
    """Rows first, then what no row is bound to."""
    tools = [row("docs_a", "a", "sha256:1"), row("docs_b", "b"), row("docs_c", "c"), row("docs_d", "d")]
    offers = (
        offer("a", "sha256:1"),
        offer("b", "sha256:2"),
        offer("d", problems=("It is there twice.",)),
        offer("e"),
        offer("f", problems=("No.",)),
    )
    assert found(tools, *offers) == [
        ("a", "docs_a", Standing.ACCEPTED),
        ("b", "docs_b", Standing.CHANGED),
        ("", "docs_c", Standing.GONE),
        ("d", "docs_d", Standing.UNUSABLE),
        ("e", "", Standing.NEW),
        ("f", "", Standing.UNUSABLE),
    ]


def test_of_an_upstream_that_did_not_say_nothing_is_known() -> None:
    """That is no acceptance."""
    assert found([row("docs_a", "a")], problem="It is away.") == [("", "", Standing.UNKNOWN)]
    assert Standing.UNKNOWN.waits


def test_rows_of_other_connections_are_none_of_its() -> None:
    """Whatever they call their own."""
    other = row("mail_a", "a")
    other["binding"] = other["binding"] | {"connection": "mail"}
    assert found([other], offer("a")) == [("a", "", Standing.NEW)]


@pytest.mark.parametrize(
    ("version", "want"), [("1", "2"), ("9", "10"), ("v1.9", "v1.10"), ("beta", "beta.2"), ("2026-11", "2026-12")]
)
def test_an_accepted_row_is_a_new_version(version: str, want: str) -> None:
    """So that no approval of the former one covers it."""
    (one,) = findings([row("docs_a", "a", version=version)], [Upstream(connection=CONNECTION, offers=(offer("a"),))])
    assert accepted(one, is_pin_only=True)["version"] == want


def test_accepting_takes_texts_and_schemas_and_leaves_what_people_decided() -> None:
    """Side effect, risk and what the output has to be are the row's, whatever the upstream hints."""
    changed = offer("a", side_effect=SideEffect.WRITE, options={"word": "a", "pin": "sha256:new"})
    (one,) = findings(
        [row("docs_a", "a", side_effect="read", output_schema={"type": "object"})],
        [Upstream(connection=CONNECTION, offers=(changed,))],
    )
    after = accepted(one, is_pin_only=False)
    assert after["binding"]["options"] == {"word": "a", "pin": "sha256:new"}
    assert (after["side_effect"], after["risk"], after["description"]) == ("read", "high", "Says it.")
    assert after["input_schema"]["additionalProperties"] is False
    assert after["output_schema"] == {"type": "object"}


def test_accepting_the_pin_alone_leaves_the_words() -> None:
    """They are a person's."""
    changed = offer("a", options={"word": "a", "pin": "sha256:new"})
    (one,) = findings([row("docs_a", "a")], [Upstream(connection=CONNECTION, offers=(changed,))])
    after = accepted(one, is_pin_only=True)
    assert (after["description"], after["binding"]["options"]["pin"]) == ("Ours.", "sha256:new")


def test_what_no_tool_can_be_made_of_is_not_accepted() -> None:
    """Its schema takes anything."""
    bad = offer("a", input_schema={"type": "object", "properties": {"x": {}}, "required": ["x"]})
    (one,) = findings([row("docs_a", "a")], [Upstream(connection=CONNECTION, offers=(bad,))])
    with pytest.raises(Skipped):
        accepted(one, is_pin_only=False)


def test_what_a_binding_says_besides_its_pin_is_compared_too() -> None:
    """Else a tool would be refused of which a review says that it is accepted. What it does not say is not added."""
    options = {"word": "a", "pin": "sha256:new"}
    offered = offer("a", options=options, also={"server": "other"})
    rows = [row("docs_a", "a", "sha256:new"), row("docs_b", "a", "sha256:new")]
    rows[1]["binding"]["options"]["server"] = "docs"
    one, other = findings(rows, [Upstream(connection=CONNECTION, offers=(offered,))])
    assert (one.standing, other.standing) == (Standing.ACCEPTED, Standing.CHANGED)
    assert accepted(one, is_pin_only=True)["binding"]["options"] == options
    assert accepted(other, is_pin_only=True)["binding"]["options"] == options | {"server": "other"}
