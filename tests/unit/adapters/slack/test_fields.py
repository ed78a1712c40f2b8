"""Arguments of Slack's operations are read strictly, and all that is wrong is told at once."""

from typing import Any

import pytest

from adapters.base import ArgumentProblem
from adapters.slack.fields import SlackFields

CHANNEL = "C0FA2M81QXR"


def issues(fields: SlackFields) -> list[tuple[str, str]]:
    """Path and rule of everything that was noted."""
    with pytest.raises(ArgumentProblem) as caught:
        fields.checked({})
    assert all(issue.message for issue in caught.value.issues)
    return [(issue.path, issue.rule) for issue in caught.value.issues]


def test_what_is_right_comes_back() -> None:
    """And nothing is raised."""
    fields = SlackFields({"channel": CHANNEL, "limit": 5})
    prepared = {**fields.channel(), "limit": fields.limit(20, 100)}
    assert fields.checked(prepared) == {"channel": CHANNEL, "is_direct": False, "limit": 5}


def test_everything_that_is_wrong_is_told_at_once() -> None:
    """Not only the first."""
    fields = SlackFields({"channel": "general", "ts": "yesterday", "limit": 0})
    fields.channel()
    fields.timestamp("ts")
    fields.limit(20, 100)
    assert issues(fields) == [("/channel", "format"), ("/ts", "format"), ("/limit", "range")]


@pytest.mark.parametrize("channel", ["#general", "general", "U0B7K2L9QPN", "c0fa2m81qxr", f"{CHANNEL}\n", "C1", ""])
def test_a_channel_is_an_id(channel: str) -> None:
    """A name may be another channel's tomorrow, and a person is no channel."""
    fields = SlackFields({"channel": channel})
    fields.channel()
    assert issues(fields) == [("/channel", "format")]


def test_a_direct_message_is_known_by_its_id() -> None:
    """Policy may treat it otherwise."""
    assert SlackFields({"channel": "D069C7QFK11"}).channel() == {"channel": "D069C7QFK11", "is_direct": True}


@pytest.mark.parametrize(
    "ts", ["1767225600", "1767225600.1", "1767225600.000300 ", "1767225600,000300", "\u0661767225600.000300"]
)
def test_a_timestamp_is_slacks_own(ts: str) -> None:
    """Digit for digit: it is a name and no number."""
    fields = SlackFields({"ts": ts})
    fields.timestamp("ts")
    assert issues(fields) == [("/ts", "format")]


def test_a_text_tells_whom_it_calls() -> None:
    """So that policy can judge it."""
    fields = SlackFields({"text": "<!here> 1 < 2", "mentions": ["U0B7K2L9QPN", "here", "S0D4E92KKLM"]})
    assert fields.checked(fields.text("text", 100)) == {
        "text": "<!subteam^S0D4E92KKLM> <@U0B7K2L9QPN> <!here> 1 &lt; 2",
        "mentions": ["here", "S0D4E92KKLM", "U0B7K2L9QPN"],
        "mentioned_users": ["U0B7K2L9QPN"],
        "mentioned_groups": ["S0D4E92KKLM"],
        "is_channel_wide": True,
    }


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({"text": " \n\t"}, [("/text", "min_length")]),
        ({"text": "a\0b"}, [("/text", "characters")]),
        ({"text": "a\ud800b"}, [("/text", "characters")]),
        ({"text": "<" * 30}, [("/text", "max_length")]),
        ({"text": "hi", "mentions": ["here", "ann"]}, [("/mentions/1", "mention")]),
        ({"text": "hi", "mentions": ["here"] * 21}, [("/mentions", "max_items")]),
    ],
)
def test_a_text_that_cannot_be_sent(arguments: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    """Its length is that of what is sent."""
    fields = SlackFields(arguments)
    fields.text("text", 100)
    assert issues(fields) == wanted


def test_a_mail_address_is_one_in_lower_case() -> None:
    """With its domain beside it."""
    assert SlackFields({"email": "Ann.B+x@Corp.Example"}).email() == {
        "email": "ann.b+x@corp.example",
        "domain": "corp.example",
    }


@pytest.mark.parametrize(
    "email", ["", "ann", "ann@corp", "a@b.example,c@d.example", "Ann <ann@corp.example>", "a b@c.example"]
)
def test_what_is_no_mail_address(email: str) -> None:
    """Two of them are not one either."""
    fields = SlackFields({"email": email})
    fields.email()
    assert issues(fields) == [("/email", "email")]


def test_a_moment_is_told_in_utc_and_as_slack_writes_it() -> None:
    """To the microsecond."""
    fields = SlackFields({"after": "2026-01-01T01:00:00.25+01:00"})
    assert fields.bound("after") == ("2026-01-01T00:00:00.250000Z", "1767225600.250000")
    assert fields.bound("before") == (None, None)


@pytest.mark.parametrize(
    "moment", ["yesterday", "2026-01-01", "2026-01-01T00:00:00", "9999-12-31T23:59:59-14:00", "1999-12-31T00:00:00Z"]
)
def test_what_is_no_moment(moment: str) -> None:
    """Without an offset it could be any of a day's."""
    fields = SlackFields({"after": moment})
    fields.bound("after")
    assert issues(fields) == [("/after", "date_time")]


def test_a_limit_that_is_left_out_is_the_usual_one() -> None:
    """And one that is too high is refused, not cut."""
    assert SlackFields({}).limit(20, 100) == 20
    fields = SlackFields({"limit": 101})
    fields.limit(20, 100)
    assert issues(fields) == [("/limit", "range")]


def test_a_user_is_an_id() -> None:
    """The place of a wrong one is told."""
    fields = SlackFields({})
    assert fields.user("/users/0", "W0C3D81NNWA") == "W0C3D81NNWA"
    fields.user("/users/1", "ann")
    assert issues(fields) == [("/users/1", "user_id")]
