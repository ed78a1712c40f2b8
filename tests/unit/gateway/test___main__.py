"""The command exits with the code of its command line, and says so when a part of it is not installed."""

import os
import pathlib
import ssl
import subprocess
import sys

import pytest

from gateway.__main__ import main


def test_the_exit_code_is_the_command_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """0 for a command that went well, 2 for one that there is not."""
    for arguments, code in ((["version"], 0), (["nope"], 2)):
        monkeypatch.setattr(sys, "argv", ["tollhouse", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code
    assert capsys.readouterr().out.startswith("tollhouse ")


def test_a_missing_part_is_a_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """No traceback of an import reaches a user."""
    monkeypatch.setitem(sys.modules, "gateway.cli.root", None)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "tollhouse: it is not completely installed (gateway.cli.root is missing); reinstall it\n"
    )


def test_it_runs_as_a_module() -> None:
    """`python -m gateway` is the same command."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gateway", "version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("tollhouse ")


def test_no_library_writes_down_the_keys_of_connections(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """Whatever the environment says: credentials travel over these."""
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    monkeypatch.setattr(sys, "argv", ["tollhouse", "version"])
    with pytest.raises(SystemExit):
        main()
    assert ssl.create_default_context().keylog_filename is None


def test_grpc_hooks_no_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children of a gateway, such as MCP servers, would end at times before they have begun."""
    monkeypatch.setenv("GRPC_ENABLE_FORK_SUPPORT", "1")
    monkeypatch.setattr(sys, "argv", ["tollhouse", "version"])
    with pytest.raises(SystemExit):
        main()
    assert os.environ["GRPC_ENABLE_FORK_SUPPORT"] == "0"
