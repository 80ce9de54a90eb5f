"""Places of the protocol and offsets into a text.

The protocol counts lines from zero, ended by a newline, a carriage return or both, and in a line the units of an
encoding, of UTF-16 unless both sides agreed on another one. What lies outside of the text becomes the nearest
place inside.
"""

from __future__ import annotations

import re
from bisect import bisect_right

_LINE_END = re.compile(r"\r\n|\n|\r")
_UNIT = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class Positions:
    """The lines of a text, with places in one encoding."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text = text
        self.codec, self.width = _UNIT[encoding]
        ends = list(_LINE_END.finditer(text))
        self.starts = [0, *(end.end() for end in ends)]
        self.ends = [*(end.start() for end in ends), len(text)]

    def offset(self, line: int, character: int) -> int:
        if line < 0:
            return 0
        if line >= len(self.starts):
            return len(self.text)
        start, end = self.starts[line], self.ends[line]
        units = 0
        for offset in range(start, end):
            units += self._units(self.text[offset])
            if units > character:  # in the midst of a character is before it
                return offset
        return end

    def place(self, offset: int) -> tuple[int, int]:
        """The line and the units before the offset."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.starts, offset) - 1
        return line, self._units(self.text[self.starts[line] : offset])

    def _units(self, text: str) -> int:
        return len(text.encode(self.codec, "surrogatepass")) // self.width
