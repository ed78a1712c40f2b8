"""How an agent names one message: its folder, and the number that it has there for good.

`UIDVALIDITY:UID:FOLDER`. A server that gives its messages new numbers changes the first, so that an old id names
nothing, and never another message.
"""

import re

from adapters.base import ArgumentIssue, ArgumentProblem
from adapters.email.account import MAX_FOLDER, is_folder

MAX_LENGTH = MAX_FOLDER + 22
_ID = re.compile(r"([1-9][0-9]{0,9}):([1-9][0-9]{0,9}):(.+)", re.ASCII)
_PAGE = re.compile(r"([1-9][0-9]{0,9})\.([1-9][0-9]{0,9})", re.ASCII)
_MAX_NUMBER = 2**32 - 1


def mail_id(folder: str, uid_validity: int, uid: int) -> str:
    """The id of a message."""
    return f"{uid_validity}:{uid}:{folder}"


def read_mail_id(text: str) -> tuple[str, int, int]:
    """Folder, UIDVALIDITY and UID. Raises `ArgumentProblem`.

    The folder comes as policy knows it, however the id writes it.
    """
    found = _ID.fullmatch(text)
    if found is None or not is_folder(found[3]) or max(int(found[1]), int(found[2])) > _MAX_NUMBER:
        message = "This is no id of a message. Use the `id` of a message that a search found, as it stands."
        raise ArgumentProblem(ArgumentIssue(path="/id", rule="id", message=message))
    return folder_of(found[3]), int(found[1]), int(found[2])


def folder_of(name: str) -> str:
    """The name of a folder as policy judges it. `INBOX` is the one name that every server reads in any case, and some
    do so where other folders lie in it.
    """
    is_inbox = name[:5].upper() == "INBOX" and name[5:6] in ("", "/", ".", "\\")
    return f"INBOX{name[5:]}" if is_inbox else name


def page_to(uid_validity: int, uid: int) -> str:
    """The page of the messages that are older than one."""
    return f"{uid_validity}.{uid}"


def read_page(page: object) -> tuple[int, int]:
    """UIDVALIDITY and UID of the last message of the page before. Raises `ArgumentProblem`."""
    found = _PAGE.fullmatch(page) if isinstance(page, str) else None
    if found is None:
        message = "This is no cursor of ours. Use the `next_cursor` of the page before, as it stands."
        raise ArgumentProblem(ArgumentIssue(path="/cursor", rule="cursor", message=message))
    return int(found[1]), int(found[2])
