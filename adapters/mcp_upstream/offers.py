"""What a server lists, as offers to people, who may make tools of it. Its texts are shown to them, and never used."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adapters.base import SideEffect
from adapters.mcp_upstream.characters import mixes_alphabets, readings, unseen, unseen_in_lines
from adapters.mcp_upstream.options import MAX_NAME, OPERATION
from adapters.mcp_upstream.pins import pin_of
from adapters.mcp_upstream.schemas import schema_problems
from adapters.recipes import Offer
from adapters.transport.values import mapping, part, word

MAX_DESCRIPTION = 16 * 1024
"""Characters of a description, and of a title."""

Tools = Sequence[Mapping[str, Any]]
Alike = Mapping[str, set[str]]
"""By what a name may be taken for: the names that may be."""


def offers_of(tools: Tools, server: str = "") -> Sequence[Offer]:
    """All of them, by name. `server` is how their server calls itself."""
    names = Counter(word(tool, "name") for tool in tools)
    alike = _alike(names)
    return sorted((_offer(tool, server, names, alike) for tool in tools), key=lambda offer: offer.name)


def _alike(names: Mapping[str, int]) -> Alike:
    alike: defaultdict[str, set[str]] = defaultdict(set)
    for name in names:
        for reading in readings(name):
            alike[reading].add(name)
    return alike


def _offer(tool: Mapping[str, Any], server: str, names: Mapping[str, int], alike: Alike) -> Offer:
    name, pin = _bounded(word(tool, "name"), MAX_NAME), pin_of(tool)
    return Offer(
        name=name,
        digest=pin,
        operation=OPERATION,
        options={"tool": name, "pin": pin},
        also={"server": server},
        side_effect=_hinted(tool),
        title=_bounded(word(tool, "title"), MAX_DESCRIPTION),
        description=_bounded(word(tool, "description"), MAX_DESCRIPTION),
        input_schema=mapping(tool.get("inputSchema")),
        output_schema=tool["outputSchema"] if isinstance(tool.get("outputSchema"), dict) else None,
        problems=tuple(_problems(tool, names, alike)),
    )


def _bounded(text: str, most: int) -> str:
    """What is longer is no tool's, and shown in part; no whole text is the same."""
    return text if len(text) <= most else f"{text[:most]}…"


def _hinted(tool: Mapping[str, Any]) -> SideEffect:
    """A read when the server says so in so many words. It may lie: the row decides."""
    return SideEffect.READ if part(tool, "annotations").get("readOnlyHint") is True else SideEffect.WRITE


def _problems(tool: Mapping[str, Any], names: Mapping[str, int], alike: Alike) -> Iterator[str]:
    yield from _name_problems(word(tool, "name"), names, alike)
    for member in ("title", "description"):
        yield from _text_problems(tool.get(member), member)
    yield from schema_problems(tool.get("inputSchema"), "the input schema")
    if tool.get("outputSchema") is not None:
        yield from schema_problems(tool["outputSchema"], "the output schema")
    if not pin_of(tool):
        yield "it cannot be pinned: what the server publishes of it is not JSON"


def _name_problems(name: str, names: Mapping[str, int], alike: Alike) -> Iterator[str]:
    if not name:
        yield "it has no name"
        return
    if len(name) > MAX_NAME:
        yield f"its name has more than {MAX_NAME} characters"
    if unseen(name):
        yield "its name holds characters that nobody sees"
    if mixes_alphabets(name):
        yield "its name mixes letters of alphabets that look alike"
    if names[name] > 1:
        yield f"the server lists {names[name]} tools of this name"
    others = sorted(set().union(*(alike[reading] for reading in readings(name))) - {name})
    if others:
        shown = ", ".join(ascii(other[:MAX_NAME]) for other in others[:3])
        yield f"its name looks like that of another tool of this server: {shown}"


def _text_problems(text: object, member: str) -> Iterator[str]:
    if text is None:
        return
    if not isinstance(text, str):
        yield f"its {member} is no text"
    elif len(text) > MAX_DESCRIPTION:
        yield f"its {member} has more than {MAX_DESCRIPTION} characters"
    elif unseen_in_lines(text):
        yield f"its {member} holds characters that nobody sees"
