"""Which events somebody gets."""

import pytest
from fakes.events import catalogue_of, subscriber
from fakes.principals import principal
from fakes.rows import agent

from gateway.errors import Refused, RefusedKind
from gateway.events.interest import MOST_NAMED, Asked, interest_of, matches
from gateway.rows import Subscription

ALL = Asked()


@pytest.mark.parametrize(
    ("pattern", "kind", "does"),
    [
        ("*", "issue.opened", True),
        ("issue.opened", "issue.opened", True),
        ("issue.opened", "issue.opened_again", False),
        ("issue.*", "issue.opened", True),
        ("issue.*", "issue.comment.created", True),
        ("issue.*", "issue", False),
        ("issue.*", "issues.opened", False),
        ("issue", "issue.opened", False),
    ],
)
def test_a_pattern_is_a_kind_or_all_of_one_thing_or_all(pattern: str, kind: str, does: bool) -> None:
    """And nothing in between."""
    assert matches(kind, (pattern,)) is does


def test_an_agent_gets_what_its_row_names() -> None:
    """Of the connections that it names, and no other; two subscriptions of one connection add up."""
    row = agent(
        events=(
            Subscription(connection="tracker", kinds=("issue.*",)),
            Subscription(connection="tracker", kinds=("comment.created",)),
            Subscription(connection="shop", kinds=("*",)),
        )
    )
    interest = interest_of(catalogue_of([row]), principal(), ALL)
    assert interest.connections == {"tracker", "shop"}
    assert interest.takes("tracker", "issue.closed")
    assert interest.takes("tracker", "comment.created")
    assert interest.takes("shop", "anything.at_all")
    assert not interest.takes("tracker", "push.made")
    assert not interest.takes("mail", "issue.opened")


def test_what_is_asked_for_narrows_and_never_widens() -> None:
    """Both by connection and by kind."""
    catalogue = catalogue_of([subscriber("issue.*")])
    narrow = interest_of(catalogue, principal(), Asked.of(["tracker", "mail"], ["issue.opened", "push.*"]))
    assert narrow.connections == {"tracker"}
    assert narrow.takes("tracker", "issue.opened")
    assert not narrow.takes("tracker", "issue.closed")
    assert not narrow.takes("tracker", "push.made")
    assert not narrow.takes("mail", "issue.opened")
    assert interest_of(catalogue, principal(), Asked.of(["mail"], [])).connections == frozenset()


@pytest.mark.parametrize("who", [principal(agent="nobody"), principal(tenant="rival"), principal(agent="")])
def test_who_has_no_row_gets_nothing(who: object) -> None:
    """An agent of another tenant has none, whatever its name."""
    interest = interest_of(catalogue_of([subscriber("*")]), who, ALL)  # type: ignore[arg-type]
    assert interest.connections == frozenset()
    assert not interest.takes("tracker", "issue.opened")


@pytest.mark.parametrize(
    ("connections", "kinds"),
    [
        (["../x"], []),
        ([""], []),
        (["UPPER"], []),
        ([], [""]),
        ([], ["issue*"]),
        ([], ["*.opened"]),
        ([], ["issue..opened"]),
        ([], ["x" * 129]),
        ([], ["*"] * (MOST_NAMED + 1)),
        (["a"] * (MOST_NAMED + 1), []),
    ],
)
def test_what_can_name_nothing_is_refused(connections: list[str], kinds: list[str]) -> None:
    """In a sentence: it is a mistake, and would look like silence."""
    with pytest.raises(Refused) as caught:
        Asked.of(connections, kinds)
    assert caught.value.kind is RefusedKind.INVALID
    assert caught.value.message.endswith(".")
