"""What our comments carry so that they can be found again: a line that Markdown does not show."""

import hashlib

_NAME = "(tollhouse "


def marked(text: str, effect_id: str) -> str:
    """The text with the mark of its effect: the definition of a link (CommonMark 4.7) that nothing leads to."""
    return f"{text}\n\n[//]: # {_NAME}{_mark(effect_id)})"


def is_marked(text: object, effect_id: str) -> bool:
    """Whether a comment was made for this effect."""
    return isinstance(text, str) and f"{_NAME}{_mark(effect_id)})" in text


def holds_mark(text: str) -> bool:
    """Whether a text that an agent wrote would look like a mark of ours."""
    return _NAME in text.casefold()


def _mark(effect_id: str) -> str:
    return hashlib.sha256(f"sentry {effect_id}".encode()).hexdigest()[:32]
