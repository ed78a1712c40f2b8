"""Marks in what is written at GitHub, by which it is found again when no answer came.

A mark is made of the effect's id by a digest, so that it tells nothing of the gateway, and nobody can write the mark of
an effect that is still to come. In a body it is an HTML comment, which no reader sees; in a commit's message a trailer.
"""

import hashlib
import re

_NAME = "tollhouse-effect"
_TRAILER = "Tollhouse-Effect"
_MARKS = re.compile(rf"\s{{0,4}}<!-- {_NAME}: [0-9a-f]{{32}} -->(?:\s{{0,4}}\Z)?")
_TRAILERS = re.compile(r"(?:[A-Za-z0-9-]+: [^\n]*\n?)+")


def with_mark(body: str | None, effect_id: str) -> str:
    """The body of an issue, a comment or a pull request with the mark as its last line."""
    mark = f"<!-- {_NAME}: {_digest(effect_id)} -->"
    return f"{body}\n\n{mark}" if body else mark


def has_mark(body: object, effect_id: str) -> bool:
    """Whether a body that GitHub tells of is the one that this effect wrote, whatever people added to it since."""
    return isinstance(body, str) and f"<!-- {_NAME}: {_digest(effect_id)} -->" in body


def without_mark(body: str) -> str:
    """The body as somebody would read it."""
    return _MARKS.sub("", body)


def with_trailer(message: str, effect_id: str) -> str:
    """A commit's message with the mark as its last trailer."""
    start, _, last = message.rpartition("\n\n")
    joint = "\n" if start and _TRAILERS.fullmatch(last) else "\n\n"
    return f"{message}{joint}{_TRAILER}: {_digest(effect_id)}"


def has_trailer(message: object, effect_id: str) -> bool:
    """Whether a commit's message has the mark: anywhere, for a squash or a rebase puts messages together."""
    return isinstance(message, str) and f"{_TRAILER}: {_digest(effect_id)}" in message.splitlines()


def holds_mark(text: str) -> bool:
    """Whether a text that an agent wrote would look like a mark of ours."""
    folded = text.casefold()
    return f"<!-- {_NAME}" in folded or any(line.startswith(f"{_NAME}:") for line in folded.splitlines())


def _digest(effect_id: str) -> str:
    return hashlib.sha256(f"github {effect_id}".encode()).hexdigest()[:32]
