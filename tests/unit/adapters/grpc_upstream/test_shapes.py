"""What a message can hold."""

from fakes.grpc_service.compiled import KINDS, message

from adapters.grpc_upstream.shapes import entry_of, enum_of, fields_of, is_map, message_of, shape_of

FIELDS = fields_of(shape_of(message("acme.kinds.v1.Kinds", KINDS)))


def test_fields_are_known_by_name() -> None:
    """In the order of their declaration."""
    assert list(FIELDS)[:3] == ["flag", "text", "octets"]


def test_a_map_is_told_from_a_list_of_messages() -> None:
    """Both are repeated messages on the wire."""
    assert [name for name, field in FIELDS.items() if is_map(field)] == ["by_name", "by_number", "by_flag"]
    key, value = entry_of(FIELDS["by_name"])
    assert (key.name, message_of(key)) == ("key", None)
    inner = message_of(value)
    assert inner is not None
    assert inner.full_name == "acme.kinds.v1.Kinds.Inner"


def test_an_enumeration_has_names() -> None:
    """Of the field that holds it."""
    assert [one.name for one in enum_of(FIELDS["colour"]).values] == ["COLOUR_UNSPECIFIED", "COLOUR_RED"]
