"""One entry, one address: the only place where an address of mail is read, and narrowly (see `adapters.addresses`)."""

import re
from dataclasses import dataclass

import idna

from adapters.addresses import is_full_domain, is_local_part

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# Both take time in proportion to what they read: mail of strangers is read with them too.
_ENCODED_WORD = re.compile(r"=\?[^?]*\?[A-Za-z]\?")
_NAMED = re.compile(r'(?:"[^"\\<>@]*"\s*|[^"\\<>@,;:()\[\]]*)<(?P<address>[^<>\s]+)>')


@dataclass(frozen=True, slots=True)
class Address:
    """One mailbox: ASCII throughout, the domain in lower case and in A-labels."""

    local: str
    domain: str

    def __str__(self) -> str:
        return f"{self.local}@{self.domain}"

    @property
    def folded(self) -> str:
        """The form that is compared and that goes into the envelope: all in lower case."""
        return f"{self.local.lower()}@{self.domain}"


class NotAnAddress(Exception):  # noqa: N818 - it becomes an issue of the agent's arguments
    """The entry is not exactly one address. `rule` is short, `message` is for the agent."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(rule)
        self.rule = rule
        self.message = message


def parse_address(entry: str) -> Address:
    """The one address in an entry such as `ann@corp.example` or `Ann <ann@corp.example>`.

    A display name is dropped: nobody checks it, and it can name somebody else. Raises `NotAnAddress`.
    """
    if problem := header_problem(entry):
        raise NotAnAddress(*problem)
    address = _without_name(entry.strip(" "))
    local, at, domain = address.partition("@")
    if not at or not local or not domain:
        raise NotAnAddress("address", "give one address such as ann@corp.example")
    if "@" in domain or "," in domain or ";" in domain:
        raise NotAnAddress("one_address", "give exactly one address per entry")
    if not is_local_part(local):
        raise NotAnAddress("local_part", "the part before @ may hold plain ASCII letters, digits and simple signs only")
    return Address(local, _domain(domain))


def header_problem(value: str) -> tuple[str, str] | None:
    """The rule and the sentence for a value that must not go into a header; None when it may.

    Line breaks and other control characters would start a header of their own. An encoded word would
    show the reader something else than policy and the approver saw, line breaks included.
    """
    if _CONTROL.search(value):
        return "control_character", "must not hold line breaks or other control characters"
    begun = _ENCODED_WORD.search(value)
    if begun and "?=" in value[begun.end() :]:
        return "encoded_word", "must not hold encoded words (=?...?=); write the text itself"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "unicode", "holds half of a character (a lone surrogate)"
    return None


def _without_name(entry: str) -> str:
    if "<" not in entry and ">" not in entry:
        return entry
    match = _NAMED.fullmatch(entry)
    if match is None:
        raise NotAnAddress("one_address", "give exactly one address per entry, best without a display name")
    return match["address"]


def _domain(domain: str) -> str:
    """The domain in lower-case A-labels."""
    canonical = domain.lower()
    if not domain.isascii() or "xn--" in canonical:
        try:
            canonical = idna.encode(domain, uts46=True, std3_rules=True).decode("ascii").lower()
        except (idna.IDNAError, UnicodeError) as error:
            raise NotAnAddress("domain", "the part after @ is not a valid domain") from error
    if not is_full_domain(canonical):
        raise NotAnAddress("domain", "the part after @ must be a full domain such as corp.example")
    return canonical
