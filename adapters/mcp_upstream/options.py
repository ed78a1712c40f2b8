"""What a row says of the tool behind it: which one, and what of it somebody has accepted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from adapters.base import ArgumentIssue, SideEffect
from adapters.mcp_upstream.characters import unseen
from adapters.mcp_upstream.pins import PIN
from adapters.recipes import Recipe, RecipeProblem

OPERATION = "call"
MAX_NAME = 128
"""Characters of a tool's name, and of a server's."""
_OPTIONS = ("pin", "server", "tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """One tool of one server, as somebody has accepted it."""

    public_name: str
    """Assigned in the row; the upstream has no say in it."""
    tool: str
    """The upstream's own name for it. Never normalised: another spelling is another tool."""
    pin: str
    server: str
    """How its server calls itself; empty: whatever it likes."""
    side_effect: SideEffect
    has_output_schema: bool
    """Whether the row says what structured output looks like."""

    @property
    def has_effect(self) -> bool:
        """Whether a call may change something. The row says so, whatever the upstream does."""
        return self.side_effect is not SideEffect.READ

    @property
    def label(self) -> str:
        """Which tool exactly, in ASCII: what looks alike is told apart in the audit."""
        name = f"{self.server}/{self.tool}" if self.server else self.tool
        return f"{name.encode('unicode_escape').decode()}@{self.pin}"


def accepted_by(recipe: Recipe) -> Accepted:
    """The tool that a row is bound to. Raises `RecipeProblem` with everything that is wrong."""
    issues = list(_issues(recipe))
    if issues:
        raise RecipeProblem(*issues)
    return Accepted(
        public_name=recipe.tool,
        tool=recipe.options["tool"],
        pin=recipe.options["pin"],
        server=recipe.options.get("server", ""),
        side_effect=recipe.side_effect,
        has_output_schema=recipe.output_schema is not None,
    )


def _issues(recipe: Recipe) -> Iterator[ArgumentIssue]:
    options = recipe.options
    if recipe.operation != OPERATION:
        yield _issue("", "operation", f"The only operation is {OPERATION!r}.")
    for name in sorted(str(name) for name in options if name not in _OPTIONS):
        path = name.replace("~", "~0").replace("/", "~1")
        yield _issue(f"/{path}", "unknown_key", f"This is not known; there are {', '.join(_OPTIONS)}.")
    yield from _name_issues(options, "tool", "the upstream's own name for the tool")
    if "server" in options:
        yield from _name_issues(options, "server", "how the upstream server calls itself")
    pin = options.get("pin")
    if not (isinstance(pin, str) and PIN.fullmatch(pin)):
        yield _issue("/pin", "pin", "Must be sha256: and 64 hexadecimal digits, as `tollhouse registry review` says.")


def _name_issues(options: Mapping[str, Any], option: str, what: str) -> Iterator[ArgumentIssue]:
    name = options.get(option)
    if not (isinstance(name, str) and 0 < len(name) <= MAX_NAME):
        yield _issue(f"/{option}", "name", f"Must be {what}, of 1 to {MAX_NAME} characters.")
    elif unseen(name):
        yield _issue(f"/{option}", "characters", "Must not hold characters that nobody sees.")


def _issue(path: str, rule: str, message: str) -> ArgumentIssue:
    return ArgumentIssue(path=path, rule=rule, message=message)
