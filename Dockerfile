# The hub's image: web, worker, clock and migrations are commands of the same one. See docker-compose.yml.
FROM python:3.13-slim AS packages
WORKDIR /app
ARG LOCK=requirements-server.lock
COPY requirements-server.lock requirements-semantic.lock ./
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r ${LOCK} \
    && find /venv -name __pycache__ -type d -prune -exec rm -rf {} +

FROM python:3.13-slim
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    DJANGO_SETTINGS_MODULE=memoryhub.settings \
    MEMORYHUB_DATA_DIR=/data \
    MEMORYHUB_BIND_HOST=0.0.0.0
RUN useradd --system --uid 10001 --home-dir /data --no-create-home memoryhub \
    && install -d -o memoryhub -g memoryhub -m 0700 /data
WORKDIR /app
COPY --from=packages /venv /venv
COPY manage.py pyproject.toml README.md ./
COPY memoryhub memoryhub
COPY stores stores
COPY providers providers
COPY authority authority
COPY templates templates
COPY static static
COPY docs docs
RUN python -m compileall -q memoryhub stores providers authority
USER memoryhub
VOLUME /data
EXPOSE 8000 8001
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ.get(\"PORT\", 8000)}/readyz', timeout=2)"]
# Alone it is a whole hub: the embedded PostgreSQL and queue live in /data.
CMD ["python", "-m", "memoryhub.supervisor"]
