"""What every URL of this room shares: a strict reader of bodies, and 404 before everything else."""

from typing import Any

from django.http import HttpRequest

from authority import authorities, canonical, host_calls, nominations_kept, spaces
from memoryhub.actors import Actor
from memoryhub.api import HubView, check_content_type
from memoryhub.errors import InvalidRequest
from memoryhub.pagination import LIST_LIMIT_DEFAULT, ListRequest
from memoryhub.problems import body_too_large

JSON_TYPE = "application/json"
# A text may be written with more bytes than its canonical form has.
SPARE_BYTES = 1_048_576


class SpaceView(HubView):
    def require_visible(self, actor: Actor) -> None:
        spaces.get_space(self.kwargs["space_id"], actor=actor)


class AuthorityView(HubView):
    def require_visible(self, actor: Actor) -> None:
        authority_id = self.kwargs["authority_id"]
        authorities.get_authority(authority_id, actor=actor)
        if "call_id" in self.kwargs:
            host_calls.get_call(authority_id, self.kwargs["call_id"], actor=actor)
        if "receipt_sha256" in self.kwargs:
            host_calls.get_receipt(authority_id, self.kwargs["receipt_sha256"], actor=actor)
        if "nomination_sha256" in self.kwargs:
            nominations_kept.get_nomination(authority_id, self.kwargs["nomination_sha256"], actor=actor)


def read_json(request: HttpRequest, *, label: str, bytes_max: int) -> Any:
    """The value of a body: duplicate keys, -0 and whatever else cannot be hashed are refused.

    Raises: InvalidRequest, RequestTooLarge, ValidationTypeError, CapacityError.
    """
    check_content_type(request, JSON_TYPE)
    return canonical.read(_read_bytes(request, bytes_max + SPARE_BYTES), label=label, bytes_max=bytes_max)


def _read_bytes(request: HttpRequest, bytes_max: int) -> bytes:
    """Straight from the stream: Django's own limit is that of small bodies."""
    stream = request.META["wsgi.input"]
    if request.META.get("CONTENT_LENGTH") or not request.META.get("wsgi.input_terminated"):
        announced = int(request.META.get("CONTENT_LENGTH") or 0)
        if announced > bytes_max:
            raise body_too_large(bytes_max)
        raw: bytes = stream.read(announced)
        if len(raw) < announced:
            raise InvalidRequest(f"The body ended after {len(raw)} of {announced} bytes.")
        return raw
    raw = stream.read(bytes_max + 1)
    if len(raw) > bytes_max:
        raise body_too_large(bytes_max)
    return raw


def list_request(kind: str, query: dict[str, Any], *, actor: Actor, **filters: Any) -> ListRequest:
    reach = {"project": actor.project_id.hex, "reach": str(actor.environment_id)}
    return ListRequest(kind, {**filters, **reach}, query.get("limit", LIST_LIMIT_DEFAULT), query.get("page"))
