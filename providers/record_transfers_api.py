"""The REST door of whole scopes of records: out of one hub and into another, and in from other products."""

from typing import Any

from django.conf import settings
from django.http import FileResponse, HttpResponse

from memoryhub.actors import Actor, RecordScope
from memoryhub.api import HubView, check_content_type, operation
from memoryhub.problems import json_response
from memoryhub.source_files import OneFile, Source, ZipSource, is_zip
from memoryhub.spools import file_answer, filled_spool, spool_body
from providers.limits import IMPORT_REQUEST_RECORDS_MAX
from providers.record_access import WantedScope
from providers.record_exports import export_records
from providers.record_imports import ImportOrder, import_records
from providers.record_sources.items import Wishes
from providers.transfer_serializers import (
    ImportRecordsQuery,
    RecordImportShape,
    ScopeQuery,
    record_import_wire,
)

type Values = dict[str, Any]
BYTES_TYPE, LINES_TYPE = "application/octet-stream", "application/x-ndjson"
NOT_WHOLE = 202


def _wanted(query: Values) -> WantedScope:
    of = RecordScope(query["agent"], query["issuer"], query["subject"])
    return WantedScope(query.get("environment"), of)


class RecordImports(HubView):
    @operation(
        "records.import",
        "Import records of another product, or of a hub",
        query=ImportRecordsQuery,
        raw_body=BYTES_TYPE,
        answer=RecordImportShape,
        also=(NOT_WHOLE,),
    )
    def post(self, *, query: Values, actor: Actor) -> HttpResponse:
        check_content_type(self.request, BYTES_TYPE)
        order = ImportOrder(
            query["format"],
            Wishes(query.get("user")),
            dry_run=query.get("dry_run", False),
            records_max=IMPORT_REQUEST_RECORDS_MAX,
        )
        with spool_body(self.request, bytes_max=settings.ARCHIVE_BYTES_MAX) as body:
            source: Source = ZipSource(body) if is_zip(body) else OneFile("body", body)
            done = import_records(_wanted(query), source, order, actor=actor)
        return json_response(record_import_wire(done), status=200 if done.is_whole else NOT_WHOLE)


class RecordExport(HubView):
    @operation(
        "records.export", "Export the records of a scope", query=ScopeQuery, answer_types=(LINES_TYPE,)
    )
    def get(self, *, query: Values, actor: Actor) -> FileResponse:
        with filled_spool() as spool:
            done = export_records(_wanted(query), spool, bytes_max=settings.ARCHIVE_BYTES_MAX, actor=actor)
        answer = file_answer(spool, content_type=LINES_TYPE, file_name="records.ndjson")
        answer["records"] = str(done.records)
        answer["content-sha256"] = done.sha256
        return answer
