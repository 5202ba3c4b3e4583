"""The REST door of archives: a store with its whole history, out of one hub and into another."""

from itertools import islice
from typing import Any

from django.conf import settings
from django.http import FileResponse
from rest_framework import serializers

from memoryhub.actors import Actor
from memoryhub.api import HubView, check_content_type, operation
from memoryhub.fields import StrictSerializer, Text
from memoryhub.spools import file_answer, filled_spool, spool_body
from stores import exports, imports
from stores.imports import MAPPED_SHOWN_MAX, IdMap, StoreImport
from stores.limits import STORE_NAME_LENGTH_MAX
from stores.serializers import StoreShape, store_wire
from stores.views import StoreView

ARCHIVE_TYPE = "application/x-tar"


class ImportQuery(StrictSerializer):
    environment = Text(required=False, length_max=64)
    name = Text(length_min=1, length_max=STORE_NAME_LENGTH_MAX, plain=True, required=False)


class ImportCountsShape(serializers.Serializer[Any]):
    memories = serializers.IntegerField()
    memory_versions = serializers.IntegerField()
    redacted_versions = serializers.IntegerField()
    content_bytes = serializers.IntegerField()
    ids_mapped = serializers.IntegerField()


class MappedIdShape(serializers.Serializer[Any]):
    archived_id = serializers.CharField()
    id = serializers.CharField()


class IdMapShape(serializers.Serializer[Any]):
    memory_stores = serializers.IntegerField()
    memories = serializers.IntegerField()
    memory_versions = serializers.IntegerField()
    mapped = MappedIdShape(many=True)
    has_more = serializers.BooleanField()


class ImportShape(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=["memory_store_import"])
    memory_store = StoreShape()
    manifest_sha256 = serializers.CharField()
    counts = ImportCountsShape()
    id_map = IdMapShape()


def import_wire(imported: StoreImport) -> dict[str, Any]:
    return {
        "type": "memory_store_import",
        "memory_store": store_wire(imported.store),
        "manifest_sha256": imported.manifest_sha256,
        "counts": imported.counts(),
        "id_map": id_map_wire(imported.id_map),
    }


def id_map_wire(id_map: IdMap) -> dict[str, Any]:
    return {
        "memory_stores": len(id_map.store),
        "memories": len(id_map.memories),
        "memory_versions": len(id_map.versions),
        "mapped": [{"archived_id": old, "id": new} for old, new in islice(id_map.shown(), MAPPED_SHOWN_MAX)],
        "has_more": id_map.count() > MAPPED_SHOWN_MAX,
    }


class StoreExport(StoreView):
    @operation("memory_stores.export", "Export a memory store with its history", answer_types=(ARCHIVE_TYPE,))
    def get(self, store_id: str, *, actor: Actor) -> FileResponse:
        with filled_spool() as spool:
            export = exports.export_store(store_id, spool, bytes_max=settings.ARCHIVE_BYTES_MAX, actor=actor)
        answer = file_answer(spool, content_type=ARCHIVE_TYPE, file_name=f"{export.store_id}.tar")
        answer["manifest-sha256"] = export.manifest_sha256
        return answer


class StoreImports(HubView):
    @operation(
        "memory_stores.import",
        "Import a memory store with its history",
        query=ImportQuery,
        raw_body=ARCHIVE_TYPE,
        answer=ImportShape,
    )
    def post(self, *, query: dict[str, Any], actor: Actor) -> dict[str, Any]:
        check_content_type(self.request, ARCHIVE_TYPE)
        with spool_body(self.request, bytes_max=settings.ARCHIVE_BYTES_MAX) as tar:
            imported = imports.import_store(
                tar, environment=query.get("environment"), name=query.get("name"), actor=actor
            )
        return import_wire(imported)
