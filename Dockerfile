# docker build -t accmap . && docker run --rm --network none -v "$PWD:/work:ro" accmap lint train.sh train.yaml
#
# A tag can be moved, a digest cannot: this is the index (amd64, arm64 and others) of python:3.12.14-slim-bookworm. For another
# one: docker buildx imagetools inspect python:3.12-slim-bookworm prints "Digest: sha256:…", --build-arg PYTHON_IMAGE=… takes it.
ARG PYTHON_IMAGE=python:3.12.14-slim-bookworm@sha256:0f5b26b9518d002b6173fd61daad821fa340635ebfec5bba471013f9ca114579

FROM ${PYTHON_IMAGE} AS build
ARG PYTHON_IMAGE
RUN case "$PYTHON_IMAGE" in \
    *@sha256:*) ;; \
    *) echo "warning: $PYTHON_IMAGE is a tag, which can be moved: give --build-arg PYTHON_IMAGE=python@sha256:..." >&2 ;; \
    esac
COPY . /source
# What is installed is locked with the digest of every file; accmap itself is built without reaching anything.
RUN pip download --no-cache-dir --only-binary :all: --require-hashes --dest /wheels --requirement /source/requirements/runtime.txt \
    && pip install --no-cache-dir --no-index --find-links /wheels --require-hashes --requirement /source/requirements/runtime.txt \
    && pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels /source

FROM ${PYTHON_IMAGE}
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels accmap && rm -r /wheels && useradd --create-home accmap
USER accmap
WORKDIR /work
ENTRYPOINT ["accmap"]
