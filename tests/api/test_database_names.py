"""A case's db_id names one database within the template's folder or server, and leads nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import make_url

from assay.api.schemas import schema_from_file
from assay.errors import InputError
from assay.model import Case, DatabaseUrl, Prediction
from assay.runs.plan import plan_work
from many_cases import each

TEMPLATES = (
    "sqlite:////data/dbs/{db_id}/{db_id}.sqlite",
    "sqlite:///dbs/{db_id}.sqlite",
    "duckdb:///{db_id}.duckdb",
    "postgresql://assay:secret@localhost:5432/{db_id}?sslmode=require",
    "mysql+pymysql://assay:secret@localhost/{db_id}",
    "denodo+http://localhost:9090/denodo-data-catalog/{db_id}?serverId=1",
    "postgresql://localhost/bench?options=-csearch_path%3D{db_id}",
    "postgresql://{db_id}.internal/bench",
)
LEADING_OUT = (
    *("..", ".", "", " ", "...", "../x", "..\\x", "a/../../x", "/etc/passwd", "\\\\host\\share", "C:x", "C:\\x"),
    *("a/b", "a\\b", "a\0b", "a\nb", "%2e%2e", "a%2Fb", "%2e%2e%2fx", "a%00"),
)
"""Refused wherever they would go."""
STEERING = ("x?host=evil", "x#y", "x@evil", "x&options=-c", "x;y", "host=evil")
"""Refused where they would go into a server's URL."""


@each("template", TEMPLATES)
@each("name", LEADING_OUT)
def test_what_leads_out_is_refused(template: str, name: str) -> None:
    with pytest.raises(InputError, match="the db_id"):
        DatabaseUrl.parse(template).render(name)


@each("template", TEMPLATES[3:])
@each("name", STEERING)
def test_what_steers_a_server_url_is_refused(template: str, name: str) -> None:
    with pytest.raises(InputError, match="the db_id"):
        DatabaseUrl.parse(template).render(name)


@each("template", TEMPLATES)
@each("name", ["shop", "wta_1", "cre_Doc-2"])
def test_a_name_is_filled_in(template: str, name: str) -> None:
    assert DatabaseUrl.parse(template).render(name).reveal() == template.replace("{db_id}", name)


@given(st.text(max_size=12), st.sampled_from(TEMPLATES[3:5]))
def test_whatever_is_filled_in_changes_nothing_but_the_database(name: str, template: str) -> None:
    try:
        filled = DatabaseUrl.parse(template).render(name)
    except InputError:
        return
    url, plain = make_url(filled.reveal()), make_url(template.replace("{db_id}", "shop"))
    assert (url.host, url.port, url.username, url.password, url.query, url.drivername) == (
        *(plain.host, plain.port, plain.username, plain.password, plain.query, plain.drivername),
    )


@given(st.text(alphabet=st.sampled_from("./\\~%2eEfF:\0 ab"), max_size=10))
def test_a_file_stays_in_its_folder(name: str) -> None:
    try:
        filled = DatabaseUrl.parse("sqlite:////data/dbs/{db_id}/{db_id}.sqlite").render(name)
    except InputError:
        return
    path = Path(filled.path)
    assert path.resolve().is_relative_to("/data/dbs")
    assert path.parent.parent == Path("/data/dbs")


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_link_that_leads_out_is_refused_and_one_within_is_not(tmp_path: Path, what: str) -> None:
    dbs, out = tmp_path / "dbs", tmp_path / "out"
    template = "{db_id}.sqlite" if what == "file" else "{db_id}/x.sqlite"
    for folder in (dbs, out):
        (folder / "real").mkdir(parents=True)
        (folder / "real.sqlite").touch()
    ending = ".sqlite" if what == "file" else ""
    (dbs / f"out{ending}").symlink_to(out / f"real{ending}")
    (dbs / f"within{ending}").symlink_to(dbs / f"real{ending}")
    url = DatabaseUrl.parse(f"sqlite:///{dbs}/{template}")
    assert url.render("within").path.startswith(str(dbs))
    with pytest.raises(InputError, match="'out' leads through a link out of the folder"):
        url.render("out")
    # The template's own folder may be reached by a link.
    (tmp_path / "linked").symlink_to(dbs)
    assert DatabaseUrl.parse(f"sqlite:///{tmp_path}/linked/{template}").render("within")


def test_the_case_is_named(tmp_path: Path) -> None:
    case = Case(id="a", question="?", database="../x", origin="dev.jsonl, line 17")
    with pytest.raises(InputError, match=r"dev\.jsonl, line 17: the db_id '\.\./x'"):
        plan_work([case], [Prediction(case_id="a")], DatabaseUrl.parse(f"sqlite:///{tmp_path}/{{db_id}}").render)


def test_the_schemas_of_a_judge_stay_in_their_folder_too(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("CREATE TABLE t(a)")
    (tmp_path / "schemas").mkdir()
    schema = schema_from_file(f"{tmp_path}/schemas/{{db_id}}.txt")
    with pytest.raises(InputError, match="the db_id"):
        schema("../secret")
    (tmp_path / "schemas" / "link.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(InputError, match="link"):
        schema("link")
