# The daemon in a container. A new container ends its agents: holders live in the process tree of the old one.
FROM python:3.11-slim-bookworm AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --wheel-dir /wheels ".[openai,openclaw,otel]"

FROM python:3.11-slim-bookworm
# tini reaps the processes that agents leave; git is what agents work with.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends tini git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --shell /bin/bash betcode
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels "betcode[openai,openclaw,otel]" && rm -rf /wheels
USER betcode
WORKDIR /home/betcode
VOLUME /home/betcode
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["betcode", "daemon", "run"]
HEALTHCHECK --interval=30s --timeout=10s --retries=3 CMD ["betcode", "daemon", "health"]
