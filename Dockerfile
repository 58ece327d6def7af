# docker build -t accmap . && docker run --rm -v "$PWD:/work" accmap lint train.sh train.yaml
FROM python:3.11-slim AS build
COPY . /source
RUN pip wheel --no-cache-dir --wheel-dir /wheels /source

FROM python:3.11-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels accmap && rm -r /wheels && useradd --create-home accmap
USER accmap
WORKDIR /work
ENTRYPOINT ["accmap"]
