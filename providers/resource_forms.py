"""The forms that declare memory: one resource, or a whole manifest."""

from typing import Any

from django import forms

from memoryhub.errors import InvalidRequest
from memoryhub.forms import add_refusal
from memoryhub.strict_json import StrictJSONError, parse
from providers.declarations import WRITE_POLICY_DEFAULT
from providers.deployments import DEFAULT_AGENT
from providers.limits import RESOURCE_BYTES_DEFAULT, RESOURCE_BYTES_MAX, RESOURCE_ID_LENGTH_MAX

DOCUMENT, HTTP, RECORDS = "document", "http", "records"
KIND_CHOICES = [
    (DOCUMENT, "Documents, which this hub keeps"),
    (HTTP, "A memory of another service, over HTTP"),
    (RECORDS, "Records: what an agent learnt of each of its users, by tools"),
]
WRITE_CHOICES = [
    ("ask", "Wait until a person approves them"),
    ("allow_principal", "Are done when the user's own words led to them, else wait"),
    ("allow", "Are done"),
    ("deny", "Are refused"),
]
_PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
# The part of a declaration that a problem is about -> the field that shows it.
_FIELDS = {
    "id": "id",
    "description": "description",
    "maxBytes": "bytes_max",
    "origin": "origin",
    "path": "path",
    "secret": "secret",
    "memoryWrite": "memory_write",
}


class JsonField(forms.CharField):
    """Strict JSON, as a body of the API is read."""

    def __init__(self, **options: Any) -> None:
        widget = forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "class": "machine"})
        super().__init__(strip=False, widget=widget, **options)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        try:
            return parse(text.encode()) if text.strip() else None
        except (StrictJSONError, UnicodeEncodeError) as error:
            raise forms.ValidationError(f"This is not JSON as the hub reads it: {error}.") from error


class ResourceForm(forms.Form):
    """`memory_write`: of records only; `origin` and on: of another service only. `acknowledge`: shown once the endpoint would change."""

    kind = forms.ChoiceField(label="What it is", choices=KIND_CHOICES, widget=forms.RadioSelect)
    id = forms.CharField(
        label="Id",
        help_text="Lowercase letters, digits and single hyphens, such as playbook. It is kept for ever.",
        max_length=RESOURCE_ID_LENGTH_MAX,
        widget=forms.TextInput(attrs=_PLAIN),
        error_messages={"required": "Give the resource an id."},
    )
    description = forms.CharField(
        label="Description",
        help_text="What it holds, and when to use it. Models read this with their tools.",
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": "Say what it holds: models read this."},
    )
    bytes_max = forms.IntegerField(
        label="Bytes at most",
        help_text=f"Of each text that a model is given: 1 to {RESOURCE_BYTES_MAX:,}. A document may be no longer.",
        min_value=1,
        max_value=RESOURCE_BYTES_MAX,
        initial=RESOURCE_BYTES_DEFAULT,
    )
    memory_write = forms.ChoiceField(
        label="A model's writes", choices=WRITE_CHOICES, initial=WRITE_POLICY_DEFAULT, required=False
    )
    origin = forms.CharField(
        label="Origin of the service",
        help_text="Such as https://memory.example.com: TLS and a name, nothing behind it.",
        required=False,
        widget=forms.TextInput(attrs=_PLAIN),
    )
    path = forms.CharField(
        label="Path", required=False, initial="/memory", widget=forms.TextInput(attrs=_PLAIN)
    )
    secret = forms.CharField(
        label="Secret",
        help_text="The name of a secret that is sent as a bearer token, such as MEMORY_TOKEN. May be left empty.",
        required=False,
        widget=forms.TextInput(attrs=_PLAIN),
    )
    tools = JsonField(
        label="Tools",
        help_text="A list, at most 8: name, description, access (read or write), idempotent and input, a JSON Schema.",
        required=False,
    )
    acknowledge = forms.BooleanField(label="Move it to the new endpoint, without its data", required=False)

    http_names = ("origin", "path", "secret", "tools")

    def __init__(self, *args: Any, kind: str | None = None, **options: Any) -> None:
        """`kind`: of a resource that is there, whose kind and id stay."""
        super().__init__(*args, **options)
        self.declared_kind = kind
        if kind is not None:
            del self.fields["kind"], self.fields["id"]
        unused = {DOCUMENT: ("memory_write", *self.http_names), HTTP: ("memory_write",)}
        unused[RECORDS] = ("bytes_max", *self.http_names)
        for name in unused.get(kind or "", ()):
            del self.fields[name]
        self.asks_acknowledgement = False

    @property
    def own_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("kind", "id", "description", "bytes_max") if name in self.fields]

    @property
    def record_fields(self) -> list[forms.BoundField]:
        return [self["memory_write"]] if "memory_write" in self.fields else []

    @property
    def http_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.http_names if name in self.fields]

    def declared(self, resource_id: str | None, connection: dict[str, Any] | None) -> dict[str, Any]:
        """`{"resource", "connection"}` for the verb. `connection`: the one in force, of which the rest stays."""
        typed = self.cleaned_data
        kind = self.declared_kind or typed["kind"]
        id_ = resource_id or typed["id"]
        provider: dict[str, Any] = {"kind": kind}
        if kind == RECORDS:
            provider["memoryWrite"] = typed["memory_write"] or WRITE_POLICY_DEFAULT
        else:
            provider["maxBytes"] = typed["bytes_max"]
        declared: dict[str, Any] = {
            "resource": {"id": id_, "description": typed["description"], "provider": provider},
            "connection": None,
        }
        if kind == HTTP:
            base = connection or {"id": id_, "methods": ["POST"], "headers": {}}
            provider |= {"connection": base["id"], "path": typed["path"], "tools": typed["tools"] or []}
            declared["connection"] = base | {"origin": typed["origin"], "headers": self._headers(base)}
        return declared

    def _headers(self, base: dict[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in base.get("headers", {}).items() if name != "Authorization"}
        secret = self.cleaned_data["secret"]
        return kept | ({"Authorization": {"secret": secret, "prefix": "Bearer "}} if secret else {})

    def refuse(self, error: InvalidRequest) -> None:
        """Each problem of a declaration beside its field."""
        for problem in error.facts.get("problems", []):
            self._add_problem(problem["pointer"], problem["message"])
        if not error.facts.get("problems"):
            add_refusal(self, error)

    def _add_problem(self, pointer: str, message: str) -> None:
        name = "tools" if "/tools" in pointer else _FIELDS.get(pointer.rpartition("/")[2], "")
        is_shown = name in self.fields
        self.add_error(name if is_shown else None, message if is_shown else f"{pointer}: {message}")


class DeploymentForm(forms.Form):
    agent_id = forms.RegexField(
        r"^[a-z0-9]+(?:-[a-z0-9]+)*\Z",
        label="Agent",
        help_text="Lowercase letters, digits and single hyphens.",
        max_length=RESOURCE_ID_LENGTH_MAX,
        initial=DEFAULT_AGENT,
        widget=forms.TextInput(attrs=_PLAIN),
        error_messages={"invalid": "An agent's id is lowercase letters, digits and single hyphens inside."},
    )
    manifest = JsonField(
        label="Manifest",
        help_text="Its memory, connections and ordinaryTools, as JSON.",
        error_messages={"required": "Give the manifest."},
    )

    def refuse(self, error: InvalidRequest) -> None:
        problems = error.facts.get("problems", [])
        for problem in problems:
            self.add_error("manifest", f"{problem['pointer'] or 'At its top'}: {problem['message']}")
        if not problems:
            add_refusal(self, error, field="manifest")
