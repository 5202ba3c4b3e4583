"""The URLs of the console's ground floor and of the documentation."""

from django.urls import path

from memoryhub import console, docs_pages

urlpatterns = [
    path("", console.home, name="home"),
    path("sign-in", console.sign_in, name="sign-in"),
    path("sign-in/<str:token>", console.sign_in_link, name="sign-in-link"),
    path("sign-out", console.sign_out, name="sign-out"),
    path("account/theme", console.theme, name="theme"),
    path("account/password", console.password, name="password"),
    path("invitations/<str:token>", console.invitation, name="invitation"),
    path("p/<str:project_id>/<str:environment>", console.overview, name="overview"),
    path("docs", docs_pages.contents, name="docs"),
    path("docs/reference", docs_pages.reference, name="api-reference"),
    path("docs/<slug:name>", docs_pages.page, name="docs-page"),
]
