"""The id of what a form will issue, promised to the form: however often the form is sent, it is issued once.

A secret is shown on the answer to the form and nowhere else, and a browser that is asked to reload that page sends the form
again. The id is signed, so that nobody can choose one.
"""

from uuid import UUID

from django.core.signing import BadSignature, Signer

from memoryhub import ids
from memoryhub.actors import Actor


def promise_id(prefix: str, actor: Actor) -> str:
    """What the form carries."""
    return _signer(actor).sign(ids.to_wire(prefix, ids.new_id()))


def find_promised(prefix: str, text: str, actor: Actor) -> UUID | None:
    """None for what was promised to nobody, to another person or for another thing."""
    try:
        return ids.from_wire(prefix, _signer(actor).unsign(text))
    except BadSignature:
        return None


def _signer(actor: Actor) -> Signer:
    return Signer(salt=f"memoryhub.promised_ids.{actor.project_id.hex}.{actor.actor_id}")
