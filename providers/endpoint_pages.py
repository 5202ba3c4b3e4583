"""What every page of an endpoint shows."""

from typing import Any

from memoryhub.pages import Place
from providers.endpoint_models import Endpoint

# (title, name of the URL, operation)
_PAGES = [
    ("Endpoint", "endpoint", "endpoints.get"),
    ("Credentials", "credentials", "endpoint_credentials.list"),
    ("Partitions", "partitions", "external_partitions.list"),
    ("Settings", "endpoint-settings", "endpoints.update"),
]


def endpoint_facts(place: Place, endpoint: Endpoint) -> dict[str, Any]:
    """`{"endpoint", "tabs": [{"title", "url"}]}`, of the pages that the person may open."""
    return {
        "endpoint": endpoint,
        "tabs": [
            {"title": title, "url": place.url(name, endpoint_id=endpoint.wire_id)}
            for title, name, operation in _PAGES
            if place.may(operation)
        ],
    }
