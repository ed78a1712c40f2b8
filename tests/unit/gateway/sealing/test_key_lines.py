"""Keys as lines."""

import pytest

from gateway.sealing.key_lines import key_line, keys_in

ONE, OTHER = bytes(range(32)), bytes(range(32, 64))


def test_what_is_written_is_read() -> None:
    """In order, in base64 and hex, whatever white space is around it."""
    assert keys_in((key_line(ONE) + key_line(OTHER)).encode()) == [ONE, OTHER]
    assert keys_in(f"\r\n{OTHER.hex().upper()}\r\n\n {key_line(ONE)}".encode()) == [OTHER, ONE]


@pytest.mark.parametrize("line", ["", "passphrase", ONE.hex()[:-2], "00" * 32, "zz" * 32, key_line(ONE + ONE), "# key"])
def test_one_line_that_is_no_key_makes_it_no_file_of_keys(line: str) -> None:
    """It would be missed later."""
    assert keys_in(line.encode()) == []
    assert line == "" or keys_in((key_line(ONE) + line).encode()) == []
    assert keys_in(b"\xff" * 64) == []
