"""`./hub memory list|show|create|edit|freeze|unfreeze|remove|export`: documents from the hub's own machine.

Source: contract of document and HTTP memory, section 8.5. Each acts as the project's first owner.
"""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memoryhub.actors import Actor
from memoryhub.commands import get_project_named, one_sentence, operator_actor
from memoryhub.pagination import ListRequest
from providers import document_exports, documents
from providers.document_serializers import document_item_wire, document_wire
from providers.documents import Document

ENVIRONMENT_DEFAULT = "development"  # contract: 8.5
PAGE = 100


class Command(BaseCommand):
    help = "List, show, create, edit, freeze, unfreeze, remove or export documents."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        for name, add in _ARGUMENTS.items():
            action = actions.add_parser(name)
            action.add_argument("--project", required=True, help="name or id")
            action.add_argument("--environment", default=ENVIRONMENT_DEFAULT, help="name or id")
            action.add_argument("--json", action="store_true", help="answer with JSON")
            add(action)

    def handle(self, *args: Any, **options: Any) -> None:
        actor = operator_actor(get_project_named(options["project"]))
        with one_sentence():
            _ACTIONS[options["action"]](self, options, actor)

    def show(self, document: Document, *, as_json: bool, with_text: bool = False) -> None:
        if as_json:
            facts = document_wire(document) if with_text else document_item_wire(document)
            self.stdout.write(json.dumps(facts, ensure_ascii=False))
        elif with_text:
            self.stdout.write(document.text, ending="")
        else:
            frozen = "" if document.card.agent_writes else "  frozen"
            self.stdout.write(f"{document.id}  {document.revision}  {document.card.title}{frozen}")


def _document(parser: ArgumentParser) -> None:
    parser.add_argument("resource")
    parser.add_argument("document_id")


def _resource(parser: ArgumentParser) -> None:
    parser.add_argument("resource")


def _text(parser: ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--text-file", help="a file that holds the text")
    group.add_argument("--text-stdin", action="store_true", help="read the text from standard input")
    parser.add_argument("--summary")


def _create(parser: ArgumentParser) -> None:
    _document(parser)
    parser.add_argument("--title", required=True)
    parser.add_argument("--frozen", action="store_true", help="agents may not write it")
    _text(parser)


def _edit(parser: ArgumentParser) -> None:
    _document(parser)
    parser.add_argument("--title")
    _text(parser)


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("--out", required=True, help="a folder that is made")
    parser.add_argument("--resource", action="append", default=[], help="may be given several times")


_ARGUMENTS = {
    "list": _resource,
    "show": _document,
    "create": _create,
    "edit": _edit,
    "freeze": _document,
    "unfreeze": _document,
    "remove": _document,
    "export": _export,
}


def _read_text(options: dict[str, Any]) -> str | None:
    """Raises: CommandError."""
    if options["text_stdin"]:
        raw = sys.stdin.buffer.read()
    elif options["text_file"]:
        try:
            raw = Path(options["text_file"]).read_bytes()
        except OSError as error:
            raise CommandError(f"{options['text_file']} cannot be read: {error.strerror}.") from error
    else:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise CommandError("The text is not valid UTF-8.") from error


def _get(options: dict[str, Any], actor: Actor) -> Document:
    return documents.get_document(
        options["environment"], options["resource"], options["document_id"], actor=actor
    )


def _list_documents(command: Command, options: dict[str, Any], actor: Actor) -> None:
    page = None
    while True:
        wanted = ListRequest("command.memory", {}, PAGE, page)
        cut = documents.list_documents(options["environment"], options["resource"], wanted, actor=actor)
        for document in cut.rows:
            command.show(document, as_json=options["json"])
        page = cut.next_page
        if page is None:
            return


def _show(command: Command, options: dict[str, Any], actor: Actor) -> None:
    command.show(_get(options, actor), as_json=options["json"], with_text=True)


def _create_document(command: Command, options: dict[str, Any], actor: Actor) -> None:
    document = documents.create_document(
        options["environment"],
        options["resource"],
        options["document_id"],
        title=options["title"],
        text=_read_text(options) or "",
        summary=options["summary"] or "",
        agent_writes=not options["frozen"],
        actor=actor,
    )
    command.show(document, as_json=options["json"])


def _edit_document(command: Command, options: dict[str, Any], actor: Actor) -> None:
    document, text = _get(options, actor), _read_text(options)
    place = (options["environment"], options["resource"], options["document_id"])
    if text is None and options["summary"] is None and options["title"] is None:
        raise CommandError("Give --title, --summary, --text-file or --text-stdin.")
    if text is not None or options["summary"] is not None:
        document = documents.replace_document(
            *place,
            text=document.text if text is None else text,
            summary=options["summary"],
            expected_revision=document.revision,
            actor=actor,
        )
    if options["title"] is not None:
        document = documents.change_card(
            *place,
            title=options["title"],
            agent_writes=None,
            expected_revision=document.revision,
            actor=actor,
        )
    command.show(document, as_json=options["json"])


def _set_policy(command: Command, options: dict[str, Any], actor: Actor) -> None:
    document = documents.change_card(
        options["environment"],
        options["resource"],
        options["document_id"],
        title=None,
        agent_writes=options["action"] == "unfreeze",
        expected_revision=_get(options, actor).revision,
        actor=actor,
    )
    command.show(document, as_json=options["json"])


def _remove(command: Command, options: dict[str, Any], actor: Actor) -> None:
    documents.delete_document(
        options["environment"],
        options["resource"],
        options["document_id"],
        expected_revision=_get(options, actor).revision,
        actor=actor,
    )
    command.stderr.write(f"{options['document_id']} is removed; its id is never used again.")


def _export_documents(command: Command, options: dict[str, Any], actor: Actor) -> None:
    """One file a document, `<resource>/<id>.json`. Ids are letters, digits, _ and -, so they are names of files."""
    out, count = Path(options["out"]), 0
    for resource in document_exports.find_exported(options["environment"], options["resource"], actor=actor):
        folder = out / resource.resource_id
        folder.mkdir(parents=True, exist_ok=True)
        for document in document_exports.read_documents(resource):
            text = json.dumps(document_wire(document), ensure_ascii=False, indent=2)
            (folder / f"{document.id}.json").write_text(text + "\n", encoding="utf-8")
            count += 1
    command.stderr.write(f"{count} documents are written to {out}.")


_ACTIONS = {
    "list": _list_documents,
    "show": _show,
    "create": _create_document,
    "edit": _edit_document,
    "freeze": _set_policy,
    "unfreeze": _set_policy,
    "remove": _remove,
    "export": _export_documents,
}
