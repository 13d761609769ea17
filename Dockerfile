# Assay in a container. In a clone:
#
#     docker build -t assay .
#     docker run --rm -v "$PWD:/work" assay                    the demo, with its report in assay-demo/
#     docker run --rm -v "$PWD:/work" assay run cases.jsonl …  any other command
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
COPY constraints.txt /tmp/constraints.txt
COPY --from=build /wheels /tmp/wheels
RUN python -m pip install --no-cache-dir -c /tmp/constraints.txt "$(echo /tmp/wheels/*.whl)[compiled]" && rm -r /tmp/wheels
RUN useradd --create-home --uid 1000 assay && install --directory --owner=assay /work
USER assay
WORKDIR /work
ENTRYPOINT ["assay"]
CMD ["demo"]
