"""Prometheus metrics: requests by operation and status, their duration, and the state of the queues."""

import os
from typing import Any

from django.http import HttpRequest
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, multiprocess

REQUESTS = Counter("memoryhub_requests_total", "Requests answered.", ["operation", "status"])
DURATION = Histogram(
    "memoryhub_request_seconds",
    "Seconds from the request's arrival to its answer.",
    ["operation"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


def name_operation(request: HttpRequest, name: str) -> None:
    request.hub_operation = name  # type: ignore[attr-defined]


def operation_name(request: HttpRequest) -> str:
    return getattr(request, "hub_operation", "other")


def count_answer(operation: str, status: int, seconds: float) -> None:
    REQUESTS.labels(operation, str(status)).inc()
    DURATION.labels(operation).observe(seconds)


def render() -> bytes:
    """The exposition text of all web processes together."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest()
    registry: Any = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
