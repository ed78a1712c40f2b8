"""Reading arguments: each comes out in the one form that policy, the approver and Linear see, or is an issue."""

import re
import unicodedata

from adapters.transport.fields import UUID, Fields, is_date

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]{0,15}-[0-9]{1,9}")


class Checks(Fields):
    """Reads one call's arguments, and remembers what is wrong with them. What was not given is None."""

    def id(self, name: str) -> str | None:
        """One of Linear's ids."""
        value = self.value(name)
        return None if value is None else self._id(value, f"/{name}")

    def ids(self, name: str) -> list[str]:
        """Several, each once, in order."""
        found = [self._id(value, f"/{name}/{index}") for index, value in enumerate(self.value(name, []))]
        return sorted(set(found))

    def issue_id(self, name: str) -> str:
        """An issue's id, or what people call it (`ENG-123`)."""
        value = self.value(name)
        if _IDENTIFIER.fullmatch(value):
            return str(value).upper()
        if not UUID.fullmatch(value):
            self.issue(f"/{name}", "issue", "Give the issue's id, or its identifier such as ENG-123.")
        return str(value).lower()

    def line(self, name: str) -> str | None:
        """A text on one line, without blanks around it."""
        value = self.value(name)
        return None if value is None else self.one_line(str(value).strip(), f"/{name}")

    def text(self, name: str) -> str | None:
        """A text with every line break as one line feed."""
        value = self.value(name)
        if value is None:
            return None
        written = str(value).replace("\r\n", "\n").replace("\r", "\n")
        if not written.strip():
            self.issue(f"/{name}", "blank", "Must not be blank.")
        if any(unicodedata.category(each) in ("Cc", "Cs") and each not in "\n\t" for each in written):
            self.issue(f"/{name}", "characters", "Must not hold control characters.")
        return written

    def date(self, name: str) -> str | None:
        """A day (`2026-05-31`)."""
        value = self.value(name)
        if value is not None and not is_date(value):
            self.issue(f"/{name}", "date", "Give a day as YYYY-MM-DD.")
        return None if value is None else str(value)

    def _id(self, value: str, path: str) -> str:
        if not UUID.fullmatch(value):
            self.issue(path, "uuid", "This is no id of Linear's; the tools that list and get things tell ids.")
        return str(value).lower()
