"""How long it takes to score and report the selections of a large run.

    python benchmarks/selections.py [--cases N] [--terms N] [--codes N]

Makes 10,000 cases with 200 terms each, writes them as JSON Lines, and runs the whole job: read cases and answers, score
them, keep the run, write the workbook. Reads the first twenty of them from YAML in the method's own shape, too: without
a bound, as it is for what people write. Before, loads a code list of 100,000 codes, and looks codes up in it and in one
of 1,000. Everything is in one process, so the peak memory is that of all of it. Exits with 1 where scoring and the
reports take 20 s or more, or where a look-up in the large list takes more than twice as long as in the small one.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from assay import evaluate_selections
from assay.cases.sdmx.format import SdmxFormat
from assay.model import FieldNames
from assay.sdmx.structures.load import load_structures

BOUND_S = 20.0
LOOK_UP_BOUND = 2.0
IN_YAML = 20
DIMENSIONS = ("INDICATOR", "COUNTRY", "SECTOR", "UNIT")
NAME = "A name of usual length of the code number {}, in percent"


def case(chance: random.Random, number: int, terms: int) -> tuple[dict[str, object], dict[str, object]]:
    """One made-up case and its answer, right in nine terms of ten."""
    each = terms // len(DIMENSIONS)
    target, selected = [], []
    for dimension in DIMENSIONS:
        codes = chance.sample(range(400), each + each // 10)
        values = [{"id": f"{dimension[:3]}{code}", "name": NAME.format(code)} for code in codes]
        target.append({"dimension_name": dimension, "values": values[:each]})
        selected.append({"dimension_name": dimension, "values": values[each // 10 :]})
    dataset = "IMF.RES:WEO"
    made = {
        "id": f"case-{number}",
        "name": f"case_{number}",
        "tags": ["imf", f"group-{number % 20}"],
        "conversation": [
            {
                "role": "user",
                "content": f"Could you give me the numbers of question {number}?",
                "target": {"indicator_selection": [{"dataset_id": dataset, "dimensions": target}]},
            }
        ],
    }
    return made, {"id": f"case-{number}", "indicator_selection": [{"dataset_id": dataset, "dimensions": selected}]}


def yaml_of(made: dict[str, object]) -> Iterator[str]:
    """The case as authors write it."""
    (message,) = made["conversation"]  # type: ignore[misc]
    (dataset,) = message["target"]["indicator_selection"]
    yield f"- id: {made['id']}\n  name: {made['name']}\n  tags:\n"
    yield from (f"  - {tag}\n" for tag in made["tags"])  # type: ignore[attr-defined]
    yield f"  comments: ''\n  conversation:\n  - role: user\n    content: {message['content']}\n    target:\n"
    yield f"      indicator_selection:\n      - dataset_id: {dataset['dataset_id']}\n        dimensions:\n"
    for dimension in dataset["dimensions"]:
        yield f"        - dimension_name: {dimension['dimension_name']}\n          values:\n"
        for value in dimension["values"]:
            yield f"          - id: {value['id']}\n            name: {value['name']}\n"


def write(folder: Path, cases: int, terms: int) -> None:
    """The files of the run."""
    chance = random.Random(1)
    with (
        (folder / "cases.yaml").open("w", encoding="utf-8") as yaml,
        (folder / "cases.jsonl").open("w", encoding="utf-8") as lines,
        (folder / "answers.jsonl").open("w", encoding="utf-8") as answers,
    ):
        for number in range(cases):
            made, answer = case(chance, number, terms)
            if number < IN_YAML:
                yaml.writelines(yaml_of(made))
            lines.write(json.dumps(made) + "\n")
            answers.write(json.dumps(answer) + "\n")


def read_yaml(folder: Path) -> None:
    """Read the few cases in YAML."""
    path = folder / "cases.yaml"
    started = time.perf_counter()
    cases = SdmxFormat().cases(path, FieldNames())
    seconds, size = time.perf_counter() - started, path.stat().st_size / 1e6
    print(f"{len(cases)} cases in YAML ({size:.1f} MB): read in {seconds:.1f} s, {size / seconds:.2f} MB/s")


def whole_job(folder: Path, name: str) -> float:
    """Read, score, keep, report; the seconds that all of it takes."""
    marks: list[float] = []
    started = time.perf_counter()
    run = evaluate_selections(
        folder / name,
        folder / "answers.jsonl",
        output=folder / f"run-{Path(name).suffix[1:]}",
        on_progress=lambda _: marks.append(time.perf_counter()),
    )
    kept = time.perf_counter()
    run.report(folder / f"{name}.xlsx")
    done = time.perf_counter()
    size = (folder / name).stat().st_size / 1e6
    print(
        f"{name} ({size:.0f} MB): read {marks[0] - started:.1f} s, score and keep {kept - marks[0]:.1f} s, "
        f"workbook {done - kept:.1f} s; in all {done - started:.1f} s"
    )
    return done - marks[0]


def code_list(folder: Path, codes: int) -> Path:
    """SDMX-ML of a dataset with one dimension of so many codes."""
    space = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"
    listed = "".join(
        f'<s:Code id="C{number}"><c:Name xml:lang="en">Code {number}</c:Name></s:Code>' for number in range(codes)
    )
    reference = '<Ref id="{}" agencyID="X" version="1.0" class="{}" package="{}"/>'
    path = folder / f"codes-{codes}.xml"
    path.write_text(
        f"""<?xml version="1.0" encoding="UTF-8"?>
<m:Structure xmlns:m="{space}/message" xmlns:s="{space}/structure" xmlns:c="{space}/common">
<m:Header><m:ID>x</m:ID><m:Test>false</m:Test><m:Prepared>2020-01-01T00:00:00</m:Prepared><m:Sender id="x"/></m:Header>
<m:Structures>
<s:Dataflows><s:Dataflow id="D" agencyID="X" version="1.0"><c:Name xml:lang="en">d</c:Name><s:Structure>
{reference.format("DSD", "DataStructure", "datastructure")}</s:Structure></s:Dataflow></s:Dataflows>
<s:Codelists><s:Codelist id="CL" agencyID="X" version="1.0"><c:Name xml:lang="en">cl</c:Name>{listed}</s:Codelist>
</s:Codelists>
<s:DataStructures><s:DataStructure id="DSD" agencyID="X" version="1.0"><c:Name xml:lang="en">dsd</c:Name>
<s:DataStructureComponents><s:DimensionList id="DimensionDescriptor"><s:Dimension id="AREA" position="1">
<s:LocalRepresentation><s:Enumeration>{reference.format("CL", "Codelist", "codelist")}</s:Enumeration>
</s:LocalRepresentation></s:Dimension></s:DimensionList></s:DataStructureComponents></s:DataStructure></s:DataStructures>
</m:Structures></m:Structure>""",
        encoding="utf-8",
    )
    return path


def look_ups(folder: Path, codes: int) -> float:
    """Seconds for 200,000 look-ups in a list of so many codes."""
    started = time.perf_counter()
    structures = load_structures([code_list(folder, codes)])
    loaded = time.perf_counter() - started
    chance = random.Random(1)
    wanted = [f"C{chance.randrange(codes)}" for _ in range(1000)] * 200
    started = time.perf_counter()
    for code in wanted:
        dataset = structures.dataset("X:D")
        dimension = dataset.dimension("AREA") if dataset is not None else None
        if dimension is None or dimension.codes is None or dimension.codes.names[code] is None:
            raise SystemExit(f"{code} was not found")
    seconds = time.perf_counter() - started
    print(f"{codes:,} codes: loaded in {loaded:.1f} s; 200,000 look-ups in {seconds * 1000:.0f} ms")
    return seconds


def main() -> int:
    """All of it; the exit status says whether the bounds held."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--terms", type=int, default=200)
    parser.add_argument("--codes", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-") as made:
        folder = Path(made)
        small, large = look_ups(folder, 1_000), look_ups(folder, options.codes)
        print(f"look-up in the large list: {large / small:.2f} times that in the small one (bound {LOOK_UP_BOUND:g})")
        write(folder, options.cases, options.terms)
        read_yaml(folder)
        job = whole_job(folder, "cases.jsonl")
        print(f"score, keep and report: {job:.1f} s (bound {BOUND_S:g} s)")
        print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")
    return int(job >= BOUND_S or large / small > LOOK_UP_BOUND)


if __name__ == "__main__":
    sys.exit(main())
