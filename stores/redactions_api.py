"""The REST door of searching and erasing a text wherever it stands."""

from typing import Any

from memoryhub.actors import Actor
from memoryhub.api import HubView, operation
from memoryhub.pagination import LIST_LIMIT_DEFAULT, ListRequest
from stores import redactions
from stores.redaction_serializers import (
    FoundShape,
    RedactionBody,
    RedactionShape,
    SearchVersionsBody,
    found_wire,
    redaction_wire,
    sought_filters,
    sought_of,
)

type Values = dict[str, Any]


class VersionSearch(HubView):
    @operation(
        "memory_versions.search",
        "Find the versions that hold a text",
        body=SearchVersionsBody,
        answer=FoundShape,
        lists=True,
    )
    def post(self, *, body: Values, actor: Actor) -> Values:
        limit = body.get("limit", LIST_LIMIT_DEFAULT)
        page = redactions.search_versions(
            ListRequest("version_search", _filters(body, actor), limit, body.get("page")),
            sought=sought_of(body),
            environment=body.get("environment"),
            store_id=body.get("memory_store_id"),
            actor=actor,
        )
        return page.as_wire(found_wire)


class Redactions(HubView):
    @operation(
        "redactions.create", "Erase a text wherever it stands", body=RedactionBody, answer=RedactionShape
    )
    def post(self, *, body: Values, actor: Actor) -> Values:
        dry_run = body.get("dry_run", False)
        redaction = redactions.redact_text(
            ListRequest(
                "redactions", _filters(body, actor), redactions.REDACTION_VERSIONS_MAX, body.get("page")
            ),
            sought=sought_of(body),
            environment=body.get("environment"),
            store_id=body.get("memory_store_id"),
            heads=body.get("heads", "refuse"),
            dry_run=dry_run,
            reason=body.get("reason"),
            shown=None,
            actor=actor,
        )
        return redaction_wire(redaction, dry_run=dry_run)


def _filters(body: Values, actor: Actor) -> Values:
    reach = {"project": actor.project_id.hex, "reach": str(actor.environment_id)}
    return {**sought_filters(body), **reach}
