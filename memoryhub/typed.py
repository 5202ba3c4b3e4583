"""What somebody typed into a form, for the page that answers when the form's own cannot: it is given back to copy."""

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, UnreadablePostError
from django.http.multipartparser import MultiPartParserError

# Fields of the console's forms that hold what takes a while to type, and never a secret.
LABELS = {
    "path": "Path",
    "name": "Name",
    "title": "Title",
    "summary": "Summary",
    "description": "Description",
    "reason": "Reason",
    "content": "Text",
    "manifest": "Manifest",
    "tools": "Tools",
    "input": "Input",
}
UNREADABLE = (RequestDataTooBig, TooManyFieldsSent, UnreadablePostError, MultiPartParserError)


def list_typed(request: HttpRequest) -> list[tuple[str, str]]:
    """(label, text) of each field that was filled in; nothing of a form that another site sent."""
    if request.method != "POST" or request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
        return []
    try:
        sent = request.POST
    except UNREADABLE:
        return []
    return [(label, sent[name]) for name, label in LABELS.items() if sent.get(name)]
