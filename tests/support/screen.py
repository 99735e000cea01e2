"""A standard error to write to, of a terminal or of something that is none."""

import io


class Screen(io.StringIO):
    """What was written to a terminal, or to something that is none."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal
