"""Rows are read with the place where they stand."""

from pathlib import Path

from gateway.registry.places import read_rows

TEXT = """
agents:
- name: a
  tenant: acme
- {name: B, tenant: acme}
- name: c
  tenant: acme
---
connections: []
"""


def test_rows_keep_their_place(tmp_path: Path) -> None:
    """File and line of the row, and of a field in it."""
    file = tmp_path / "x.yaml"
    file.write_text(TEXT)
    rows, problems = read_rows([file], {})
    assert [(one.row.name, one.place) for one in rows.agents] == [("a", f"{file}:3"), ("c", f"{file}:6")]
    assert str(rows.agents[1].problem(("tenant",), "rule", "message")) == f"{file}:7: rule: message"
    assert [(problem.line, problem.rule) for problem in problems] == [(5, "pattern")]


def test_a_row_that_cannot_be_read_is_remembered_by_name(tmp_path: Path) -> None:
    """So that whoever names it is not reported too."""
    (tmp_path / "x.yaml").write_text(TEXT)
    rows, _ = read_rows([tmp_path], {})
    assert rows.unread == {"tools": set(), "connections": set(), "agents": {"B"}}


def test_builtin_texts_are_rows_like_others() -> None:
    """Under the name that they are given."""
    rows, problems = read_rows([], {"adapters.x": "agents: [{name: a, tenant: t}]"})
    assert (problems, rows.agents[0].place, rows.agents[0].is_builtin) == ([], "adapters.x:1", True)


def test_one_unreadable_file_does_not_hide_the_others(tmp_path: Path) -> None:
    """Both are read, and both are reported."""
    (tmp_path / "a.yaml").write_text("{")
    (tmp_path / "b.yaml").write_bytes(b"\xff")
    (tmp_path / "c.yaml").write_text("agents: [{name: a, tenant: t}]")
    rows, problems = read_rows([tmp_path], {})
    assert [problem.rule for problem in problems] == ["yaml", "utf8"]
    assert len(rows.agents) == 1


def test_a_builtin_text_that_cannot_be_read_is_a_problem() -> None:
    """Like a file's."""
    rows, problems = read_rows([], {"adapters.x": "tools: ["})
    assert (rows.tools, [(problem.file, problem.rule) for problem in problems]) == ([], [("adapters.x", "yaml")])
