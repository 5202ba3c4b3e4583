"""What anyone may ask of a running hub: is it alive, is it ready and if not why, its metrics, its OpenAPI document."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from memoryhub import hub_status, metrics, openapi, readiness
from memoryhub.metrics import name_operation
from memoryhub.problems import json_response


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 while the process serves."""
    name_operation(request, "healthz")
    return json_response({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when requests can be served, else 503; `causes` names each part that does not answer and what to do."""
    name_operation(request, "readyz")
    is_ready, facts = readiness.describe()
    return json_response(facts, status=200 if is_ready else 503)


@require_safe
def prometheus(request: HttpRequest) -> HttpResponse:
    name_operation(request, "metrics")
    return HttpResponse(
        metrics.render() + hub_status.render_gauges(), content_type="text/plain; version=0.0.4; charset=utf-8"
    )


@require_safe
def openapi_yaml(request: HttpRequest) -> HttpResponse:
    name_operation(request, "openapi")
    return HttpResponse(openapi.document_yaml(), content_type="application/yaml")
