"""The console's ground floor: sign in and out, the home page, invitations."""

from urllib.parse import urlsplit, urlunsplit

from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from memoryhub import accounts, invitations
from memoryhub.browsers import describe_browser
from memoryhub.errors import Conflict, InvalidRequest, NotFound, RateLimited
from memoryhub.forms import AcceptInvitationForm, SignInForm
from memoryhub.models import User
from memoryhub.pages import home_of, list_memberships, person, sentence, signed_in
from memoryhub.session_store import BROWSER, SIGNED_IN_AT, SIGNED_IN_BY_LINK
from memoryhub.themes import keep_theme

BACKEND = "django.contrib.auth.backends.ModelBackend"


def safe_next(request: HttpRequest) -> str:
    """Where the form's `next` leads when that is a page of this hub, else to the start."""
    return own_path(request.POST.get("next") or request.GET.get("next") or reverse("start"))


def page_before(request: HttpRequest) -> str:
    """The page of this hub that the form was sent from, else home."""
    try:
        before = urlsplit(request.headers.get("Referer", ""))
    except ValueError:  # no URL at all
        return "/"
    is_ours = before.netloc == request.get_host()
    return own_path(urlunsplit(("", "", before.path, before.query, ""))) if is_ours else "/"


def own_path(wanted: str) -> str:
    is_ours = url_has_allowed_host_and_scheme(wanted, allowed_hosts=None, require_https=False)
    return wanted if is_ours and wanted.startswith("/") and not wanted.startswith("//") else "/"


def begin_session(request: HttpRequest, user: User) -> None:
    """With a new key, whatever cookie the browser brought along."""
    login(request, user, backend=BACKEND)
    request.session[BROWSER] = describe_browser(request.headers.get("User-Agent", ""))
    request.session[SIGNED_IN_AT] = timezone.now().isoformat()


@never_cache
@sensitive_post_parameters("password")
def sign_in(request: HttpRequest) -> HttpResponse:
    if isinstance(request.user, User):
        return redirect(safe_next(request))
    form = SignInForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            user = accounts.check_sign_in(request, **form.cleaned_data)
        except RateLimited as error:
            form.add_error(None, error.message)
            user = None
        if user is not None:
            begin_session(request, user)
            return redirect(safe_next(request))
        if not form.errors:
            form.add_error(None, "This address and password do not belong together.")
    status = 400 if form.errors else 200
    return render(
        request, "memoryhub/sign_in.html", {"form": form, "next": safe_next(request)}, status=status
    )


@never_cache
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """Opening a link only shows a button: programs that look at links would use it up."""
    if request.method == "POST":
        user = accounts.use_sign_in_link(token)
        if user is not None:
            begin_session(request, user)
            request.session[SIGNED_IN_BY_LINK] = True
            return redirect("start" if user.has_usable_password() else "password")
    is_open = request.method != "POST" and accounts.is_link_open(token)
    return render(
        request, "memoryhub/sign_in_link.html", {"is_open": is_open}, status=200 if is_open else 410
    )


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("sign-in")


@signed_in
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    response = redirect(page_before(request))
    keep_theme(response, request.POST.get("theme", ""))
    return response


@signed_in
@require_safe
def start(request: HttpRequest) -> HttpResponse:
    """Where one works: those with one project land in it, all others among their projects."""
    return redirect(home_of(person(request)))


@signed_in
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return render(
        request,
        "memoryhub/home.html",
        {"memberships": list_memberships(person(request)), "is_operator": person(request).is_operator},
    )


@never_cache
@sensitive_post_parameters("password")
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    offer = invitations.find_invitation(token)
    if offer is None:
        return render(request, "memoryhub/invitation.html", {"offer": None}, status=410)
    form = AcceptInvitationForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            user = invitations.accept_invitation(token, **form.cleaned_data)
        except (InvalidRequest, NotFound, Conflict, RateLimited) as error:
            form.add_error("password", sentence(error))
        else:
            begin_session(request, user)
            return redirect("home")
    return render(
        request,
        "memoryhub/invitation.html",
        {"offer": offer, "form": form},
        status=400 if form.errors else 200,
    )
