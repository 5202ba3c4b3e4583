"""Files of a form go to the disk as they come in, and a form that is too large is refused before any of it is read."""

from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile

from memoryhub.spools import disk_room, open_spool

type Upload = UploadedFile[Any]


class SpoolUploadHandler(FileUploadHandler):
    """Each file into a spool of its own, which is closed with the request. Only people who are signed in send files."""

    spool: IO[bytes] | None = None  # of the file that comes in; none of a file that is skipped

    def handle_raw_input(
        self, input_data: Any, META: Any, content_length: int, boundary: Any, encoding: Any = None
    ) -> None:
        if content_length > settings.FORM_BYTES_MAX:
            raise RequestDataTooBig(settings.FORM_BYTES_MAX)

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        user = getattr(self.request, "user", None)
        if user is None or not user.is_authenticated:  # forms are read before any view could refuse them
            raise SkipFile
        self.spool = open_spool()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        assert self.spool is not None
        with disk_room():
            self.spool.write(raw_data)

    def file_complete(self, file_size: int) -> Upload:
        assert self.spool is not None
        self.spool.seek(0)
        spool, self.spool = self.spool, None
        return UploadedFile(
            file=spool,
            name=self.file_name,
            content_type=self.content_type,
            size=file_size,
            charset=self.charset,
        )

    def upload_interrupted(self) -> None:
        if self.spool is not None:
            self.spool.close()
