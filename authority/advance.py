"""Move the pin of an authority on to a head that its reviewed memory has reached. Pure: whoever calls publishes.

A failure of any step means that nothing moves.
"""

from authority.failures import ConflictError
from authority.graph import Head
from authority.host_requests import AdvanceRequest
from authority.proof import prove
from authority.receipts import Receipt, advance_receipt
from authority.terms import Terms


def advance(terms: Terms, pin: Head, request: AdvanceRequest) -> Receipt:
    """The receipt, whose head is where the pin belongs. Raises: what a store raises, and what proving refuses."""
    if request.expected != pin:
        raise ConflictError("The expected canonical memory head does not match the current pin.")
    if request.next != pin:
        prove(terms.canonical, pin, request.next)
    return advance_receipt(terms.canonical_side, prior=pin, head=request.next)
