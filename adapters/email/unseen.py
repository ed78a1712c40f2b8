"""Characters that a model reads and a person does not see. Whole orders can be written in them."""

import re

# Control characters but tab and line feed; marks that turn the direction of writing; what has no width, except the
# two joiners that scripts need; fillers; selectors and tags, in which ASCII can be spelled out.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_JOINERS = re.compile("([\u200c\u200d\ufe0e\ufe0f]{2})[\u200c\u200d\ufe0e\ufe0f]+")
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")


def visible(text: str) -> str:
    """The text without them, and every line end as one line feed. Of joiners in a row, in which bits can be written,
    two are left.
    """
    return _JOINERS.sub(r"\1", _UNSEEN.sub("", _LINE_ENDS.sub("\n", text)))
