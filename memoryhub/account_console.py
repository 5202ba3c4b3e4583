"""A person's own account: the name, the projects, the password, the browsers that are signed in."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from memoryhub import accounts, mail_wishes, mails
from memoryhub.errors import InvalidRequest, NotFound, RateLimited
from memoryhub.forms import NameForm, PasswordForm, add_refusal
from memoryhub.notice_types import TOPICS
from memoryhub.pages import form_status, list_memberships, person, sentence, signed_in
from memoryhub.problems import answer_page
from memoryhub.session_store import SIGNED_IN_BY_LINK, stored_key


@signed_in
def account(request: HttpRequest) -> HttpResponse:
    """A POST changes the name."""
    user = person(request)
    form = NameForm(request.POST or None, initial={"name": user.name})
    if request.method == "POST" and form.is_valid():
        try:
            accounts.change_name(user.id, name=form.cleaned_data["name"])
        except InvalidRequest as error:
            add_refusal(form, error)
        else:
            messages.success(request, "Your name is changed.")
            return redirect("account")
    facts = {
        "form": form,
        "memberships": list_memberships(user),
        "sessions": accounts.list_sessions(user),
        "this_session": _this_session(request),
        "wishes": mail_wishes.list_wishes(user.id) if mails.is_configured() else None,
        "topics": TOPICS,
        "mail_minutes": settings.MAIL_MINUTES,
    }
    return render(request, "memoryhub/account.html", facts, status=form_status(request))


def _this_session(request: HttpRequest) -> str:
    return stored_key(request.session.session_key or "")


@signed_in
@require_POST
def change_mails(request: HttpRequest, member_id: str) -> HttpResponse:
    """Of one project; none of the boxes ticked: no mails."""
    try:
        mail_wishes.change_wishes(person(request).id, member_id, topics=request.POST.getlist("topics"))
    except NotFound as error:
        return answer_page(request, error)
    messages.success(request, "Saved: your mails are as you asked.")
    return redirect("account")


@signed_in
@require_POST
def end_session(request: HttpRequest, session_key: str) -> HttpResponse:
    accounts.end_session(person(request).id, session_key)
    messages.success(request, "That browser is signed out.")
    return redirect("account")


@signed_in
@require_POST
def end_other_sessions(request: HttpRequest) -> HttpResponse:
    ended = accounts.end_other_sessions(person(request).id, kept_key=_this_session(request))
    messages.success(request, f"Signed out of {ended} other browser{'' if ended == 1 else 's'}.")
    return redirect("account")


@signed_in
@sensitive_post_parameters("current", "new")
def password(request: HttpRequest) -> HttpResponse:
    user = person(request)
    is_first = not user.has_usable_password()
    by_link = request.session.get(SIGNED_IN_BY_LINK, False)
    form = PasswordForm(request.POST or None, asks_current=not by_link)
    if request.method == "POST" and form.is_valid():
        try:
            changed = accounts.change_password(
                user, current=form.cleaned_data.get("current"), new=form.cleaned_data["new"]
            )
        except (InvalidRequest, RateLimited) as error:
            form.add_error("current" if error.error_code == "wrong_password" else "new", sentence(error))
        else:
            request.session.pop(SIGNED_IN_BY_LINK, None)
            update_session_auth_hash(request, changed)  # begins a new session for this browser
            messages.success(request, "Your password is changed. Every other session of yours has ended.")
            return redirect("start" if is_first else "account")
    return render(request, "memoryhub/password.html", {"form": form}, status=form_status(request))
