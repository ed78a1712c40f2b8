"""Every command prints through consoles that interpret nothing."""

import io
import json

import pytest

from gateway.cli.terminal import WIDTH, complain, print_json, print_json_text, shown, table, terminal


def test_a_cell_from_outside_cannot_act() -> None:
    """Neither markup nor escapes, in headings, titles and cells."""
    file = io.StringIO()
    made = table("[red]a[/red]", title="[b]t[/b]")
    made.add_row(shown("\x1b[31m[link=x]y[/link]:smiley:"))
    terminal(file).print(made)
    for text in ("[red]a[/red]", "[b]t[/b]", "\\x1b[31m[link=x]y[/link]:smiley:"):
        assert text in file.getvalue()
    assert "\x1b" not in file.getvalue()


def test_what_is_no_terminal_is_wide_unless_columns_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of CI has room for a table."""
    monkeypatch.delenv("COLUMNS", raising=False)
    assert terminal(io.StringIO()).width == WIDTH
    monkeypatch.setenv("COLUMNS", "77")
    assert terminal(io.StringIO()).width == 77


def test_json_is_one_line_of_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    """A script reads the value; a terminal shows ASCII."""
    value = {"é": "\x1b[31m\u202e\n\x7f"}
    print_json(value)
    print_json_text('{"a": "\x9b"}')
    first, second = capsys.readouterr().out.splitlines()
    assert first.isascii()
    assert first.isprintable()
    assert json.loads(first) == value
    assert second == '{"a": "\\u009b"}'


def test_complaints_go_to_standard_error_and_are_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    """A file's name or a line of YAML cannot act either."""
    complain("no \x1b[2J", ["file\rname: bad"])
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "tollhouse: no \\x1b[2J\n  file\\rname: bad\n"
