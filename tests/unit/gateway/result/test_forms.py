"""The shapes of a secret."""

import base64
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Secret
from gateway.result.forms import forms_of

VALUE = 'p@ss/w"ö+rd\\ 9'


def has_a_form(text: str, value: str = VALUE) -> bool:
    """Whether some form of the value is in the text."""
    return any(form in text for form in forms_of(Secret(value)).text)


@pytest.mark.parametrize(
    "text",
    [
        VALUE,
        VALUE.encode().hex(),
        VALUE.encode().hex().upper(),
        base64.b64encode(VALUE.encode()).decode(),
        base64.b64encode(VALUE.encode()).decode().rstrip("="),
        base64.urlsafe_b64encode(VALUE.encode()).decode(),
        base64.b64encode(f"user:{VALUE}".encode()).decode(),
        base64.b64encode(f"\0user\0{VALUE}".encode()).decode(),
        quote(VALUE),
        quote(VALUE, safe=""),
        quote(VALUE, safe="").replace("%2F", "%2f").replace("%40", "%40").lower().replace("%c3%b6", "%c3%b6"),
        quote_plus(VALUE),
        "".join(f"%{byte:02X}" for byte in VALUE.encode()),
        "".join(f"%{byte:02x}" for byte in VALUE.encode()),
        r"p@ss/w\"ö+rd\\ 9",
        r"p@ss/w\"\u00f6+rd\\ 9",
        r"p@ss/w\"\u00F6+rd\\ 9",
        r"p@ss\/w\"\u00f6+rd\\ 9",
        r"p@ss/w\\\"\\u00f6+rd\\\\ 9",
        "p@ss/w&quot;ö+rd\\ 9",
        "p@ss/w&#34;ö+rd\\ 9",
        quote(quote(VALUE, safe=""), safe=""),
        quote(quote_plus(VALUE), safe=""),
    ],
)
def test_every_usual_encoding_is_known(text: str) -> None:
    """Alone and in the middle of something."""
    assert has_a_form(text)
    assert has_a_form(f"before {text} after")


@pytest.mark.parametrize(
    "text",
    [
        r"a\u003cb\u003e\u0026c'd",
        r"a\u003Cb\u003E\u0026c'd",
        r"a\u003cb\u003e\u0026c\u0027d",
        r"a\\u003cb\\u003e\\u0026c'd",
        "a&lt;b&gt;&amp;c'd",
        "a&lt;b&gt;&amp;c&#39;d",
        "a&lt;b&gt;&amp;c&#039;d",
        "a&lt;b&gt;&amp;c&apos;d",
        "a&lt;b&gt;&amp;c&#x27;d",
    ],
)
def test_what_servers_make_of_the_signs_of_html_is_known(text: str) -> None:
    """Go, Rails and Django escape them in JSON, PHP and XML have spellings of their own."""
    assert has_a_form(text, "a<b>&c'd")


def test_a_plain_secret_has_few_forms() -> None:
    """Every form is looked for in every result."""
    assert len(forms_of(Secret("abcDEF0123456789")).text) <= 20


@given(
    value=st.text(min_size=4, max_size=40).filter(lambda text: text.encode("utf-8", "ignore").decode() == text),
    before=st.binary(max_size=7),
    after=st.binary(max_size=7),
)
@settings(max_examples=150, deadline=None)
def test_base64_is_found_at_every_alignment(value: str, before: bytes, after: bytes) -> None:
    """Whatever stands before and after it inside the encoded bytes."""
    encoded = base64.b64encode(before + value.encode() + after).decode()
    assert has_a_form(encoded, value)
    assert has_a_form(base64.urlsafe_b64encode(before + value.encode() + after).decode().rstrip("="), value)


def test_forms_are_worked_out_once_per_value() -> None:
    """Secrets of one value share them, and they go with the value."""
    derived: dict[str, object] = {}
    one, two = Secret("s3cr3t-value", derived), Secret("s3cr3t-value", derived)
    assert forms_of(one) is forms_of(two)
    one.drop()
    assert forms_of(one).text == ()
    assert "s3cr3t-value" in forms_of(two).text


def test_longer_forms_come_first() -> None:
    """So that a shorter one does not leave half of a longer one behind."""
    lengths = [len(form) for form in forms_of(Secret(VALUE)).text]
    assert lengths == sorted(lengths, reverse=True)
    assert min(lengths) >= 4
