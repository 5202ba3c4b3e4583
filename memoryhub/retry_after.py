"""The Retry-After header of another service. Pure."""

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_DIGITS = re.compile(r"[0-9]{1,12}", re.ASCII)


def parse_retry_after(text: str | None, *, now: datetime) -> float | None:
    """Seconds from `now`, 0 for a time that is past; None for what is neither digits nor an HTTP date.

    Source: RFC 9110, sections 5.6.7 and 10.2.3.
    """
    if text is None:
        return None
    value = text.strip()
    if _DIGITS.fullmatch(value):
        return float(value)
    if not value[:1].isalpha():  # every form of the date begins with the day's name
        return None
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError, IndexError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = (moment - now).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None
