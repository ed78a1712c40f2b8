"""Reading policy folders."""

import json
from pathlib import Path

import pytest

from gateway.policy.base import PolicyUnusable
from gateway.policy.pack import read_pack, stamp


def _write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def _problems(*folders: Path) -> list[tuple[str, str]]:
    with pytest.raises(PolicyUnusable) as caught:
        read_pack(folders)
    return [(Path(problem.file).name, problem.rule) for problem in caught.value.problems]


def test_modules_tests_and_data_are_told_apart(tmp_path: Path) -> None:
    """Rego goes to the engine, `_test.rego` to the tests, data under its folder, schemas nowhere."""
    _write(
        tmp_path,
        a_dot_rego="package a",
        a_test_dot_rego="package a_test",
        data_dot_json='{"x": 1}',
        deep__er__data_dot_yaml="y: [2]",
    )
    (tmp_path / "input.schema.json").write_text("{}")
    pack = read_pack([tmp_path])
    assert [Path(module.name).name for module in pack.modules] == ["a.rego"]
    assert [Path(module.name).name for module in pack.tests] == ["a_test.rego"]
    assert json.loads(pack.data_json) == {"x": 1, "deep": {"er": {"y": [2]}}}


def test_revision_follows_every_byte_that_decides(tmp_path: Path) -> None:
    """Another module, other data, another name: another revision. Tests and the folder's own name do not count."""
    first = read_pack([_write(tmp_path / "one", a_dot_rego="package a", data_dot_json="{}")]).revision
    assert first.startswith("sha256:")
    assert len(first) == len("sha256:") + 64
    same = _write(tmp_path / "two", a_dot_rego="package a", data_dot_json="{}", a_test_dot_rego="package t")
    assert read_pack([same]).revision == first
    others = [
        _write(tmp_path / "three", a_dot_rego="package a ", data_dot_json="{}"),
        _write(tmp_path / "four", b_dot_rego="package a", data_dot_json="{}"),
        _write(tmp_path / "five", a_dot_rego="package a", data_dot_json="{} "),
        _write(tmp_path / "six", a_dot_rego="package a"),
    ]
    assert len({read_pack([folder]).revision for folder in others} | {first}) == 5


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    """One broken file does not hide another."""
    _write(
        tmp_path,
        a_dot_rego="package a",
        data_dot_json='{"a": 1, "a": 2}',
        odd_dot_json="{}",
        deep__data_dot_yaml="x: 1\nx: 2",
    )
    (tmp_path / "b.rego").write_bytes(b"\xff")
    assert sorted(_problems(tmp_path)) == [
        ("b.rego", "utf8"),
        ("data.json", "json"),
        ("data.yaml", "duplicate_key"),
        ("odd.json", "unknown_file"),
    ]


@pytest.mark.parametrize("name", ["data.json", "data.yaml"])
def test_g06_duplicate_keys_in_policy_data_are_refused(tmp_path: Path, name: str) -> None:
    """G06: a key that is named twice would be read one way here and another way elsewhere."""
    (tmp_path / "a.rego").write_text("package a")
    (tmp_path / name).write_text('{"effect": "deny", "effect": "allow"}')
    with pytest.raises(PolicyUnusable, match="the key 'effect' stands twice"):
        read_pack([tmp_path])


@pytest.mark.parametrize("text", ["[1]", "1", '"x"', '{"a": NaN}', '{"a": Infinity}', "{", "[" * 100_000])
def test_json_data_is_one_finite_object(tmp_path: Path, text: str) -> None:
    """Anything else is refused with the file's name."""
    (tmp_path / "a.rego").write_text("package a")
    (tmp_path / "data.json").write_text(text)
    assert [file for file, _ in _problems(tmp_path)] == ["data.json"]


@pytest.mark.parametrize("text", ["- 1", "x: .nan", "x: .inf", "x: &a 1\ny: *a"])
def test_yaml_data_is_what_json_can_say(tmp_path: Path, text: str) -> None:
    """Lists, numbers that JSON lacks and aliases are refused with the file's name."""
    (tmp_path / "a.rego").write_text("package a")
    (tmp_path / "data.yaml").write_text(text)
    assert [file for file, _ in _problems(tmp_path)] == ["data.yaml"]


def test_two_files_do_not_set_one_value(tmp_path: Path) -> None:
    """Which of them wins would depend on their names."""
    one = _write(tmp_path / "one", a_dot_rego="package a", data_dot_json='{"x": {"y": 1, "z": 1}}')
    two = _write(tmp_path / "two", data_dot_json='{"x": {"y": 2, "w": 2}}')
    with pytest.raises(PolicyUnusable, match=r"data\.x\.y is already set"):
        read_pack([one, two])


def test_folders_are_merged(tmp_path: Path) -> None:
    """A deployment's data stands beside the pack's rules."""
    one = _write(tmp_path / "one", a_dot_rego="package a", data_dot_json='{"x": {"y": 1}}')
    two = _write(tmp_path / "two", data_dot_json='{"x": {"z": 2}}')
    assert read_pack([one, two]).data == {"x": {"y": 1, "z": 2}}


def test_nothing_to_decide_with_is_a_problem(tmp_path: Path) -> None:
    """No folder, a missing one and one without rules do not load."""
    assert _problems() == [("-", "empty")]
    assert _problems(tmp_path) == [("-", "empty")]
    assert _problems(tmp_path / "missing") == [("missing", "folder")]


def test_a_mounted_config_map_is_read_once(tmp_path: Path) -> None:
    """Hidden folders hold former revisions; the symlinks into them are the files."""
    _write(tmp_path, **{"..2026__a_dot_rego": "package a"})
    (tmp_path / "..data").symlink_to("..2026")
    (tmp_path / "a.rego").symlink_to("..data/a.rego")
    assert [module.text for module in read_pack([tmp_path]).modules] == ["package a"]


def test_a_file_too_large_is_refused(tmp_path: Path) -> None:
    """Eight MiB is more than a policy needs."""
    (tmp_path / "a.rego").write_text("package a\n" + "#" * (8 * 1024 * 1024))
    assert _problems(tmp_path) == [("a.rego", "size")]


def test_the_stamp_differs_when_something_was_written(tmp_path: Path) -> None:
    """Changed, added and removed files show; looking twice does not."""
    _write(tmp_path, a_dot_rego="package a")
    seen = [stamp([tmp_path])]
    assert stamp([tmp_path]) == seen[0]
    _write(tmp_path, a_dot_rego="package abc")
    seen.append(stamp([tmp_path]))
    _write(tmp_path, b_dot_rego="package b")
    seen.append(stamp([tmp_path]))
    (tmp_path / "a.rego").unlink()
    seen.append(stamp([tmp_path]))
    assert len(set(seen)) == 4
    assert stamp([tmp_path / "missing"]) == ()


def test_a_number_beyond_every_engine_is_a_problem(tmp_path: Path) -> None:
    """JSON can spell it; nothing that decides can hold it."""
    with pytest.raises(PolicyUnusable, match="a number is too large"):
        read_pack([_write(tmp_path, a_dot_rego="package a", data_dot_json='{"x": 1e400}')])


def test_a_module_knows_its_place(tmp_path: Path) -> None:
    """The number of its folder and the path in it, wherever the folders are."""
    one, two = _write(tmp_path / "one", a_dot_rego="package a"), _write(tmp_path / "two", b_dot_rego="package b")
    assert [module.place for module in read_pack([one, two]).modules] == ["0/a.rego", "1/b.rego"]
