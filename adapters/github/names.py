"""Names of owners, repositories, people, teams, branches and commits, read by the rules of GitHub and of Git.

What GitHub compares without regard to case comes back in lower case: a policy that names `acme/site` means
`Acme/Site` too. Branches, tags and labels are other things in another case, and stay as they are.
"""

import re
from collections.abc import Iterable

from adapters.transport.fields import Fields, is_broken, is_odd

MAX_LOGIN = 39
MAX_REPOSITORY = 100
MAX_REF = 200
MAX_LABEL = 50

_LOGIN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*(?:_[a-z0-9]+)?")
"""The part after an underscore is that of an account which a company manages."""
_BOT = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\[bot\]")
_REPOSITORY = re.compile(r"[a-z0-9._-]{1,100}")
_TEAM = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LONG_FORMS = ("refs/", "heads/", "tags/", "remotes/")
_REF_REFUSED = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|\Z)|\A[/.-]|[/.]\Z|\A@\Z")


def owner_of(text: str, path: str, fields: Fields) -> str:
    """Who owns a repository: a person or an organisation, in lower case."""
    name = text.lower()
    if len(name) > MAX_LOGIN or not text.isascii() or not _LOGIN.fullmatch(name):
        message = "is not an account's name at GitHub: letters, digits and single hyphens between them, 39 at most"
        fields.issue(path, "owner", message)
    return name


def repository_of(text: str, path: str, fields: Fields) -> str:
    """A repository's name without its owner, in lower case."""
    name = text.lower()
    is_name = text.isascii() and _REPOSITORY.fullmatch(name) and name.strip(".")
    if not is_name or name.endswith((".git", ".wiki")):
        message = "is not a repository's name at GitHub: letters, digits, `.`, `-` and `_`, without the owner or `.git`"
        fields.issue(path, "repository", message)
    return name


def full_name_of(text: str, path: str, fields: Fields) -> str:
    """`OWNER/NAME` in lower case."""
    owner, slash, name = text.partition("/")
    if not slash:
        fields.issue(path, "repository", "must be OWNER/NAME, e.g. acme/site")
        return text.lower()
    return f"{owner_of(owner, path, fields)}/{repository_of(name, path, fields)}"


def people_of(texts: Iterable[str], path: str, fields: Fields) -> list[str]:
    """Logins in lower case, each once, in order of the alphabet."""
    found = set()
    for index, text in enumerate(texts):
        name = text.lower()
        if not text.isascii() or len(name) > MAX_LOGIN + 5 or not (_LOGIN.fullmatch(name) or _BOT.fullmatch(name)):
            fields.issue(f"{path}/{index}", "login", "is not a login at GitHub; leave the @ out")
        found.add(name)
    return sorted(found)


def teams_of(texts: Iterable[str], path: str, fields: Fields) -> list[str]:
    """Teams of the repository's organisation by their slugs, each once, in order of the alphabet."""
    found = set()
    for index, text in enumerate(texts):
        name = text.lower()
        if not text.isascii() or not _TEAM.fullmatch(name):
            fields.issue(f"{path}/{index}", "team", "is not a team's slug; leave the organisation out")
        found.add(name)
    return sorted(found)


def labels_of(texts: Iterable[str], path: str, fields: Fields) -> list[str]:
    """Labels, each once, in order of the alphabet."""
    found = set()
    for index, text in enumerate(texts):
        name = text.strip(" ")
        if not 0 < len(name) <= MAX_LABEL or is_broken(name) or '"' in name or "\\" in name:
            message = "must be a label of 1 to 50 printable characters without quotes and backslashes"
            fields.issue(f"{path}/{index}", "label", message)
        found.add(name)
    return sorted(found)


def ref_of(text: str, path: str, fields: Fields) -> str:
    """A branch, a tag or a commit, as Git lets one be written; never a longer form, so that it has one name."""
    if not 0 < len(text) <= MAX_REF or is_odd(text) or _REF_REFUSED.search(text) or text.startswith(_LONG_FORMS):
        fields.issue(path, "ref", "is not the name of a branch or tag, or a commit's id; leave `refs/heads/` out")
    return text


def branch_of(text: str, path: str, fields: Fields) -> str:
    """A branch by its short name."""
    if _COMMIT.fullmatch(text.lower()) or text == "HEAD":
        fields.issue(path, "branch", "must be a branch's name, not a commit")
    return ref_of(text, path, fields)


def commit_of(text: str | None, path: str, fields: Fields) -> str | None:
    """A commit by its whole id; None stays None."""
    if text is not None and not _COMMIT.fullmatch(text.lower()):
        fields.issue(path, "commit", "must be the whole id of a commit: 40 hexadecimal digits")
    return None if text is None else text.lower()
