"""A row is replaced in its file, and nothing else is."""

import os
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.rewriting import rewritten, save, text_of
from gateway.documents import documents_of
from gateway.errors import StartError

TEXT = """\
# The tools of the shop.
connections:
  - {name: shop, tenant: acme}
tools:
  # First.
  - name: one
    description: |
      Two lines,
        one of them indented.

    # Old.
    version: "1"

  # Second.
  - name: two   # stays
    version: "1"
agents:
- name: helper
"""


def changed(text: str, index: int, value: dict[str, Any], which: int = 0) -> str:
    """The text with another row."""
    return rewritten(text, documents_of(text, "x.yaml")[which], ("tools", index), value)


def test_the_row_is_new_and_the_rest_is_to_the_byte() -> None:
    """Comments around it stay."""
    after = changed(TEXT, 0, {"name": "one", "description": "New.", "options": {"b": [1, {"c": "d"}]}})
    head, tail = TEXT.index("  - name: one"), TEXT.index("\n  # Second.")
    assert after.startswith(TEXT[:head])
    assert after.endswith(TEXT[tail:])
    assert documents_of(after, "x")[0].value["tools"][0]["options"] == {"b": [1, {"c": "d"}]}


@pytest.mark.parametrize("indent", ["", "  ", "      "])
def test_the_last_row_of_a_file_may_be_replaced(indent: str) -> None:
    """However it is indented, and without an end of the line."""
    text = f"tools:\n{indent}- name: one\n{indent}- name: two\n{indent}  version: '1'"
    assert documents_of(changed(text, 1, {"name": "two", "version": "2"}), "x")[0].value == {
        "tools": [{"name": "one"}, {"name": "two", "version": "2"}]
    }


def test_a_row_of_a_later_document_is_found_there() -> None:
    """By the document that holds it."""
    text = "tools:\n- name: one\n---\ntools:\n- name: two\n"
    assert changed(text, 0, {"name": "new"}, which=1).endswith("---\ntools:\n- name: new\n")


@pytest.mark.parametrize("text", ["tools: [{name: one}]\n", '{"tools": [\n{"name": "one"}]}\n'])
def test_a_row_that_is_no_item_of_a_block_list_is_left_to_a_person(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(StartError, match="by hand"):
        changed(text, 0, {"name": "two"})


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    """With the mode that it had."""
    file = tmp_path / "x.yaml"
    file.write_text("old")
    file.chmod(0o640)
    save(file, "new")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new", 0o640)
    assert [one.name for one in tmp_path.iterdir()] == ["x.yaml"]


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    """In one sentence."""
    with pytest.raises(StartError, match="cannot be written"):
        save(tmp_path / "none" / "x.yaml", "new")


def test_a_file_that_is_linked_to_stays_where_it_is(tmp_path: Path) -> None:
    """And the link a link: other names lead there too."""
    file, link = tmp_path / "real.yaml", tmp_path / "x.yaml"
    file.write_text("old")
    link.symlink_to(file)
    save(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"


def test_a_file_keeps_the_ends_of_its_lines(tmp_path: Path) -> None:
    """Of all lines, the new ones too."""
    file = tmp_path / "x.yaml"
    file.write_bytes(TEXT.replace("\n", "\r\n").encode())
    save(file, changed(text_of(file), 1, {"name": "two", "version": "2"}))
    raw = file.read_bytes()
    assert raw.count(b"\n") == raw.count(b"\r\n")
    assert documents_of(file.read_text(), "x")[0].value["tools"][1] == {"name": "two", "version": "2"}


def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    """Whoever reviews; only root can give a file away, and anybody else has only files of their own here."""
    owner = (1234, 1235) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    file = tmp_path / "x.yaml"
    file.write_text("old")
    os.chown(file, *owner)
    save(file, "new")
    assert (file.stat().st_uid, file.stat().st_gid) == owner


def test_what_is_gone_cannot_be_written_anew(tmp_path: Path) -> None:
    """In one sentence."""
    with pytest.raises(StartError, match="cannot be read"):
        text_of(tmp_path / "none.yaml")
