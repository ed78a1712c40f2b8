"""Takes the credentials of a call out of whatever leaves, in every usual encoding.

A result without a secret costs one `in` per encoded form over its serialised bytes. Only when one is
found is the value walked, string by string: replacing inside serialised JSON could cut an escape in two.
"""

from typing import Any

import orjson

from adapters.base import Binary, Secret, Text
from gateway.result.forms import Forms, forms_of

MARKER = "[redacted]"
PLAIN = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
"""Serialises JSON types alone: what the walk below does not see must not be written either."""
_NOTHING = "*"
"""Stands for a whole string in which a form is left after replacing, e.g. since the marker completes one.
It is shorter than any secret."""


def scrub_text(text: str, secrets: tuple[Secret, ...]) -> str:
    """The text without any form of any of the secrets."""
    return _scrub_string(text, [forms_of(secret) for secret in secrets])[0]


def scrub_json(value: Any, serialised: bytes, secrets: tuple[Secret, ...]) -> tuple[Any, bytes, int]:
    """The value, its serialised form, and how many forms were taken out, keys and numbers included.

    Without a find, what came in goes out: the value is never changed in place.
    """
    found = [forms for forms in map(forms_of, secrets) if _holds(serialised, forms.json)]
    if not found:
        return value, serialised, 0
    clean, count = _scrub_value(value, found)
    return clean, orjson.dumps(clean, option=PLAIN), count


def scrub_blocks(
    blocks: tuple[Text | Binary, ...], secrets: tuple[Secret, ...]
) -> tuple[tuple[Text | Binary, ...], int]:
    """The content blocks without any form, and how many were taken out."""
    if not blocks or not secrets:
        return blocks, 0
    forms = [forms_of(secret) for secret in secrets]
    pairs = [_scrub_block(block, forms) for block in blocks]
    return tuple(block for block, _ in pairs), sum(count for _, count in pairs)


def scrub_string(text: str, secrets: tuple[Secret, ...]) -> tuple[str, int]:
    """The text without any form, and how many were taken out."""
    return _scrub_string(text, [forms_of(secret) for secret in secrets])


def _holds(data: bytes, needles: tuple[bytes, ...]) -> bool:
    # A plain loop: a generator would cost more than the search.
    for needle in needles:  # noqa: SIM110
        if needle in data:
            return True
    return False


def _scrub_block(block: Text | Binary, all_forms: list[Forms]) -> tuple[Text | Binary, int]:
    if isinstance(block, Text):
        text, count = _scrub_string(block.text, all_forms)
        return (Text(text=text) if count else block), count
    mime_type, count = _scrub_string(block.mime_type, all_forms)
    data = block.data
    for forms in all_forms:
        for form in forms.raw:
            if form in data:
                count += data.count(form)
                data = data.replace(form, MARKER.encode())
    if count and any(_holds(data, forms.raw) for forms in all_forms):
        data = b""
    return (Binary(mime_type=mime_type, data=data) if count else block), count


def _scrub_string(text: str, all_forms: list[Forms]) -> tuple[str, int]:
    count = 0
    for forms in all_forms:
        for form in forms.text:
            if form in text:
                count += text.count(form)
                text = text.replace(form, MARKER)
    if count and any(form in text for forms in all_forms for form in forms.text):
        text = _NOTHING
    return text, count


def _scrub_value(value: Any, forms: list[Forms]) -> tuple[Any, int]:
    """A copy without any form. A number that holds one becomes the marker."""
    if isinstance(value, str):
        return _scrub_string(value, forms)
    if isinstance(value, dict):
        return _scrub_object(value, forms)
    if isinstance(value, list | tuple):
        items = [_scrub_value(item, forms) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(value, int | float) and not isinstance(value, bool):
        count = _scrub_string(orjson.dumps(value).decode(), forms)[1]
        return (MARKER, count) if count else (value, 0)
    return value, 0


def _scrub_object(value: dict[str, Any], forms: list[Forms]) -> tuple[dict[str, Any], int]:
    clean: dict[str, Any] = {}
    total = 0
    for key, item in value.items():
        new_key, in_key = _scrub_string(key, forms)
        clean[_free_name(new_key, clean)], in_item = _scrub_value(item, forms)
        total += in_key + in_item
    return clean, total


def _free_name(key: str, taken: dict[str, Any]) -> str:
    """The key, or one like it: two secret keys must not fall together."""
    name, number = key, 2
    while name in taken:
        name, number = f"{key} ({number})", number + 1
    return name
