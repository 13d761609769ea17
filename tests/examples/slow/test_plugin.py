"""The example package of plug-ins: it installs, passes its own tests, and the command line finds each kind by name."""

from __future__ import annotations

import csv
import io
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from plugged import PLUGIN, assay, environment, laid_out

from assay import load_run


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sample: a folder of CSV files, gold and answers as scripts, and known examples."""
    folder = tmp_path_factory.mktemp("plugged") / "sample"
    shutil.copytree(PLUGIN / "sample", folder)
    return folder


def job(*given: str) -> list[str]:
    return ["run", "gold.sql", *given, "--metrics", "match,first_row", "--workers", "1", "-q"]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_pip_installs_it(site: Path) -> None:
    if find_spec("hatchling") is None or find_spec("pip") is None:
        pytest.skip("pip and hatchling are needed to build it: python -m pip install hatchling")
    assert (site / "assay_example" / "csv_folder.py").read_bytes() == (
        PLUGIN / "src" / "assay_example" / "csv_folder.py"
    ).read_bytes()
    (about,) = site.glob("*.dist-info")
    assert {file.name for file in about.iterdir()} >= {"METADATA", "entry_points.txt", "RECORD"}


def test_its_own_tests_pass(site: Path, tmp_path: Path) -> None:
    shutil.copytree(PLUGIN / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=tmp_path,
        env=environment(site) | {"PYTEST_ADDOPTS": ""},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


def test_a_run_with_every_kind(site: Path, shop: Path) -> None:
    file = assay(*job("-p", "answers.sql", "--db", "csvfolder:///shop"), "--to", "csv=-", folder=shop, sites=(site,))
    assert file.returncode == 0, file.stderr
    told = [(row["case"], row["outcome"], row["match"], row["first_row"]) for row in rows(file.stdout)]
    assert told == [
        ("q1", "correct", "1.0", "1.0"),
        ("q2", "incorrect", "0.0", "0.0"),
        ("q3", "incorrect", "0.0", "1.0"),
        ("q4", "incorrect", "0.0", "0.0"),
    ]
    live = job("--system", "nearest:known.jsonl", "--db", "csvfolder:///shop", "-o", "live", "--to", "csv=live.csv")
    done = assay(*live, folder=shop, sites=(site,))
    assert done.returncode == 0, done.stderr
    again = rows((shop / "live.csv").read_text(encoding="utf-8"))
    assert [(row["match"], row["first_row"]) for row in again][:3] == [("1.0", "1.0"), ("0.0", "0.0"), ("0.0", "1.0")]
    run = load_run(shop / "live")
    assert run.record.settings.predictions.startswith("nearest:known.jsonl (3 examples, ")
    assert [engine.name for engine in run.record.provenance.engine_versions] == ["csvfolder"]


def test_the_guides_commands_run_to_the_letter(site: Path, shop: Path, tmp_path: Path) -> None:
    guide = (PLUGIN.parents[1] / "docs" / "guides" / "extending.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```sh\n(.*?)^```$", guide, re.M | re.S)
    install, enter, *commands = [shlex.split(line) for line in block.replace("\\\n", "").splitlines()]
    assert install == ["python", "-m", "pip", "install", "./examples/plugin"]
    assert enter == ["cd", "examples/plugin/sample"]
    assert len(commands) == 2
    folder = shutil.copytree(PLUGIN / "sample", tmp_path / "sample")
    for command in commands:
        assert command[0] == "assay"
        done = assay(*command[1:], folder=folder, sites=(site,))
        assert done.returncode == 0, done.stdout + done.stderr
    assert len(rows((folder / "cases.csv").read_text(encoding="utf-8"))) == 4


def test_a_run_is_shown_where_the_package_is_gone(site: Path, shop: Path) -> None:
    made = assay(*job("-p", "answers.sql", "--db", "csvfolder:///shop", "-o", "kept"), folder=shop, sites=(site,))
    assert made.returncode == 0, made.stderr
    shown = assay("report", "kept", "--full", folder=shop, sites=())
    assert shown.returncode == 0, shown.stderr
    assert "first_row: First row: the answer begins with gold's first row" in shown.stdout
    asked = assay("report", "kept", "--to", "csv=x.csv", folder=shop, sites=())
    assert asked.returncode == 2
    assert "unknown report format 'csv'" in asked.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--db", "csvfolder:///nowhere", "-p", "answers.sql"), "the folder 'nowhere' cannot be read"),
        (("--db", "csvfolder:///shop", "-p", "gold.sql", "--metrics", "first_raw"), "did you mean 'first_row'?"),
        (("--db", "csvfolder:///shop", "--system", "nearest:absent.jsonl"), "absent.jsonl cannot be read"),
        (("--db", "csvfolder:///shop", "--system", "nearest:gold.sql"), "gold.sql, line 1: '-- @q1: How many"),
        (("--db", "csvfolder:///shop", "-p", "torn.sql"), "torn.sql, line 3: q2 has no query below it"),
    ],
)
def test_bad_input_is_told_as_assay_tells_its_own(site: Path, shop: Path, given: tuple[str, ...], said: str) -> None:
    (shop / "torn.sql").write_text("-- @q1\nSELECT 1;\n-- @q2\n", encoding="utf-8")
    done = assay("run", "gold.sql", *given, "-q", folder=shop, sites=(site,))
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


NEIGHBOUR = """
class Other:
    name = "first_row"


class Shapeless:
    name = "shapeless"


class Opens:
    name = "opens"

    @classmethod
    def open(cls, url, options):
        raise RuntimeError("out of order")


class Reads:
    name = "reads"

    def recognises(self, path):
        return path.suffix == ".reads"

    def cases(self, path, fields):
        raise RuntimeError("out of order")


class Raises:
    name = "raises"
    dialect = "sqlite"
    has_boolean_type = False

    @classmethod
    def open(cls, url, limits):
        return cls()

    @classmethod
    def check(cls, url):
        pass

    @classmethod
    def version(cls):
        return "1"

    @classmethod
    def fingerprint(cls, url):
        return "1"

    def describe(self):
        return "raises"

    def execute(self, query):
        raise RuntimeError("out of order")

    def answer(self, case):
        raise RuntimeError("out of order")

    def siblings(self):
        return ()

    def close(self):
        pass


class Asked(Raises):
    @classmethod
    def open(cls, url, options):
        return cls()


class Checks:
    name = "checks"

    @classmethod
    def check(cls, url):
        raise RuntimeError("out of order")
"""


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two more packages: one takes a name of the example's, one is broken in every way."""
    found = {}
    for name, groups in (
        ("taker", {"assay.metrics": {"first_row": "taker:Other"}}),
        (
            "broken",
            {
                "assay.metrics": {"gone": "no_such_module:Gone", "absent": "broken:Absent"},
                "assay.systems": {"shapeless": "broken:Shapeless", "opens": "broken:Opens", "asked": "broken:Asked"},
                "assay.cases": {"reads": "broken:Reads"},
                "assay.engines": {"checks": "broken:Checks", "raises": "broken:Raises"},
            },
        ),
    ):
        found[name] = tmp_path_factory.mktemp(name)
        (found[name] / f"{name}.py").write_text(NEIGHBOUR, encoding="utf-8")
        laid_out(found[name], {"name": f"{name}-package", "version": "1.0"}, groups)
    return found


def test_a_name_that_two_packages_register_names_both(site: Path, shop: Path, neighbours: dict[str, Path]) -> None:
    sites = (site, neighbours["taker"])
    done = assay(*job("-p", "answers.sql", "--db", "csvfolder:///shop"), folder=shop, sites=sites)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "the metric 'first_row' is registered twice" in done.stderr
    for package in ("assay-example (assay_example.first_row:FirstRow)", "taker-package (taker:Other)"):
        assert package in done.stderr
    assert "uninstall one of them" in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--metrics", "gone"), "the metric 'gone' of broken-package (no_such_module:Gone) fails to load: ModuleNot"),
        (("--metrics", "absent"), "the metric 'absent' of broken-package (broken:Absent) fails to load: AttributeErr"),
        (("--system", "shapeless:x"), "of broken-package (broken:Shapeless) cannot be opened: its class needs open("),
    ],
)
def test_what_does_not_load_is_told_with_package_and_cause(
    site: Path, shop: Path, neighbours: dict[str, Path], given: tuple[str, ...], said: str
) -> None:
    answers = () if "--system" in given else ("-p", "answers.sql")
    whole = ("run", "gold.sql", *answers, "--db", "csvfolder:///shop", *given)
    done = assay(*whole, folder=shop, sites=(site, neighbours["broken"]))
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr


@pytest.mark.parametrize(
    "given",
    [
        ("gold.sql", "--system", "opens:x", "--db", "csvfolder:///shop"),
        ("x.reads", "-p", "answers.sql", "--db", "csvfolder:///shop"),
        ("gold.sql", "-p", "answers.sql", "--db", "checks:///shop"),
    ],
)
def test_a_fault_of_another_package_is_not_called_assays(
    site: Path, shop: Path, neighbours: dict[str, Path], given: tuple[str, ...]
) -> None:
    (shop / "x.reads").write_text("x", encoding="utf-8")
    done = assay("run", *given, folder=shop, sites=(site, neighbours["broken"]))
    assert done.returncode not in (0, 1), done.stdout
    assert "this is a fault in the package broken-package, which extends Assay" in done.stderr
    assert "RuntimeError: out of order" in done.stderr
    assert "report these lines to the source of broken-package, with the command" in done.stderr


def test_what_raises_at_one_case_costs_that_case(site: Path, shop: Path, neighbours: dict[str, Path]) -> None:
    sites = (site, neighbours["broken"])
    given = job("-p", "answers.sql", "--db", "raises:///shop", "-o", "by-engine")
    assay(*given, folder=shop, sites=sites)
    run = load_run(shop / "by-engine")
    assert (run.aggregates.unscored, run.aggregates.incorrect) == (4, 0)
    assert {item.verdict.reason for item in run.evidence} == {"scoring this case failed: RuntimeError: out of order"}
    given = job("--system", "asked:x", "--db", "csvfolder:///shop", "-o", "by-system")
    told = assay(*given, folder=shop, sites=sites)
    asked = load_run(shop / "by-system")
    assert (asked.aggregates.incorrect, asked.aggregates.unanswered) == (4, 4)
    assert "RuntimeError: out of order" in told.stdout + told.stderr


def test_its_lint_rule_is_applied_listed_and_turned_off(site: Path, shop: Path) -> None:
    cases = '{"id": "1", "question": "Who?", "gold_sql": "SELECT * FROM customers"}\n'
    (shop / "stars.jsonl").write_text(
        cases + cases.replace('"1"', '"2"').replace("SELECT", "-- assay: ignore select-star\\nSELECT")
    )
    found = assay("lint", "stars.jsonl", "--only", "select-star", folder=shop, sites=(site,))
    assert "The query returns whatever columns its tables have." in found.stdout, found.stderr
    assert "1 finding turned off by comments" in " ".join(found.stdout.split())
    rules = assay("lint", "--rules", folder=shop, sites=(site,))
    assert "select-star" in rules.stdout, rules.stderr
    doctor = assay("doctor", folder=shop, sites=(site,))
    assert "lint_rule select-star, of assay-example" in doctor.stdout or "lint rule select-star" in doctor.stdout
    gone = assay("lint", "stars.jsonl", "--only", "select-star", folder=shop, sites=())
    assert gone.returncode == 2
    assert "unknown rule 'select-star'" in gone.stderr


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("RULE = None", "the lint rule 'odd' of theirs (odd_rule) has no RULE"),
        ("raise ValueError('oh no')", "the lint rule 'odd' of theirs (odd_rule) fails to load: ValueError: oh no"),
        ("{about}\nRULE = replace(RULE, name='other')\ncheck = lambda gold: iter(())", "calls itself 'other'"),
        ("{about}\ncheck = lambda gold: iter([1])", "fails: TypeError: it yields int, not assay.linting.Found"),
        ("{about}\ncheck = lambda gold: 1 / 0", "the rule odd of theirs (odd_rule) fails: ZeroDivisionError"),
        (
            "{about}\nRULE = replace(RULE, needs='cases')\nacross = lambda cases: [('9', 0, None)]",
            "the rule odd of theirs (odd_rule) fails: TypeError",
        ),
    ],
)
def test_a_broken_lint_rule_names_its_package_and_cause(source: str, said: str, shop: Path, tmp_path: Path) -> None:
    about = (
        "from msgspec.structs import replace\nfrom assay.model.lint import LintRule\n"
        "RULE = LintRule(name='odd', severity='note', needs='query', finds='x', why='X.', remedy='X.', "
        "bad='x', good='x')"
    )
    laid_out(tmp_path, {"name": "theirs", "version": "1"}, {"assay.lint_rules": {"odd": "odd_rule"}})
    (tmp_path / "odd_rule.py").write_text(source.replace("{about}", about), encoding="utf-8")
    (shop / "plain.jsonl").write_text('{"id": "1", "question": "Who?", "gold_sql": "SELECT name FROM t LIMIT 1"}\n')
    done = assay("lint", "plain.jsonl", folder=shop, sites=(tmp_path,))
    assert said in " ".join((done.stdout + done.stderr).split())
    # A rule that fails does not keep the others from finding something.
    assert ("limit-without-order" in done.stdout) is ("{about}" in source and "other" not in source)
