"""Names of tools, made of what a description calls its operations.

A name depends on its operation alone, so that the same document always gives the same names and another operation
renames none. The one exception is meant: operations whose names would look alike all lose the plain name, since one
that quietly came to mean another operation would be worse than one that is gone.
"""

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

Operation = tuple[str, str]
"""A method and a path: of these a document has each once."""

MAX_NAME = 64
MAX_PREFIX = 30
_HEX = 10
_WORDS = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+")
_LOOKS = str.maketrans({"0": "o", "1": "l", "_": None})


def names_of(operations: Mapping[Operation, str], *, prefix: str) -> dict[Operation, str | None]:
    """A legal name for each operation, given the ids that the document has for them (empty: none). No two look alike:
    None for one that cannot be told apart.
    """
    wanted = {operation: _joined(prefix, plain_name(operation, own)) for operation, own in operations.items()}
    alike = Counter(as_seen(name) for name in wanted.values())
    names = {
        operation: name if len(name) <= MAX_NAME and alike[as_seen(name)] == 1 else _told_apart(operation, name)
        for operation, name in wanted.items()
    }
    seen = Counter(as_seen(name) for name in names.values())
    return {operation: name if seen[as_seen(name)] == 1 else None for operation, name in names.items()}


def plain_name(operation: Operation, id: str) -> str:  # noqa: A002 - it is what OpenAPI calls it
    """The id as words with underscores; method and path when there is none to be had from it."""
    return snake(id) or snake(" ".join(operation)) or "operation"


def snake(text: str) -> str:
    """The text's words in lower case, with underscores. What is beyond ASCII counts as its plain letter, or not."""
    plain = unicodedata.normalize("NFKD", text[:500]).encode("ascii", "ignore").decode()
    return "_".join(word.lower() for word in _WORDS.findall(plain))


def as_seen(name: str) -> str:
    """The name without what is easily overlooked."""
    return name.translate(_LOOKS)


def _joined(prefix: str, name: str) -> str:
    whole = f"{prefix}_{name}" if prefix else name
    return whole if whole[0].isalpha() else f"op_{whole}"


def _told_apart(operation: Operation, name: str) -> str:
    digest = hashlib.sha256(" ".join(operation).encode()).hexdigest()[:_HEX]
    return f"{name[: MAX_NAME - _HEX - 1].rstrip('_')}_{digest}"


def argument_names(wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str] | None:
    """A name for each parameter, given where it goes and its own name, that every model takes as an argument's; None
    when two cannot be told apart.
    """
    plain: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for where, name in wanted:
        plain[argument_name(name, is_path=where == "path")].append((where, name))
    found: dict[tuple[str, str], str] = {}
    for name, group in plain.items():
        for where, own in group:
            # The path's own name comes first, since it is what the operation is about.
            is_plain = len(group) == 1 or where == "path"
            found[where, own] = name if is_plain else f"{name[: MAX_NAME - 7]}_{where}"
    return found if len(set(found.values())) == len(found) else None


def argument_name(name: str, *, is_path: bool = False) -> str:
    """The name with an underscore for every character that a model's function calling does not take."""
    odd = r"[^A-Za-z0-9_]+" if is_path else r"[^A-Za-z0-9_.-]+"
    plain = re.sub(odd, "_", name[:500]).strip("_." if name.strip("_.") else "")[:MAX_NAME]
    plain = plain or "argument"
    return f"_{plain}" if plain[0].isdigit() else plain
