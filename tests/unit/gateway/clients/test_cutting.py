"""Lines that are cut while a thread reads from them."""

import socket
import threading
import time

import pytest
import urllib3

from gateway.clients.cutting import Line, make_cuttable, on


def ask(manager: urllib3.PoolManager, port: int, line: Line, ended: threading.Event, failures: list[Exception]) -> None:
    """One request to somebody who never answers."""
    try:
        with on(line):
            manager.request("GET", f"http://127.0.0.1:{port}/", retries=False, timeout=20)
    except Exception as error:  # noqa: BLE001 - what it is does not matter here
        failures.append(error)
    ended.set()


def test_a_thread_that_reads_ends_when_its_line_is_cut() -> None:
    """Long before its own timeout."""
    manager, line, ended, failures = urllib3.PoolManager(), Line(), threading.Event(), []
    make_cuttable(manager)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        threading.Thread(target=ask, args=(manager, port, line, ended, failures), daemon=True).start()
        connection, _ = silent.accept()
        connection.recv(1000)
        began = time.monotonic()
        line.cut()
        assert ended.wait(5)
        assert time.monotonic() - began < 1.0
        connection.close()
    assert failures


def test_a_line_that_was_cut_takes_no_request() -> None:
    """Whoever waited for it is gone."""
    manager, line, failures = urllib3.PoolManager(), Line(), []
    make_cuttable(manager)
    line.cut()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        ask(manager, server.getsockname()[1], line, threading.Event(), failures)
        with pytest.raises(TimeoutError):
            server.accept()
    assert len(failures) == 1


def test_a_line_that_is_cut_while_it_is_laid_takes_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """There was nothing to cut yet, and nobody waits for the answer any more."""
    manager, line, failures = urllib3.PoolManager(), Line(), []
    make_cuttable(manager)
    lay = socket.create_connection
    with socket.create_server(("127.0.0.1", 0)) as server:

        def cut_meanwhile(*_args: object, **_options: object) -> socket.socket:
            laid = lay(server.getsockname())
            line.cut()
            return laid

        monkeypatch.setattr("urllib3.util.connection.create_connection", cut_meanwhile)
        ask(manager, server.getsockname()[1], line, threading.Event(), failures)
        connection, _ = server.accept()
        with connection:
            assert connection.recv(1000) == b""
    assert len(failures) == 1


def test_cutting_a_line_that_is_over_leaves_its_connection_alone() -> None:
    """It may serve another request by then."""
    manager, line = urllib3.PoolManager(), Line()
    make_cuttable(manager)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        answering = threading.Thread(target=answer_twice, args=(server,))
        answering.start()
        with on(line):
            assert manager.request("GET", address).status == 204
        line.cut()
        assert manager.request("GET", address).status == 204
        answering.join()


def answer_twice(server: socket.socket) -> None:
    """Over one and the same connection."""
    connection, _ = server.accept()
    with connection:
        for _ in range(2):
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
