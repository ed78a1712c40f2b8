"""Characters that make a text read otherwise than it is."""

import re
import unicodedata
from collections.abc import Iterator

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Letters, marks and symbols by their category, and nothing to the eye."""
_LAYOUT = str.maketrans("", "", "\t\n\r")
_SEPARATORS = re.compile(r"[\W_]+")
_ALIKE = str.maketrans(
    "аеорсухіјѕӏԁһԛԝкмтвнгАВЕКМНОРСТУХІЈЅԌαεινορτυχκΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսոհցℓıɑɡ10I",  # noqa: RUF001 - that is the point
    "aeopcyxijsldhqwkmtbhrABEKMHOPCTYXIJSGaeivoptuxkABEZHIKMNOPTYXounhgliaglOl",
)
"""Letters of other alphabets, and digits, that look like a letter of the Latin alphabet."""
_PAIRS = (("rn", "m"), ("vv", "w"))
_LOOKING_LATIN = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "COPTIC", "CHEROKEE"})


def unseen(text: str) -> bool:
    """Whether a text of one line holds characters that nobody sees, or that change the order in which it is read."""
    return any(map(_is_unseen, text))


def unseen_in_lines(text: str) -> bool:
    """The same of a text of several lines."""
    return unseen(text.translate(_LAYOUT))


def mixes_alphabets(name: str) -> bool:
    """Whether letters that look Latin stand among Latin ones."""
    scripts = {unicodedata.name(each, "").partition(" ")[0] for each in name if each.isalpha()}
    return "LATIN" in scripts and not scripts.isdisjoint(_LOOKING_LATIN)


def readings(name: str) -> Iterator[str]:
    """What a name may be taken for. Two names look alike that have a reading in common: case, separators, accents and
    invisible characters make no difference to the first, nor letters of one shape to the second.
    """
    bare = _bare(name)
    yield f"case:{bare.casefold()}"
    shape = bare.translate(_ALIKE).casefold()
    for pair, one in _PAIRS:
        shape = shape.replace(pair, one)
    yield f"shape:{shape}"


def _bare(name: str) -> str:
    """Accents, once they stand apart from their letters, are no letters either."""
    apart = unicodedata.normalize("NFKD", name)
    return _SEPARATORS.sub("", "".join(each for each in apart if not _is_unseen(each)))


def _is_unseen(character: str) -> bool:
    if " " <= character <= "~":
        return False
    return (
        unicodedata.category(character) in _UNSEEN
        or character in _BLANK
        or "\ufe00" <= character <= "\ufe0e"  # of the selectors of a variant, one alone is in daily use: the emoji's
        or "\U000e0000" <= character <= "\U000e0fff"
    )
