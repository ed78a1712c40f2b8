"""What a row says of the tool behind it."""

from typing import Any

import pytest
from fakes.mcp_sessions import published, recipe_of

from adapters.base import SideEffect
from adapters.mcp_upstream.options import accepted_by
from adapters.mcp_upstream.pins import pin_of
from adapters.recipes import RecipeProblem

PIN = f"sha256:{'0' * 64}"


def test_a_row_says_which_tool_was_accepted() -> None:
    """With its pin, its server, and what the row says that it does."""
    row = recipe_of(published(), side_effect=SideEffect.SEND, options={"server": "mail"}, output_schema={})
    accepted = accepted_by(row)
    assert (accepted.public_name, accepted.tool, accepted.server) == ("mail_send", "send_email", "mail")
    assert (accepted.pin, accepted.has_effect, accepted.has_output_schema) == (pin_of(published()), True, True)


@pytest.mark.parametrize(
    ("options", "label"),
    [
        ({"tool": "send", "pin": PIN}, f"send@{PIN}"),
        ({"tool": "send", "pin": PIN, "server": "mail"}, f"mail/send@{PIN}"),
        ({"tool": "sеnd", "pin": PIN}, f"s\\u0435nd@{PIN}"),  # noqa: RUF001
    ],
)
def test_the_label_tells_apart_what_looks_alike(options: dict[str, Any], label: str) -> None:
    """In ASCII."""
    assert accepted_by(recipe_of(published(), options=options)).label == label


@pytest.mark.parametrize(
    ("options", "paths"),
    [
        ({}, ["/tool", "/pin"]),
        ({"tool": "", "pin": "sha256:0"}, ["/tool", "/pin"]),
        ({"tool": "x" * 129, "pin": PIN.upper(), "sever": "a", "a/b~": 1}, ["/a~1b~0", "/sever", "/tool", "/pin"]),
        ({"tool": "send\u200b", "pin": PIN, "server": ""}, ["/tool", "/server"]),
        ({"tool": 7, "pin": 7, "server": 7}, ["/tool", "/server", "/pin"]),
        ({"tool": "send", "pin": f"{PIN}\n"}, ["/pin"]),
    ],
    ids=str,
)
def test_everything_that_is_wrong_is_told_at_once(options: dict[str, Any], paths: list[str]) -> None:
    """Each with its place."""
    row = recipe_of(published())
    bad = type(row)(**{**{name: getattr(row, name) for name in row.__slots__}, "options": options})
    with pytest.raises(RecipeProblem) as caught:
        accepted_by(bad)
    assert [issue.path for issue in caught.value.issues] == paths
    assert all(issue.rule and issue.message.endswith(".") for issue in caught.value.issues)


def test_there_is_one_operation() -> None:
    """Which is to call."""
    with pytest.raises(RecipeProblem, match="The only operation"):
        accepted_by(recipe_of(published(), operation="list"))
