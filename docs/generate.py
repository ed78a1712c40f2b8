"""Write `docs/settings.md`, `docs/cli.md` and `docs/tools.md` from the settings, the commands and the adapters
themselves, or with --check say whether they are up to date.

usage: python docs/generate.py [--check]
"""

import pathlib
import re
import sys
import typing
from collections.abc import Iterator

import pydantic
import typer
import typer.core
import yaml
from pydantic_core import PydanticUndefined

from adapters.base import Operation
from gateway.app import built_in_rows, install_adapters
from gateway.cli import root
from gateway.clock import SystemClock
from gateway.settings.load import Settings
from gateway.settings.part import Part

Command = typing.Any
"""A command or a group as typer makes it."""

FOLDER = pathlib.Path(__file__).parent
SETTINGS = """# Settings

One YAML file, given to `tollhouse serve --config FILE`. Relative paths count from its folder. Unknown and duplicate
keys are errors; all problems are reported at once, each with file, line and rule. This page is generated.
"""
COMMANDS = """# The command `tollhouse`

Each command tells all of its options by `--help`. This page is generated.
"""
TOOLS = """# Ready-made tools

Each adapter brings a row for each of its operations (`adapters/VENDOR/tools.yaml`): take it as it is, or copy it and
narrow it. How an account is connected: [vendors.md](vendors.md). This page is generated.

**Once** says what keeps an effect from happening twice when an answer is lost: *key*, the vendor takes an idempotency
key, so the gateway may ask again; *asked*, the vendor is asked later whether it happened; *person*, only a person can
find out. **Shown** are the tools that tell an approver what is and what would be.
"""
SHARED = """
## What holds for all of them

**Where a gateway is.** `tools`, `call`, `explain` and most of `calls` speak to a listener of agents: `--socket PATH`
(or `TOLLHOUSE_SOCKET`, else `.tollhouse/gateway.sock`). `approvals`, `stop`, `registry` (all but `check`), `calls list`
and `calls resolve` speak to a control listener: `--socket PATH` (or `TOLLHOUSE_CONTROL_SOCKET`, else
`.tollhouse/control.sock`). Either is found by `--address HOST:PORT` with `--token-file FILE` instead; with `--ca FILE`
TLS is spoken, and with `--cert` and `--cert-key` a certificate is shown. Without TLS a token is sent to loopback only.
`audit` reads `.tollhouse/audit` unless another directory is named.

**Exit codes.** 0: yes. 1: what was asked about is not so: the call was refused or waits for a person, a check, a test
or the verification failed, there was no decision. 2: wrong usage, or it could not be done at all. 130 and 143: ended by
Ctrl-C and by SIGTERM.

**For scripts.** `--json` prints one line of ASCII; what follows something prints one for each thing that it tells.
Problems go to stderr, each as a sentence that says what to do. `tollhouse --debug COMMAND ...` shows where a command
failed.

**What came from outside** (results, audit lines, names in manifests, what an agent wants approved) reaches a terminal
with control characters, escape sequences, bidirectional overrides and invisible characters written out as escapes.
"""


def settings_page() -> str:
    """Every part of the settings, in the order in which a reader meets them."""
    return SETTINGS + "".join(section(part) for part in parts_below(Settings, set()))


def parts_below(part: type[Part], seen: set[type[Part]]) -> Iterator[type[Part]]:
    """The part, then every other one that its keys can hold, each once."""
    seen.add(part)
    yield part
    for field in part.model_fields.values():
        for inner in parts_in(field.annotation):
            if inner not in seen:
                yield from parts_below(inner, seen)


def parts_in(annotation: object) -> Iterator[type[Part]]:
    """The parts that a key of this type can hold."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from parts_in(inner)


def section(part: type[Part]) -> str:
    """One part: what it is, and a row for each key."""
    rows = [row(name, field) for name, field in part.model_fields.items()]
    doc = " ".join((part.__doc__ or "").split())
    table = "\n".join(["| key | default | meaning |", "|---|---|---|", *rows])
    return f"\n## {part.__name__}\n\n{doc}\n\n{table}\n"


def row(name: str, field: typing.Any) -> str:
    """One key, with the parts that it holds when neither its default nor its sentence names them."""
    meaning, value = " ".join((field.description or "").split()).replace("|", "\\|"), default(field)
    parts = [part.__name__ for part in parts_in(field.annotation)]
    unnamed = [link(part) for part in parts if part not in meaning and part not in value]
    see = f" See {', '.join(unnamed)}." if unnamed else ""
    return f"| `{name}` | {value} | {meaning}{see} |"


def link(part: str) -> str:
    """To the part's own table."""
    return f"[{part}](#{part.lower()})"


def default(field: typing.Any) -> str:
    """What holds when the key is left out."""
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, tuple) and value:
        return ", ".join(told(item) for item in value)
    return "none" if value is None or value in ((), "", {}) else told(value)


def told(value: object) -> str:
    """One value."""
    return f"see {link(type(value).__name__)}" if isinstance(value, pydantic.BaseModel) else f"`{value}`"


def commands_page() -> str:
    """Every command, group by group: those of the root first."""
    group = typer.main.get_group(root.app)
    alone = {name: command for name, command in group.commands.items() if not is_group(command)}
    page = commands_table("", alone)
    for name, command in group.commands.items():
        if is_group(command):
            page += f"\n## `tollhouse {name}`\n\n{command.help}\n" + commands_table(f"{name} ", leaves(command))
    return COMMANDS + page + SHARED


def is_group(command: Command) -> bool:
    """Whether it has commands of its own."""
    return isinstance(command, typer.core.TyperGroup)


def leaves(group: Command) -> dict[str, Command]:
    """Every command below a group, by the words after the group's name."""
    found: dict[str, Command] = {}
    assert isinstance(group, typer.core.TyperGroup)
    for name, command in group.commands.items():
        if is_group(command):
            found |= {f"{name} {inner}": below for inner, below in leaves(command).items()}
        else:
            found[name] = command
    return found


def commands_table(prefix: str, commands: dict[str, Command]) -> str:
    """A row for each command, and their examples below."""
    rows = [f"| `tollhouse {prefix}{name}{usage(one)}` | {first(one)} |" for name, one in commands.items()]
    examples = [example for one in commands.values() for example in examples_of(one)]
    shown = "\n".join(["", "```console", *(f"$ {example}" for example in examples), "```", ""]) if examples else ""
    return "\n".join(["", "| command | what it does |", "|---|---|", *rows, shown])


def usage(command: Command) -> str:
    """Its arguments; options are told by --help."""
    return "".join(f" {argument(one)}" for one in command.params if one.param_type_name == "argument")


def argument(one: typing.Any) -> str:
    """`NAME`, `[NAME]` when it may be left out, `NAME...` when there may be several."""
    name = (one.metavar or one.name).upper().strip("[].")
    return (name if one.required else f"[{name}]") + ("..." if one.nargs == -1 else "")


def first(command: Command) -> str:
    """What it does: the paragraph that its help begins with."""
    paragraph = (command.help or "").split("\n\n")[0]
    return " ".join(paragraph.split()).replace("|", "\\|")


def examples_of(command: Command) -> list[str]:
    """The examples in its help."""
    return [
        " ".join(found.split()) for found in re.findall(r"Example: (.+?)(?:\n\n|\Z)", command.help or "", re.DOTALL)
    ]


def tools_page() -> str:
    """Every row that an adapter brings, vendor by vendor."""
    adapters = install_adapters(Settings(), SystemClock())
    page = TOOLS
    for file, text in sorted(built_in_rows(adapters).items()):
        name = file.split("/")[1]
        rows = [tool_row(one, adapters[name].operations) for one in yaml.safe_load(text)["tools"]]
        head = "| tool | what it does | side effect | risk | scopes | once | shown |\n|---|---|---|---|---|---|---|"
        page += f"\n## {name}\n\n" + "\n".join([head, *rows]) + "\n"
    return page


def tool_row(tool: dict[str, typing.Any], operations: typing.Mapping[str, Operation]) -> str:
    """One row: what a platform team wants to know before it hands the tool to an agent."""
    operation = operations[tool["binding"]["operation"]]
    does = re.split(r"(?<=\.) ", " ".join(tool["description"].split()))[0].replace("|", "\\|")
    scopes = ", ".join(f"`{scope}`" for scope in tool["requires"])
    shown = "yes" if tool.get("preview") else ""
    cells = (f"`{tool['name']}`", does, tool["side_effect"], tool["risk"], scopes, once(operation), shown)
    return f"| {' | '.join(cells)} |"


def once(operation: Operation) -> str:
    """How a lost answer is made up for."""
    if operation.side_effect == "read":
        return ""
    return "key" if operation.has_native_key else "asked" if operation.reconcile is not None else "person"


PAGES = {
    FOLDER / "settings.md": settings_page,
    FOLDER / "cli.md": commands_page,
    FOLDER / "tools.md": tools_page,
}


def main() -> None:
    """Write, or compare."""
    for path, page in PAGES.items():
        if "--check" not in sys.argv:
            path.write_text(page())
        elif not path.exists() or path.read_text() != page():
            sys.exit(f"docs/{path.name} is not what the code says; run: .venv/bin/python docs/generate.py")


if __name__ == "__main__":
    main()
