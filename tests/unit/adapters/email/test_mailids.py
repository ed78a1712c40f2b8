"""How an agent names one message."""

import pytest

from adapters.base import ArgumentProblem
from adapters.email.mailids import MAX_LENGTH, mail_id, page_to, read_mail_id, read_page


@pytest.mark.parametrize("folder", ["INBOX", "Sent: 2026", "Entwürfe/ä", 'a"b', "x" * 200])
def test_an_id_leads_back_to_its_message(folder: str) -> None:
    """Whatever the folder is called."""
    made = mail_id(folder, 4_294_967_295, 4_294_967_295)
    assert read_mail_id(made) == (folder, 4_294_967_295, 4_294_967_295)
    assert len(made) <= MAX_LENGTH


@pytest.mark.parametrize(
    "text",
    [
        "",
        "INBOX",
        "1:2",
        "1:2:",
        "0:1:INBOX",
        "1:0:INBOX",
        "01:1:INBOX",
        "1:4294967296:INBOX",
        "1:1,2:INBOX",
        "1:*:INBOX",
        "1:1:IN\r\nBOX",
        "1:1:IN\0BOX",
        "1:1:%",
        "-1:1:INBOX",
        "1:\u0661:INBOX",
        "1:1:" + "x" * 201,
    ],
)
def test_what_is_no_id_is_a_problem_of_the_arguments(text: str) -> None:
    """And never a word of a command."""
    with pytest.raises(ArgumentProblem) as caught:
        read_mail_id(text)
    assert caught.value.issues[0].path == "/id"


def test_a_page_leads_back() -> None:
    """And what is none is a problem."""
    assert read_page(page_to(17, 42)) == (17, 42)
    for page in (None, 7, "", "1", "1.0", "1.2.3", "a.b", "1.99999999999", "\u0661.1"):
        with pytest.raises(ArgumentProblem):
            read_page(page)


@pytest.mark.parametrize(
    ("written", "folder"),
    [("inbox", "INBOX"), ("Inbox/Offers", "INBOX/Offers"), ("inBOX.a", "INBOX.a"), ("Inboxes", "Inboxes"), ("a", "a")],
)
def test_the_inbox_has_one_name(written: str, folder: str) -> None:
    """A server takes it in any case, and policy has seen one."""
    assert read_mail_id(f"1:2:{written}") == (folder, 1, 2)
