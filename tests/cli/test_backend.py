"""`--backend`: what is no backend, or cannot be reached, ends with status 2 and says what to do."""

from __future__ import annotations

import json
import re
import socket
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from assay.cli.app import UNUSABLE_INPUT, run_command_line

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    case = {"id": "1", "question": "How many?", "gold": "SELECT 1", "prediction": "SELECT 1"}
    path.write_text(json.dumps(case) + "\n")
    return path


def _said(cases: Path, backend: str, capsys: pytest.CaptureFixture[str]) -> str:
    arguments = ["run", str(cases), "--db", "sqlite://", "--metrics", "match", "--quiet", "--backend", backend]
    assert run_command_line([*arguments, "-o", str(cases.parent / "run")]) == UNUSABLE_INPUT
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err
    assert not (cases.parent / "run").exists()
    return printed.err


@pytest.mark.parametrize("name", ["spark", "Ray", "ray:", "ray://", "raY://x:1", "", "local://x"])
def test_an_unknown_backend_is_refused(cases: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"backend is {name!r}: write local, ray, or ray://HOST:PORT" in _said(cases, name, capsys)


def test_ray_that_is_not_installed_is_named_with_its_extra(
    cases: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert "pip install 'ray[client]>=" in _said(cases, "ray", capsys)


@pytest.mark.parametrize("address", ["host", "ray://", "127.0.0.2:x", "ray://127.0.0.2", ":6379"])
def test_an_address_that_is_none_is_refused(
    cases: Path, address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'ray[client]>=")
    monkeypatch.setenv("RAY_ADDRESS", address)
    assert "is not an address of a Ray cluster: write ray://HOST:10001" in _said(cases, "ray", capsys)


@pytest.mark.parametrize("how", ["option", "environment"])
def test_an_address_where_nobody_listens_is_told(
    cases: Path, how: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'ray[client]>=")
    with socket.socket() as closed:  # bound, and nobody listens
        closed.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{closed.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", place)
        said = _said(cases, "ray" if how == "environment" else f"ray://{place}", capsys)
    assert re.search(rf"no Ray cluster can be reached at \S*{place} .*is it running", said)


def test_local_is_this_machine(cases: Path, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(f"cases: {cases}\ndb: 'sqlite://'\nmetrics: [match]\nbackend: local\n")
    assert run_command_line(["run", str(tmp_path / "run.yaml"), "--quiet"]) == 0


def test_the_manifest_for_kubernetes_has_the_fields_of_its_resource() -> None:
    text = (ROOT / "docs" / "guides" / "kubernetes.md").read_text(encoding="utf-8")
    manifest = YAML(typ="safe").load(re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S)[0])
    assert (manifest["apiVersion"], manifest["kind"]) == ("ray.io/v1", "RayJob")
    job, cluster = manifest["spec"], manifest["spec"]["rayClusterSpec"]
    assert set(job) <= {
        *("entrypoint", "submissionMode", "backoffLimit", "shutdownAfterJobFinishes", "ttlSecondsAfterFinished"),
        "rayClusterSpec",
    }
    assert set(cluster) == {"rayVersion", "headGroupSpec", "workerGroupSpecs"}
    assert set(cluster["headGroupSpec"]) == {"rayStartParams", "template"}
    (workers,) = cluster["workerGroupSpecs"]
    assert set(workers) == {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"}
    for group in (cluster["headGroupSpec"], workers):
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
        pod = group["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        for container in pod["containers"]:
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
            assert container["resources"]["requests"] == container["resources"]["limits"]
    assert "--backend ray" in job["entrypoint"]
    images = {
        container["image"]
        for group in (cluster["headGroupSpec"], workers)
        for container in group["template"]["spec"]["containers"]
    }
    assert len(images) == 1  # other versions of Assay would be refused
