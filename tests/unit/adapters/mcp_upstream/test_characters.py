# ruff: noqa: RUF001 - look-alikes are what is tested
"""Names and texts that read otherwise than they are."""

import pytest

from adapters.mcp_upstream.characters import mixes_alphabets, readings, unseen, unseen_in_lines


def alike(one: str, other: str) -> bool:
    """Whether two names have a reading in common."""
    return not set(readings(one)).isdisjoint(readings(other))


@pytest.mark.parametrize(
    "other",
    [
        "Send_Email",
        "SEND_EMAIL",
        "send__email",
        "send-email",
        "send.email",
        "sendemail",
        "send email",
        "sеnd_email",
        "send_еmаіl",
        "send_emaıl",
        "send_emaiI",
        "send_emai1",
        "send_ernail",
        "ѕеnԁ_еmаіӏ",
        "ｓｅｎｄ_email",
        "𝗌𝖾𝗇𝖽_email",
        "sénd_email",
        "send\u200b_email",
        "send_email\u00ad",
        "send_email\U000e0041",
    ],
    ids=ascii,
)  # fmt: skip
def test_a_name_that_looks_like_another_is_told(other: str) -> None:
    """Whatever the trick: case, separators, other alphabets, digits, accents, characters that nobody sees."""
    assert other != "send_email"
    assert alike("send_email", other)


@pytest.mark.parametrize("other", ["send_mail", "send_emails", "sent_email", "email_send", "read_email", "发送邮件"])
def test_another_name_is_another_name(other: str) -> None:
    """Though it is near."""
    assert not alike("send_email", other)


@pytest.mark.parametrize(
    ("one", "other"), [("get_1", "get_l"), ("get_O", "get_0"), ("ITEM", "item"), ("ITEM", "lTEM"), ("vveb", "web")]
)
def test_letters_and_digits_of_one_shape_look_alike(one: str, other: str) -> None:
    """In either case of the letter."""
    assert alike(one, other)


@pytest.mark.parametrize(
    "text",
    ["\0", "a\x1b[31m", "\x7f", "\u200b", "\u202e", "\u2066", "\ufeff", "\u2028", "\U000e0041", "\U000e0100", "\ufe01",
     "\ud800", "\ue000", "\u3164", "\u034f"],
    ids=ascii,
)  # fmt: skip
def test_characters_that_nobody_sees_are_found(text: str) -> None:
    """In one line and in several."""
    assert unseen(f"a{text}b")
    assert unseen_in_lines(f"a\n{text}b")


@pytest.mark.parametrize("text", ["", "Sends a mail.", "café", "送信", "🎉", "❤\ufe0f", "a b"])
def test_ordinary_texts_are_ordinary(text: str) -> None:
    """In any script."""
    assert not unseen(text)
    assert not unseen_in_lines(f"{text}\r\n\t{text}")


def test_a_name_of_one_line_has_no_breaks() -> None:
    """A text may."""
    assert unseen("a\nb")
    assert not unseen_in_lines("a\nb")


@pytest.mark.parametrize(
    ("name", "mixes"),
    [("sеnd", True), ("αlpha", True), ("send", False), ("отправить", False), ("送信_mail", False), ("café_2", False)],
)  # fmt: skip
def test_letters_of_alphabets_that_look_alike_are_not_mixed(name: str, mixes: bool) -> None:
    """A name in one of them is a name."""
    assert mixes_alphabets(name) is mixes
