"""Names for downloaded files that every disk takes. Pure."""

import re
import unicodedata

NAME_LENGTH_MAX = 80
_KEPT = re.compile(r"[^A-Za-z0-9._-]+")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # Windows


def portable(text: str, *, otherwise: str) -> str:
    """ASCII letters, digits and `. _ -`, beginning with a letter or digit; `otherwise` when nothing is left of the text."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = _KEPT.sub("-", plain)[:NAME_LENGTH_MAX].strip("._-")
    return otherwise if not name or _RESERVED.fullmatch(name) else name
