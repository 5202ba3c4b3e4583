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
        "changes_count": sum(day.changes for day in days),
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
    """`[{"day", "changes", "x", "y", "height"}]`: the greatest fills the chart, the least change can still be seen."""
    greatest = max((day.changes for day in days), default=0)
    heights = [
        0 if day.changes == 0 else max(2, round(day.changes * CHART_HEIGHT / greatest)) for day in days
    ]
    return [
        {
            "day": day.day,
            "changes": day.changes,
            "x": index * BAR_STEP,
            "y": CHART_HEIGHT - height,
            "height": height,
        }
        for index, (day, height) in enumerate(zip(days, heights, strict=True))
    ]


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
