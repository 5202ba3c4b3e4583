"""The overview of an environment: what it holds, what happened lately, and what waits for a person."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub import activity
from memoryhub.activity import Day
from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.audit_forms import action_words
from memoryhub.pages import PageRequest, Place, page
from memoryhub.rooms import list_needs
from memoryhub.subjects import find_subjects

CHANGES_SHOWN_MAX = 10
# The chart's own units; the browser fits them to the page.
BAR_WIDTH, BAR_STEP, CHART_HEIGHT = 16, 20, 96
BAR_HEIGHT_MIN = 2
KINDS = ("changes", "recalls", "refusals")  # from the bottom up


@page("environments.get")
@require_safe
def overview(request: PageRequest, *, actor: Actor) -> HttpResponse:
    days = activity.list_days(actor=actor)
    changes = _list_changes(request.place, actor)
    facts = {
        "needs": [{"need": need, "url": _url_of_need(request.place, need)} for need in list_needs(actor)],
        "panels": [
            {"template": room.panel.template, "facts": room.panel.read(actor), "is_wide": room.panel.is_wide}
            for room in request.place.rooms
            if room.panel
        ],
        "days": days,
        "counts": [(kind, sum(getattr(day, kind) for day in days)) for kind in KINDS],
        "is_quiet": not any(day.total for day in days),
        "bars": draw_bars(days),
        "chart_width": BAR_STEP * len(days),
        "chart_height": CHART_HEIGHT,
        "changes": changes,
        "names": name_actors((change["event"].actor_id for change in changes), actor=actor),
    }
    return render(request, "memoryhub/overview.html", facts)


def _url_of_need(place: Place, need: Any) -> str:
    return place.url(need.url_name, **need.ids_of)


def draw_bars(days: list[Day]) -> list[dict[str, Any]]:
    """`[{"day", "kind", "count", "x", "y", "height"}]`: the busiest day fills the chart, the least part can still be seen."""
    busiest = max((day.total for day in days), default=0)
    bars = []
    for index, day in enumerate(days):
        y = CHART_HEIGHT
        for kind, height in _heights(day, busiest).items():
            y -= height
            facts = {"day": day.day, "kind": kind, "count": getattr(day, kind)}
            bars.append({**facts, "x": index * BAR_STEP, "y": y, "height": height})
    return bars


def _heights(day: Day, busiest: int) -> dict[str, int]:
    """What the least parts are given, the greatest gives up where the chart ends."""
    counts = {kind: getattr(day, kind) for kind in KINDS}
    heights = {
        kind: max(BAR_HEIGHT_MIN, round(count * CHART_HEIGHT / busiest)) if count else 0
        for kind, count in counts.items()
    }
    greatest = max(heights, key=lambda kind: heights[kind])
    heights[greatest] -= max(0, sum(heights.values()) - CHART_HEIGHT)
    return heights


def _list_changes(place: Place, actor: Actor) -> list[dict[str, Any]]:
    """`[{"event", "words", "subject", "url", "within", "within_url"}]`; `subject` None: the thing is gone."""
    events = activity.list_newest(CHANGES_SHOWN_MAX, actor=actor)
    wire_ids = {wire_id for event in events for wire_id in (event.subject_id, event.parent_id) if wire_id}
    subjects = find_subjects(sorted(wire_ids), actor=actor)

    def shown(wire_id: str | None) -> tuple[Any, str | None]:
        subject = subjects.get(wire_id or "")
        has_page = subject is not None and subject.url_name is not None
        return subject, place.url(subject.url_name, **subject.ids_of) if has_page else None  # type: ignore[union-attr,arg-type]

    rows = []
    for event in events:
        (subject, url), (within, within_url) = shown(event.subject_id), shown(event.parent_id)
        words = {"event": event, "words": action_words(event.action)}
        rows.append({**words, "subject": subject, "url": url, "within": within, "within_url": within_url})
    return rows
