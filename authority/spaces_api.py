"""The REST door of spaces."""

from typing import Any

from django.http import FileResponse

from authority import space_archives, space_history, spaces
from authority.canonical import parse
from authority.failures import ValidationTypeError
from authority.graph import HeadReference, find_reference, parse_change
from authority.limits import (
    CODE_LENGTH_MAX,
    FEED_OPERATIONS_DEFAULT,
    FEED_OPERATIONS_MAX,
    OPERATION_BYTES_MAX,
)
from authority.ports import Commit
from authority.views import JSON_TYPE, SpaceView, list_request, read_json
from authority.wires import space_wire
from memoryhub.actors import Actor
from memoryhub.api import HubView, operation
from memoryhub.errors import InvalidRequest
from memoryhub.fields import Choice, Integer, Sha256, StrictSerializer, Text
from memoryhub.shapes import PageQuery
from memoryhub.spools import file_answer, filled_spool

type Values = dict[str, Any]

ARCHIVE_TYPE = "application/x-tar"
COMMIT_LABEL = "The commit request"
_COMMIT = {"actorId", "changes", "expectedHead", "operationId", "v"}
_COMMIT_MORE = {"instant", "maximumOperationBytes"}
SEQUENCE_MAX = 2**53 - 1


def _code() -> Text:
    return Text(length_min=1, length_max=CODE_LENGTH_MAX)


def _sequence(**options: Any) -> Integer:
    return Integer(min_value=0, max_value=SEQUENCE_MAX, **options)


class CreateSpaceBody(StrictSerializer):
    spaceId = _code()
    realmId = _code()
    profileKind = Choice(choices=["canonical", "working"])
    authorityId = _code()
    environment = Text(length_min=1, length_max=64, required=False)


class HeadQuery(StrictSerializer):
    sequence = _sequence(required=False)
    operation = Sha256(required=False)


class ChangesQuery(StrictSerializer):
    from_sequence = _sequence()
    from_operation = Sha256(required=False)
    through_sequence = _sequence(required=False)
    through_operation = Sha256(required=False)
    limit = Integer(min_value=1, max_value=FEED_OPERATIONS_MAX, required=False)


class PurgeBody(StrictSerializer):
    expectedSequence = _sequence()


class Spaces(HubView):
    @operation("spaces.create", "Create a space of reviewed or of working memory", body=CreateSpaceBody)
    def post(self, *, body: Values, actor: Actor) -> Values:
        space = spaces.create_space(
            body["spaceId"],
            realm_id=body["realmId"],
            profile_kind=body["profileKind"],
            authority_id=body["authorityId"],
            environment=body.get("environment"),
            actor=actor,
        )
        return space_wire(space)

    @operation("spaces.list", "List spaces", query=PageQuery)
    def get(self, *, query: Values, actor: Actor) -> Values:
        return spaces.list_spaces(list_request("spaces", query, actor=actor), actor=actor).as_wire(space_wire)


class Space(SpaceView):
    @operation("spaces.get", "Get a space with its binding and its head")
    def get(self, space_id: str, *, actor: Actor) -> Values:
        return space_wire(spaces.get_space(space_id, actor=actor))


class SpaceHead(SpaceView):
    @operation("spaces.head", "Get the head of a space")
    def get(self, space_id: str, *, actor: Actor) -> Values:
        return spaces.get_space(space_id, actor=actor).head.as_wire()


class SpaceSnapshot(SpaceView):
    @operation("spaces.snapshot", "Get all records of a space at one of its heads", query=HeadQuery)
    def get(self, space_id: str, *, query: Values, actor: Actor) -> Values:
        space = spaces.get_space(space_id, actor=actor)
        reference = _reference(query.get("sequence"), query.get("operation"))
        return space_history.read_snapshot_wire(space.id, reference)


class SpaceChanges(SpaceView):
    @operation("spaces.changes", "Get the operations of a space after one of its heads", query=ChangesQuery)
    def get(self, space_id: str, *, query: Values, actor: Actor) -> Values:
        space = spaces.get_space(space_id, actor=actor)
        start = spaces.head_reference(query["from_sequence"], query.get("from_operation"))
        feed = space_history.read_changes(
            space.id,
            start,
            limit=query.get("limit", FEED_OPERATIONS_DEFAULT),
            through=_reference(query.get("through_sequence"), query.get("through_operation")),
        )
        return feed.as_wire()


def _reference(sequence: int | None, operation_sha256: str | None) -> HeadReference | None:
    """None: the current head."""
    if sequence is None:
        if operation_sha256 is not None:
            raise InvalidRequest("sequence: An operation is named with its sequence.")
        return None
    return spaces.head_reference(sequence, operation_sha256)


class SpaceArchive(SpaceView):
    @operation(
        "spaces.export",
        "Export the records at a head as the archive of a store",
        query=HeadQuery,
        answer_types=(ARCHIVE_TYPE,),
    )
    def get(self, space_id: str, *, query: Values, actor: Actor) -> FileResponse:
        reference = _reference(query.get("sequence"), query.get("operation"))
        with filled_spool() as spool:
            head, manifest_sha256 = space_archives.export_space(space_id, reference, spool, actor=actor)
        name = f"{space_id}-at-{head.sequence}.tar"
        answer = file_answer(spool, content_type=ARCHIVE_TYPE, file_name=name)
        answer["manifest-sha256"] = manifest_sha256
        return answer


class SpaceCommit(SpaceView):
    @operation("spaces.commit", "Commit one operation to a space", raw_body=JSON_TYPE)
    def post(self, space_id: str, *, actor: Actor) -> Values:
        spaces.get_space(space_id, actor=actor)
        value = read_json(self.request, label=COMMIT_LABEL, bytes_max=OPERATION_BYTES_MAX)
        made = spaces.commit_to_space(space_id, read_commit(value), actor=actor)
        wire: Values = parse(made.text)
        return wire


def read_commit(value: Any) -> Commit:
    """Raises: ValidationTypeError, CapacityError."""
    if type(value) is not dict or not _COMMIT <= value.keys() <= _COMMIT | _COMMIT_MORE:
        raise ValidationTypeError("Invalid commit request.")
    if type(value["v"]) is not int or value["v"] != 1 or type(value["changes"]) is not list:
        raise ValidationTypeError("Invalid commit request.")
    expected = find_reference(value["expectedHead"])
    if expected is None:
        raise ValidationTypeError("Invalid expected head.")
    return Commit(
        actor_id=value["actorId"],
        operation_id=value["operationId"],
        changes=tuple(parse_change(change) for change in value["changes"]),
        expected=expected,
        instant=value.get("instant"),
        operation_bytes_max=value.get("maximumOperationBytes", OPERATION_BYTES_MAX),
    )


class SpaceVerify(SpaceView):
    @operation("spaces.verify", "Replay a space from its first operation")
    def post(self, space_id: str, *, actor: Actor) -> Values:
        space, faults = spaces.verify_space(space_id, actor=actor)
        return {"head": space.head.as_wire(), "isIntact": not faults, "faults": faults}


class SpacePurge(SpaceView):
    @operation("spaces.purge", "Empty a working space for good", body=PurgeBody)
    def post(self, space_id: str, *, body: Values, actor: Actor) -> Values:
        space = spaces.purge_space(space_id, expected_sequence=body["expectedSequence"], actor=actor)
        return space_wire(space)
