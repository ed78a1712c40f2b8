"""Paths of files in a repository. Git would take more of them than are taken here, and some would be traps."""

import re
import unicodedata
from collections.abc import Iterable, Mapping

from adapters.transport.fields import Fields, is_odd

MAX_PATH = 400
_WORKFLOWS = ".github/workflows"
_IGNORED_BY_SOME = frozenset({"Cf", "Mn"})
_GIT_FOLDER = re.compile(r"\.git|git~[0-9]+")


def path_in_repository(text: str, path: str, fields: Fields) -> str:
    """The path itself, relative to the repository's root, if it leads to a file and to nowhere else."""
    problem = _problem(text)
    if problem:
        fields.issue(path, "path", problem)
    return text


def check_apart(places: Mapping[str, str], fields: Fields) -> None:
    """No path, by where it stands in the arguments, may be there twice or be a folder of another."""
    folders = {folder for path in places.values() for folder in _folders(path)}
    seen: set[str] = set()
    for pointer, path in places.items():
        if path in seen:
            fields.issue(pointer, "unique", "names the same file as an entry before it")
        if path in folders:
            fields.issue(pointer, "folder", "is a file here and a folder in another entry")
        seen.add(path)


def touches_workflows(paths: Iterable[str]) -> bool:
    """Whether one of them is what GitHub would run, or a system that knows no case would take for it."""
    folded = [unicodedata.normalize("NFKC", path).casefold() for path in paths]
    return any(path == _WORKFLOWS or path.startswith(f"{_WORKFLOWS}/") for path in folded)


def _folders(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _problem(text: str) -> str | None:
    if not 0 < len(text) <= MAX_PATH or is_odd(text) or "\\" in text:
        return f"must have 1 to {MAX_PATH} characters, none of them a control character or a backslash"
    parts = text.split("/")
    if "" in parts:
        return "must be relative to the repository's root, without a slash at either end or two in a row"
    if any(not part.strip(".") for part in parts):
        return "must not have `.`, `..` or other parts in it that are dots alone"
    if any(_is_git_folder(part) for part in parts):
        return "must not lead into Git's own folder"
    return None


def _is_git_folder(part: str) -> bool:
    """Whether some file system would take it for `.git`: without regard to case, to what is invisible, to blanks and
    dots at the end, to what follows a colon, or by its short name.
    """
    plain = "".join(each for each in part if unicodedata.category(each) not in _IGNORED_BY_SOME)
    folded = unicodedata.normalize("NFKC", plain).casefold().partition(":")[0].rstrip(". ")
    return _GIT_FOLDER.fullmatch(folded) is not None
