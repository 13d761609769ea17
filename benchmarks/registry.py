"""Everything that is measured, each line with its bound. To add one: a `Line` here, its value where it is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module

from benchmarks.frame import Line, Measurement, Setup


def _measured_by(where: str, setup: Setup) -> Mapping[str, float]:
    """What the function ``module:function`` measures. It is imported when it is called: listing loads nothing."""
    module, _, name = where.partition(":")
    found: Mapping[str, float] = getattr(import_module(f"benchmarks.measurements.{module}"), name)(setup)
    return found


def _lazily(where: str) -> Callable[[Setup], Mapping[str, float]]:
    return partial(_measured_by, where)


def _read(name: str, what: str, *, seconds: float | None = None, ratio: float | None = None) -> tuple[Line, ...]:
    """What is measured of one thing that reads a stored run."""
    return (
        Line(name=f"reading.{name}", what=what, unit="s", bound=seconds),
        Line(name=f"reading.{name}_ratio", what=f"{what} / `json.loads`", unit="times", bound=ratio),
        Line(name=f"reading.{name}_memory", what=f"{what}, memory", unit="MB", bound=300),
    )


MEASUREMENTS: tuple[Measurement, ...] = (
    Measurement(
        name="spider",
        title="Spider's development set, 1,034 questions, all built-in metrics",
        run=_lazily("spider:against_the_floor"),
        lines=(
            Line(
                name="spider.evaluation",
                what="scoring with causes / executing each distinct query once in one process",
                unit="times",
                bound=3.5,
            ),
            Line(name="spider.metrics", what="the same without causes", unit="times", bound=1.8),
        ),
    ),
    Measurement(
        name="command",
        title="`assay run` on the same, compared with a script that executes and compares sets of rows",
        run=_lazily("spider:whole_command"),
        lines=(
            Line(name="command.wall", what="elapsed time", unit="s", bound=0.85),
            Line(name="command.cpu", what="processor time of all processes", unit="s", bound=1.5),
            Line(name="command.script_wall", what="elapsed time / script", unit="times", bound=4.5),
            Line(name="command.script_cpu", what="processor time / script", unit="times", bound=8),
            Line(
                name="command.one_case",
                what="a run of one case (imports, start, report), share of the processor time",
                unit="%",
                bound=8,
            ),
        ),
    ),
    Measurement(
        name="outcome",
        title="One case of Spider's development set in one worker, with causes",
        run=_lazily("spider:by_outcome"),
        lines=(
            Line(name="outcome.correct", what="processor time, correct prediction", unit="ms", bound=0.4),
            Line(name="outcome.incorrect", what="processor time, incorrect prediction", unit="ms", bound=4),
        ),
    ),
    Measurement(
        name="counted",
        title="The same in one process, counted (independent of other work on the machine)",
        run=_lazily("spider:counted"),
        lines=(
            Line(name="spider.calls", what="function calls per case", unit="calls"),
            Line(name="spider.allocated", what="peak memory of Python objects, 300 cases", unit="MiB"),
        ),
    ),
    Measurement(
        name="instructions",
        title="Processor instructions per case in one process, with causes, counted by valgrind",
        run=_lazily("instructions:of_cases"),
        heavy=True,
        lines=(
            Line(name="instructions.correct", what="correct prediction", unit="million"),
            Line(name="instructions.incorrect", what="incorrect prediction", unit="million"),
        ),
    ),
    Measurement(
        name="row-instructions",
        title="Instructions to compare two results of 100,000 x 5 / to compare sets",
        run=_lazily("instructions:of_comparisons"),
        heavy=True,
        lines=(
            Line(name="instructions.shuffled", what="shuffled", unit="times"),
            Line(name="instructions.swapped", what="two columns swapped", unit="times"),
            Line(name="instructions.noisy", what="float noise in a column", unit="times"),
        ),
    ),
    Measurement(
        name="names",
        title="Names in queries, compared with each engine",
        run=_lazily("names:names"),
        heavy=True,
        lines=(
            Line(
                name="names.spider",
                what="Spider, gold queries and nine systems: unlike SQLite",
                unit="queries",
                bound=0,
            ),
            Line(name="names.bird", what="BIRD's gold queries on empty tables: unlike SQLite", unit="queries", bound=0),
            Line(name="names.sqlite", what="generated: unlike SQLite", unit="queries", bound=0),
            Line(name="names.duckdb", what="generated: unlike DuckDB", unit="queries", bound=0),
            Line(name="names.postgres", what="generated: unlike PostgreSQL", unit="queries", bound=0),
            Line(name="names.mariadb", what="generated: unlike MariaDB", unit="queries", bound=0),
            Line(name="names.vql", what="generated, VQL: unlike sqlglot's `qualify`", unit="names"),
        ),
    ),
    Measurement(
        name="meanings",
        title="Output types, and queries regenerated from their trees",
        run=_lazily("names:meanings"),
        lines=(
            Line(name="meanings.types", what="outputs on Spider with another type", unit="%", bound=0.1),
            Line(name="meanings.duckdb", what="outputs with another type in DuckDB", unit="%", bound=1),
            Line(name="meanings.text", what="Spider queries with other rows", unit="queries", bound=0),
        ),
    ),
    Measurement(
        name="cache",
        title="Shared executions: 40 gold queries of a few tenths of a second, two systems",
        run=_lazily("cache:next_system"),
        lines=(
            Line(name="cache.first", what="first run with the cache / without", unit="times"),
            Line(name="cache.next", what="second system / first system", unit="times", bound=0.6),
        ),
    ),
    Measurement(
        name="start",
        title="Start",
        run=_lazily("starting:start"),
        lines=(
            Line(name="start.help", what="`assay --help`", unit="s", bound=0.3),
            Line(name="start.import", what="`import assay` / the bare interpreter", unit="times"),
            Line(name="start.loaded", what="heavy packages that `import assay` loads", unit="packages", bound=0),
        ),
    ),
    Measurement(
        name="rows",
        title="Comparing two results / `set(predicted) == set(gold)`",
        run=_lazily("comparing:rows"),
        lines=(
            Line(name="rows.shuffled", what="100,000 x 5, shuffled", unit="times", bound=1.5),
            Line(name="rows.swapped", what="100,000 x 5, two columns swapped", unit="times", bound=3),
            Line(name="rows.noisy", what="100,000 x 5, float noise in a column", unit="times", bound=12),
            Line(name="rows.wrong", what="100,000 x 5, one wrong cell", unit="times", bound=20),
            Line(name="rows.bits", what="10,000 x 20 permuted columns of 0 and 1", unit="s", bound=0.3),
        ),
    ),
    Measurement(
        name="million",
        title="The same for a million rows of five columns, the most rows by default",
        run=_lazily("comparing:many_rows"),
        heavy=True,
        lines=(
            Line(name="million.shuffled", what="1,000,000 x 5, shuffled", unit="times", bound=2.5),
            Line(name="million.noisy", what="1,000,000 x 5, float noise in a column", unit="times", bound=10),
            Line(name="million.wrong", what="1,000,000 x 5, one wrong cell", unit="times", bound=8),
            Line(name="million.longest", what="the longest of these comparisons", unit="s", bound=60),
        ),
    ),
    Measurement(
        name="sizes",
        title="Comparing at the sizes from which less is done, or numpy does it",
        run=_lazily("sizes:at_each_size"),
        lines=(
            Line(name="sizes.near", what="20,000 x 5, one wrong cell, with near misses / without", unit="times"),
            Line(name="sizes.greedy", what="400,000 x 5, one wrong cell, columns guessed by their values", unit="s"),
            Line(name="sizes.clusters", what="5,000 numbers into clusters", unit="ms"),
            Line(name="sizes.clusters_numpy", what="the same by numpy", unit="ms"),
            Line(name="sizes.hashes", what="4,000 cells, 50 rounds of hashes", unit="ms"),
            Line(name="sizes.hashes_numpy", what="the same by numpy", unit="ms"),
            Line(name="sizes.numpy", what="loading numpy", unit="ms"),
        ),
    ),
    Measurement(
        name="metrics",
        title="A million rows in another order, compared and scored by all metrics",
        run=_lazily("comparing:all_metrics"),
        heavy=True,
        lines=(
            Line(name="metrics.million", what="1,000,000 x 5, processor time", unit="s"),
            Line(name="metrics.longest", what="the longest metric", unit="s", bound=60),
            Line(
                name="metrics.million_memory",
                what="memory of the process, including both results",
                unit="MB",
                bound=1500,
            ),
        ),
    ),
    Measurement(
        name="duckdb",
        title="DuckDB, 1,000,000 x 5",
        run=_lazily("comparing:from_duckdb"),
        heavy=True,
        lines=(
            Line(
                name="duckdb.million",
                what="fetch and comparison / the client's fetch and sets",
                unit="times",
                bound=1.5,
            ),
        ),
    ),
    Measurement(
        name="tpch",
        title="TPC-H-like tables at scale 1 on DuckDB, 22 queries as gold query and prediction",
        run=_lazily("comparing:tpch"),
        heavy=True,
        lines=(Line(name="tpch.ratio", what="run / execution of both", unit="times", bound=1.1),),
    ),
    Measurement(
        name="scale",
        title="Scoring 100,000 cases, compared with 1,000",
        run=_lazily("scale:large_run"),
        heavy=True,
        lines=(
            Line(name="scale.driver_memory", what="memory of the driver / with 1,000 cases", unit="times", bound=1.5),
            Line(name="scale.worker_memory", what="memory of a worker / with 1,000 cases", unit="times", bound=1.5),
            Line(name="scale.driver_cpu", what="CPU of the driver", unit="s", bound=8),
            Line(name="scale.wall", what="`assay run`, elapsed time", unit="s"),
        ),
    ),
    Measurement(
        name="driver",
        title="The driver alone: 15 workers that replay outcomes in 1 ms, processor time of the driver",
        run=_lazily("driver:bound"),
        heavy=True,
        lines=(
            Line(name="driver.fast", what="20,680 cases, per case", unit="ms", bound=0.06),
            Line(name="driver.fast_judging", what="the same, while workers run", unit="ms", bound=0.03),
            Line(name="driver.fast_bound", what="minimum with any number of cores", unit="s"),
            Line(name="driver.large", what="100,000 cases, per case", unit="ms", bound=0.06),
            Line(name="driver.large_judging", what="the same, while workers run", unit="ms", bound=0.03),
            Line(name="driver.large_bound", what="minimum with any number of cores", unit="s", bound=15),
            Line(name="driver.memory", what="memory / with 1,000 cases", unit="times", bound=1.5),
        ),
    ),
    Measurement(
        name="workers",
        title="Efficiency of more workers, which sleep instead of scoring",
        run=_lazily("driver:efficiency"),
        heavy=True,
        lines=tuple(
            Line(name=f"workers.{name}_{count}", what=f"{count} workers, {case_s} per case", unit="%")
            for name, case_s in (("slow", "50 ms"), ("fast", "2 ms"))
            for count in (2, 4, 8, 15)
        ),
    ),
    Measurement(
        name="reading",
        title="A stored run of 100,000 cases: reading and reports, each in a process, processor time",
        run=_lazily("reading:reading"),
        heavy=True,
        lines=(
            *_read("load", "`load_run`", seconds=1.5, ratio=2),
            *_read("pass", "`load_run` and all evidence once", ratio=3),
            *_read("json", "`assay report --json`", seconds=4, ratio=5),
            *_read("html", "`assay report --html`", seconds=12, ratio=14),
            *_read("xlsx", "`assay report --xlsx`", seconds=30, ratio=14),
            *_read("junit", "`assay report --junit`"),
            *_read("md", "`assay report --md`"),
            *_read("parquet", "results.parquet"),
        ),
    ),
    Measurement(
        name="cluster",
        title="20,000 cases on a Ray cluster of two nodes with one worker each on one machine, processor time",
        run=_lazily("cluster:two_nodes"),
        heavy=True,
        lines=(
            Line(
                name="cluster.differ",
                what="journal lines that differ from a local run",
                unit="lines",
                bound=0,
            ),
            Line(
                name="cluster.overhead",
                what="overhead of a node / scoring (another worker is worth 0.8 of its core)",
                unit="times",
                bound=0.25,
            ),
            Line(name="cluster.worker", what="executing and scoring, per case", unit="ms"),
            Line(name="cluster.node", what="passing on within a node, per case", unit="ms"),
            Line(name="cluster.driver", what="the driver, per case", unit="ms", bound=0.1),
            Line(name="cluster.driver_here", what="the driver / that of a local run", unit="times", bound=1.5),
            Line(name="cluster.memory", what="memory of the driver / with 1,000 cases", unit="times", bound=1.5),
        ),
    ),
    Measurement(
        name="soak",
        title="20,000 mixed cases with faults in one process: leaks at the end",
        run=_lazily("soak:full"),
        heavy=True,
        lines=(
            Line(name="soak.handles", what="open handles, including connections", unit="more", bound=0),
            Line(name="soak.processes", what="processes", unit="more", bound=0),
            Line(name="soak.threads", what="threads", unit="more", bound=0),
            Line(name="soak.temporary_files", what="temporary files", unit="more", bound=0),
            Line(name="soak.memory_mb", what="memory", unit="MB more", bound=20),
            Line(name="soak.killed", what="runs with a killed worker", unit="runs"),
            Line(name="soak.interrupted", what="interrupted runs", unit="runs"),
        ),
    ),
    Measurement(
        name="busy",
        title="Spider's development set three times, next to eight busy processes",
        run=_lazily("soak:beside_busy_processes"),
        heavy=True,
        lines=(
            Line(
                name="busy.differ",
                what="verdicts, scores and causes that differ from a quiet run",
                unit="cases",
                bound=0,
            ),
        ),
    ),
    Measurement(
        name="llmsql",
        title="LLMSQL's evaluation, 16,000 questions over 5,000 tables / its package",
        run=_lazily("peers:against_llmsql"),
        heavy=True,
        lines=(
            Line(name="llmsql.cpu", what="processor time, each side a new process", unit="times", bound=1),
            Line(name="llmsql.ratio", what="time", unit="times", bound=1),
            Line(name="llmsql.differ", what="verdicts and counts that differ", unit="verdicts", bound=0),
        ),
    ),
    Measurement(
        name="datacompy",
        title="Two tables of 100,000 x 8 compared by position / datacompy",
        run=_lazily("peers:against_datacompy"),
        heavy=True,
        lines=(
            Line(name="datacompy.texts", what="from CSV texts", unit="times", bound=1),
            Line(name="datacompy.frames", what="from pandas frames", unit="times", bound=1),
        ),
    ),
    Measurement(
        name="spider-script",
        title="`assay run` with all metrics / Spider's script",
        run=_lazily("peers:against_spider"),
        heavy=True,
        lines=(Line(name="spider.script", what="Spider's development set", unit="times", bound=1),),
    ),
    Measurement(
        name="bird-script",
        title="`assay run` with all metrics / BIRD's script",
        run=_lazily("peers:against_bird"),
        heavy=True,
        lines=(Line(name="bird.script", what="Spider's development set", unit="times", bound=1),),
    ),
)
