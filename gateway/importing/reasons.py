"""Why something that a description has does not become a row, or a part of one."""


class Inexpressible(Exception):  # noqa: N818 - a finding, and no error of ours
    """A part that no row can say. Where it is optional it is left out; else it takes with it what needs it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Skipped(Exception):  # noqa: N818 - a finding, and no error of ours
    """An operation of which no row is made, whatever part of it is to blame."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
