"""The pages for users say what is there: links lead somewhere, examples are settings that load, commands exist."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.core
import yaml

from gateway.cli import root
from gateway.settings.load import Settings, load_settings

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
LISTENER = {"name": "a", "address": "unix:g", "identity": {"kind": "fixed", "tenant": "acme", "agent": "x"}}


def _names(pages: list[Path]) -> list[str]:
    return [page.name for page in pages]


@pytest.mark.parametrize("page", PAGES, ids=_names(PAGES))
def test_every_link_leads_to_a_file(page: Path) -> None:
    """Beside the page, or below the root for the README."""
    links = re.findall(r"\]\(([^)#\s]+)\)", page.read_text("utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def _blocks(page: Path) -> Iterator[dict[str, Any]]:
    """The examples of a page that are settings; rows of the registry are none."""
    for block in re.findall(r"```yaml\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        value = yaml.safe_load(block)
        if value.keys() <= Settings.model_fields.keys():
            yield value


@pytest.mark.parametrize("page", PAGES, ids=_names(PAGES))
def test_every_example_of_settings_loads(page: Path, tmp_path: Path) -> None:
    """With a listener where it names none: whoever copies it gets a gateway and not a list of problems."""
    for number, value in enumerate(_blocks(page)):
        file = tmp_path / f"{number}.yaml"
        file.write_text(yaml.safe_dump({"listeners": [LISTENER]} | value))
        load_settings(file)


def test_some_examples_are_settings() -> None:
    """So that the test above is one."""
    assert len([block for page in PAGES for block in _blocks(page)]) > 10


def _commands(group: typer.core.TyperGroup, above: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        if isinstance(command, typer.core.TyperGroup):
            yield from _commands(command, f"{above}{name} ")
        else:
            yield f"{above}{name}"


NAMED = re.compile(r"(?:`|\$ |bin/|^)tollhouse ([a-z][a-z-]*(?: [a-z][a-z-]*)*)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=_names(PAGES))
def test_every_command_that_is_named_exists(page: Path) -> None:
    """Each `tollhouse …` of a page begins with the words of a command, or is a group of them."""
    commands = list(_commands(typer.main.get_group(root.app)))
    groups = {" ".join(command.split()[:length]) for command in commands for length in (1, 2)}
    for words in NAMED.findall(page.read_text("utf-8")):
        assert words in groups or any(f"{words} ".startswith(f"{command} ") for command in commands), words
