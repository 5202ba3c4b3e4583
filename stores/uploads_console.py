"""The page that uploads files into a directory of a store, and shows what became of each."""

from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import render

from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest
from memoryhub.pages import PageRequest, form_status, page, sentence
from stores import memory_stores, uploads
from stores.limits import MEMORY_CONTENT_BYTES_MAX
from stores.paths import check_path_prefix, list_directories
from stores.uploads import UPLOAD_BYTES_MAX, UPLOAD_FILES_MAX, Uploaded

type Upload = UploadedFile[Any]


@page("files.put")
def upload_files(request: PageRequest, store_id: str, *, actor: Actor) -> HttpResponse:
    """Each file is a change of its own: what was written stays when another one is refused."""
    shown = memory_stores.get_store(store_id, actor=actor)
    typed = request.POST.get("directory") or request.GET.get("directory") or "/"
    directory = typed if typed.endswith("/") else f"{typed}/"
    facts = {
        "store": shown,
        "directory": directory,
        "replaces": request.POST.get("replaces") == "yes",
        "files_max": UPLOAD_FILES_MAX,
        "bytes_max": MEMORY_CONTENT_BYTES_MAX,
        "above": list_directories(directory),
    }
    if request.method == "POST":
        try:
            check_path_prefix(directory)
        except InvalidRequest as error:
            return _show(request, {**facts, "directory": typed, "directory_problem": sentence(error)})
        try:
            files = _read_files(request)
        except InvalidRequest as error:
            return _show(request, {**facts, "files_problem": sentence(error)})
        results = [_upload(store_id, directory, file, facts["replaces"] is True, actor) for file in files]
        return _show(request, {**facts, "results": results}, 200)
    return _show(request, facts)


def _show(request: PageRequest, facts: dict[str, object], status: int | None = None) -> HttpResponse:
    return render(request, "stores/upload.html", facts, status=status or form_status(request))


def _read_files(request: PageRequest) -> list[Upload]:
    """Raises: InvalidRequest."""
    files = request.FILES.getlist("files")
    if not files:
        raise InvalidRequest("Choose one file at least.")
    if len(files) > UPLOAD_FILES_MAX:
        raise InvalidRequest(
            f"These are {len(files)} files, and nothing was written; send at most {UPLOAD_FILES_MAX} at once."
        )
    if sum(file.size or 0 for file in files) > UPLOAD_BYTES_MAX:
        raise InvalidRequest(
            f"The files are larger than {UPLOAD_BYTES_MAX:,} bytes together, and nothing was written; send fewer at once."
        )
    return files


def _upload(store_id: str, directory: str, file: Upload, replaces: bool, actor: Actor) -> Uploaded:
    assert file.file is not None
    return uploads.upload_file(
        store_id, directory, file.name or "", file.file, replaces=replaces, actor=actor
    )
