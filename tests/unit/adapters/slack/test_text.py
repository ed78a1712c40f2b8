"""What an agent writes means itself in Slack, but for mentions that it names."""

import pytest

from adapters.slack.text import Mentions, is_name, plain_links, written

ANN, BO, GROUP = "U0B7K2L9QPN", "W0C3D81NNWA", "S0D4E92KKLM"
NOBODY = Mentions()


def test_control_characters_are_escaped() -> None:
    """As Slack's documentation asks for, and what is escaped already is escaped again: it was meant so."""
    assert written("a < b && c > d, &amp;", NOBODY) == "a &lt; b &amp;&amp; c &gt; d, &amp;amp;"


@pytest.mark.parametrize(
    "command",
    [
        "<!channel>",
        "<!here|here>",
        "<!everyone>",
        f"<@{ANN}>",
        f"<@{ANN}|ann>",
        f"<!subteam^{GROUP}|@oncall>",
        "<#C0FA2M81QXR>",
        "<https://evil.example|https://bank.example>",
        "<mailto:a@evil.example|Support>",
        "<!date^1392734382^{date}^https://evil.example|today>",
        "<!channel",
        "<<!channel>>",
        "<!chan\nnel>",
    ],
)
def test_nothing_in_a_text_is_a_command(command: str) -> None:
    """No form of control sequence that nobody named comes through."""
    sent = written(f"hi {command} there", NOBODY)
    assert "<" not in sent
    assert ">" not in sent


def test_a_mention_that_is_named_is_live_where_it_stands() -> None:
    """And others beside it are not."""
    sent = written(f"<@{ANN}|ann>, please; not <@{BO}>", Mentions.of([ANN]))
    assert sent == f"<@{ANN}>, please; not &lt;@{BO}&gt;"


def test_whoever_is_named_and_not_in_the_text_is_mentioned_in_front_of_it() -> None:
    """Each once, whatever the order."""
    sent = written(f"Hello <@{ANN}> <@{ANN}>", Mentions.of([BO, "here", GROUP, ANN, BO]))
    assert sent == f"<!here> <!subteam^{GROUP}> <@{BO}> Hello <@{ANN}> <@{ANN}>"


def test_a_channel_wide_mention_has_to_be_named_like_any_other() -> None:
    """`here` does not stand for `channel`."""
    assert written("<!channel> <!here>", Mentions.of(["here"])) == "&lt;!channel&gt; <!here>"


def test_a_broken_sequence_before_a_mention_stays_text() -> None:
    """The mention inside is found, and what is around it is escaped."""
    assert written(f"<<@{ANN}>>", Mentions.of([ANN])) == f"&lt;<@{ANN}>&gt;"


def test_mentions_tell_users_from_groups_and_from_everybody() -> None:
    """For policy."""
    found = Mentions.of([GROUP, BO, "everyone", ANN, "channel"])
    assert (found.users, found.groups, found.wide) == ((ANN, BO), (GROUP,), ("channel", "everyone"))
    assert found.names == ("channel", "everyone", GROUP, ANN, BO)


@pytest.mark.parametrize("name", [ANN, BO, GROUP, "here", "channel", "everyone"])
def test_what_can_be_mentioned(name: str) -> None:
    """Ids and three words."""
    assert is_name(name)


@pytest.mark.parametrize(
    "name", ["", "ann", "@here", "Here", "C0FA2M81QXR", f"<@{ANN}>", f"{ANN}\n", "U", "u0b7k2l9qpn"]
)
def test_what_cannot_be_mentioned(name: str) -> None:
    """Names, channels, and ids in another form."""
    assert not is_name(name)


def test_links_that_slack_has_marked_are_plain_again() -> None:
    """With or without words; mentions stay."""
    assert plain_links("see <https://a.example/x|a> <http://b.example> <@U1>") == (
        "see https://a.example/x http://b.example <@U1>"
    )
