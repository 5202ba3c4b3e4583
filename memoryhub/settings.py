"""The settings of a hub: one file. Every variable read here has its paragraph in docs/settings.md."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.utils.csp import CSP

from memoryhub import __version__, embedded
from memoryhub.database_pool import pool_options
from memoryhub.environ import (
    SettingError,
    decode_key,
    read_choice,
    read_flag,
    read_integer,
    read_list,
    read_text,
)
from memoryhub.private_origins import Network, parse_private_origins

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = embedded.data_folder()

# Secrets: made once in the data folder by `./hub up` (mode 0600), or given one by one.
SECRETS = embedded.read_secrets(DATA_DIR)


def _secret(name: str) -> str:
    value = read_text(f"MEMORYHUB_{name.upper()}") or SECRETS.get(name)
    if not value:
        raise SettingError(
            f"MEMORYHUB_{name.upper()} is not set and {DATA_DIR} holds no secrets: run ./hub up once, or set it."
        )
    return value


def _key(name: str) -> bytes | None:
    """32 bytes as base64; None when nobody gave one: what needs it then says so. Raises: SettingError."""
    text = read_text(f"MEMORYHUB_{name.upper()}") or SECRETS.get(name)
    return None if text is None else decode_key(f"MEMORYHUB_{name.upper()}", text)


SECRET_KEY = _secret("secret_key")
PARTITION_KEY = _key("partition_key")
CONTINUATION_KEY = _key("continuation_key")
# The first seals; the others only open what they sealed before.
ENCRYPTION_KEYS = [
    key
    for key in (
        _key("encryption_key"),
        *(
            decode_key("MEMORYHUB_ENCRYPTION_KEYS_OLD", text)
            for text in read_list("MEMORYHUB_ENCRYPTION_KEYS_OLD", [])
        ),
    )
    if key is not None
]


def _private_origins() -> Mapping[str, tuple[Network, ...]]:
    """Which origins may be reached although they are not public, and at which addresses. Raises: SettingError."""
    text = read_text("MEMORYHUB_EGRESS_PRIVATE_ORIGINS") or ""
    try:
        return parse_private_origins(text)
    except ValueError as error:
        raise SettingError(
            f"MEMORYHUB_EGRESS_PRIVATE_ORIGINS cannot be read ({error}): write ORIGIN=NETWORK,… with ; between origins."
        ) from error


EGRESS_PRIVATE_ORIGINS = _private_origins()
MEMORY_PROVIDERS = read_text("MEMORYHUB_MEMORY_PROVIDERS", "{}") or "{}"  # read by the room of providers
# What makes vectors of records, read by the same room; without it words alone rank. The percent is the vectors' part of a score.
EMBEDDING_BACKEND = read_text("MEMORYHUB_EMBEDDING_BACKEND")
EMBEDDING_OPTIONS = read_text("MEMORYHUB_EMBEDDING_OPTIONS", "{}") or "{}"
EMBEDDING_KEY = read_text("MEMORYHUB_EMBEDDING_KEY")
EMBEDDING_PERCENT = read_integer("MEMORYHUB_EMBEDDING_PERCENT", 40, minimum=0, maximum=100)

DEBUG = False
PORT = read_integer("PORT", 8000, minimum=1, maximum=65_535)


def _base_url() -> str:
    """Where the hub is reached. A command beside it was told no port: the hub has written its address down."""
    named = read_text("MEMORYHUB_BASE_URL")
    if not named and not read_text("PORT"):
        named = embedded.read_hub_url(DATA_DIR)
    return (named or f"http://127.0.0.1:{PORT}").rstrip("/")


BASE_URL = _base_url()
ALLOWED_HOSTS = read_list(
    "MEMORYHUB_ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]", embedded.host_of(BASE_URL)]
)
BEHIND_TLS = BASE_URL.startswith("https://")

# The MCP server: a process of its own beside the web server.
MCP_PORT = read_integer("MEMORYHUB_MCP_PORT", min(PORT + 1, 65_535), minimum=1, maximum=65_535)


def _mcp_url() -> str:
    """Where agents reach the MCP server: behind a proxy at the hub's own address, else at its own port."""
    named = read_text("MEMORYHUB_MCP_URL")
    host = embedded.host_of(named or BASE_URL, "MEMORYHUB_MCP_URL" if named else "MEMORYHUB_BASE_URL")
    return named or (f"{BASE_URL}/mcp" if BEHIND_TLS else f"http://{host}:{MCP_PORT}/mcp")


MCP_URL = _mcp_url()
MCP_ALLOWED_ORIGINS = read_list("MEMORYHUB_MCP_ALLOWED_ORIGINS", [])
MCP_THREADS = read_integer("MEMORYHUB_MCP_THREADS", 8, minimum=1, maximum=64)

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "drf_spectacular",
    "memoryhub",
    "stores",
    "providers",
    "authority",
]
MIDDLEWARE = [
    "memoryhub.middleware.RequestMiddleware",
    # above all that may refuse a request, so that refusals carry the headers too
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "memoryhub.middleware.HostMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "memoryhub.middleware.ConsoleSessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "memoryhub.middleware.ConsoleUserMiddleware",
    "memoryhub.middleware.ConsoleMessageMiddleware",
    "memoryhub.middleware.ConsoleMethodMiddleware",
]
ROOT_URLCONF = "memoryhub.urls"
WSGI_APPLICATION = "memoryhub.wsgi.application"
APPEND_SLASH = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "memoryhub.User"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.csp",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["memoryhub.templatetags.hub"],
        },
    }
]

# The database: PostgreSQL only. Pools need no connection age; health checks survive its restarts.
DATABASE_URL = read_text("DATABASE_URL")
DATABASE_POOL_SIZE = read_integer("MEMORYHUB_DATABASE_POOL_SIZE", 8, minimum=0, maximum=200)
STATEMENT_TIMEOUT_SECONDS = read_integer("MEMORYHUB_STATEMENT_TIMEOUT_SECONDS", 5, minimum=1, maximum=600)


def _database() -> dict[str, Any]:
    database = (
        embedded.parse_database_url(DATABASE_URL) if DATABASE_URL else embedded.database_settings(DATA_DIR)
    )
    options: dict[str, Any] = dict(database.pop("OPTIONS", {}))
    options["options"] = (
        f"-c statement_timeout={STATEMENT_TIMEOUT_SECONDS}s -c idle_in_transaction_session_timeout=60s"
    )
    options["application_name"] = "memoryhub"
    # A statement that a connection executes often is sent, parsed and planned once; its values travel apart.
    options |= {"server_side_binding": True, "prepare_threshold": 5}
    if DATABASE_POOL_SIZE:
        options["pool"] = pool_options(DATABASE_POOL_SIZE)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "CONN_HEALTH_CHECKS": True,
        "CONN_MAX_AGE": 0 if DATABASE_POOL_SIZE else 60,
        "OPTIONS": options,
        "TEST": {"NAME": "test_memoryhub"},
        **database,
    }


DATABASES = {"default": _database()}

# The queue: Redis or Valkey. Messages carry ids only; a lost broker costs time, not work.
REDIS_URL = read_text("REDIS_URL") or embedded.queue_url(DATA_DIR)
CELERY_BROKER_URL = (
    f"redis+socket://{REDIS_URL.removeprefix('unix://')}" if REDIS_URL.startswith("unix://") else REDIS_URL
)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_TIME_LIMIT = 600
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 900,
    "unacked_restore_interval": 1,
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
}
# Calls of other services have a worker of their own, so that one that hangs delays nothing of the hub's.
CELERY_TASK_ROUTES = {
    "providers.run_http_operation": {"queue": "providers"},
    "providers.send_recall": {"queue": "providers"},
    "memoryhub.send_webhook": {"queue": "providers"},
    "memoryhub.send_digest": {"queue": "providers"},
    "providers.sweep_effects": {"queue": "providers"},
    "providers.erase_partition": {"queue": "providers"},
    "providers.forget_aged": {"queue": "providers"},
    "providers.embed_records": {"queue": "providers"},
    "providers.sweep_vectors": {"queue": "providers"},
}
CELERY_BEAT_SCHEDULE = {
    "seal-audit": {"task": "memoryhub.seal_audit", "schedule": 1.0, "options": {"expires": 5}},
    "clear-expired": {"task": "memoryhub.clear_expired", "schedule": 3_600.0, "options": {"expires": 3_600}},
    "sweep-jobs": {"task": "memoryhub.sweep_jobs", "schedule": 5.0, "options": {"expires": 5}},
    "sweep-webhooks": {"task": "memoryhub.sweep_webhooks", "schedule": 2.0, "options": {"expires": 5}},
    "sweep-mails": {"task": "memoryhub.sweep_mails", "schedule": 10.0, "options": {"expires": 10}},
    "count-activity": {"task": "memoryhub.count_activity", "schedule": 2.0, "options": {"expires": 5}},
    "sweep-turns": {"task": "authority.sweep_turns", "schedule": 5.0, "options": {"expires": 5}},
    "settle-work": {"task": "stores.settle_work", "schedule": 10.0, "options": {"expires": 10}},
    "count-totals": {"task": "stores.count_totals", "schedule": 2.0, "options": {"expires": 5}},
    "sweep-retention": {"task": "stores.sweep_retention", "schedule": 60.0, "options": {"expires": 60}},
    "sweep-http-operations": {
        "task": "providers.sweep_http_operations",
        "schedule": 1.0,
        "options": {"expires": 5},
    },
    "sweep-effects": {"task": "providers.sweep_effects", "schedule": 5.0, "options": {"expires": 5}},
    "sweep-vectors": {"task": "providers.sweep_vectors", "schedule": 30.0, "options": {"expires": 30}},
    "clear-providers": {
        "task": "providers.clear_expired",
        "schedule": 3_600.0,
        "options": {"expires": 3_600},
    },
    "count-usage": {"task": "memoryhub.count_usage", "schedule": 60.0, "options": {"expires": 60}},
}

# Limits that an operator may move. The contracts' own limits are constants beside the code they bind.
KEY_REQUESTS_PER_MINUTE_MAX = read_integer(
    "MEMORYHUB_KEY_REQUESTS_PER_MINUTE_MAX", 30_000, minimum=0, maximum=10_000_000
)
ENVIRONMENTS_MAX = read_integer("MEMORYHUB_ENVIRONMENTS_MAX", 50, minimum=1, maximum=10_000)
MEMBERS_MAX = read_integer("MEMORYHUB_MEMBERS_MAX", 500, minimum=1, maximum=100_000)
KEYS_MAX = read_integer("MEMORYHUB_KEYS_MAX", 1_000, minimum=1, maximum=100_000)
STORES_MAX = read_integer("MEMORYHUB_STORES_MAX", 10_000, minimum=1, maximum=10_000_000)
VERSIONS_MAX = read_integer("MEMORYHUB_VERSIONS_MAX", 10_000_000, minimum=1, maximum=10_000_000_000)
VERSION_BYTES_MAX = read_integer("MEMORYHUB_VERSION_BYTES_MAX", 100_000_000_000, minimum=1, maximum=10**15)
# Long work: export, import and the like. Each that runs takes a thread of a worker, so fewer may run than it has.
JOBS_RUNNING_MAX = read_integer("MEMORYHUB_JOBS_RUNNING_MAX", 1, minimum=1, maximum=64)
JOBS_UNFINISHED_MAX = read_integer("MEMORYHUB_JOBS_UNFINISHED_MAX", 20, minimum=1, maximum=10_000)
JOB_FILE_BYTES_MAX = read_integer(
    "MEMORYHUB_JOB_FILE_BYTES_MAX", 2_147_483_648, minimum=1_024, maximum=10**13
)
JOB_FILE_HOURS = read_integer("MEMORYHUB_JOB_FILE_HOURS", 24, minimum=1, maximum=8_760)
# What is kept of calls to other services: the bytes that were sent, and then that and how they were.
HTTP_BODY_HOURS = read_integer("MEMORYHUB_HTTP_BODY_HOURS", 24, minimum=1, maximum=8_760)
HTTP_OPERATION_DAYS = read_integer("MEMORYHUB_HTTP_OPERATION_DAYS", 30, minimum=1, maximum=3_650)
SECRETS_MAX = read_integer("MEMORYHUB_SECRETS_MAX", 1_000, minimum=1, maximum=100_000)
# Notices to webhooks: in the air at once, of all that the workers of other services hold; then how long the log is kept.
WEBHOOKS_MAX = read_integer("MEMORYHUB_WEBHOOKS_MAX", 20, minimum=1, maximum=1_000)
WEBHOOK_SENDS_MAX = read_integer("MEMORYHUB_WEBHOOK_SENDS_MAX", 16, minimum=1, maximum=1_000)
WEBHOOK_DELIVERY_DAYS = read_integer("MEMORYHUB_WEBHOOK_DELIVERY_DAYS", 30, minimum=1, maximum=3_650)
# Mails about notices. Without a host nobody can ask for them.
MAIL_HOST = read_text("MEMORYHUB_EMAIL_HOST")
MAIL_PORT = read_integer("MEMORYHUB_EMAIL_PORT", 587, minimum=1, maximum=65_535)
MAIL_SECURITY = read_choice("MEMORYHUB_EMAIL_SECURITY", "starttls", ("starttls", "tls", "none"))
MAIL_USER = read_text("MEMORYHUB_EMAIL_USER")
MAIL_PASSWORD = read_text("MEMORYHUB_EMAIL_PASSWORD")
MAIL_FROM = read_text("MEMORYHUB_EMAIL_FROM") or f"memoryhub@{embedded.host_of(BASE_URL)}"
MAIL_MINUTES = read_integer("MEMORYHUB_EMAIL_MINUTES", 15, minimum=1, maximum=1_440)
DOCUMENTS_MAX = read_integer("MEMORYHUB_DOCUMENTS_MAX", 10_000, minimum=1, maximum=1_000_000)
ARCHIVE_BYTES_MAX = read_integer("MEMORYHUB_ARCHIVE_BYTES_MAX", 268_435_456, minimum=1_024, maximum=10**12)

PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
LOGIN_URL = "/sign-in"
SESSION_ENGINE = "memoryhub.session_store"
SESSION_COOKIE_AGE = 14 * 86_400
SESSION_COOKIE_NAME = "memoryhub_session"
CSRF_COOKIE_NAME = "memoryhub_csrf"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_TLS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_TRUSTED_ORIGINS = [BASE_URL]
CSRF_FAILURE_VIEW = "memoryhub.problems.csrf_failure"
SECURE_HSTS_SECONDS = 31_536_000 if BEHIND_TLS else 0
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
SECURE_CSP = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'", CSP.NONCE],  # only on pages whose template asks for one: those with the editor
    "img-src": ["'self'", "data:"],
    "connect-src": ["'self'"],
    "form-action": ["'self'"],
    "frame-ancestors": ["'none'"],
    "base-uri": ["'none'"],
}

REQUEST_BODY_BYTES_MAX = 1_048_576  # contract: stores 2.2
DATA_UPLOAD_MAX_MEMORY_SIZE = REQUEST_BODY_BYTES_MAX
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1_000
DATA_UPLOAD_MAX_NUMBER_FILES = 200  # a page that takes files says its own, lower limit
# A file of a form goes to the disk as it comes in; together they are no larger than the largest archive.
FILE_UPLOAD_HANDLERS = ["memoryhub.upload_handlers.SpoolUploadHandler"]
FORM_BYTES_MAX = ARCHIVE_BYTES_MAX + REQUEST_BODY_BYTES_MAX

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "memoryhub.static_files.HashedFiles"},
}

# Every view of the API is a memoryhub.api.HubView, which reads keys and bodies itself.
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "UNAUTHENTICATED_USER": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "MemoryHub",
    "DESCRIPTION": "What AI agents remember: memory stores with versions, preconditions, search and redaction.",
    "VERSION": __version__,
    "OAS_VERSION": "3.1.1",
    "SERVERS": [{"url": BASE_URL}],
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [],  # choices stay where they are used: shared ones would get made-up names
    "DISABLE_ERRORS_AND_WARNINGS": False,
}

LOG_LEVEL = read_choice("MEMORYHUB_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
LOGGING_CONFIG = "memoryhub.logs.configure"
LOGGING = {"level": LOG_LEVEL, "json": read_flag("MEMORYHUB_LOG_JSON", True)}
