"""The workflows cannot rot: their form is checked, and every line that they run is run here.

What installs packages is checked by rule, and what runs all tests is asked of make without being
done; marked `slow`, these are really carried out, too, in a copy of the repository.
"""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from qpopt import __version__
from qpopt.cli.app import main
from tests.workflows import GITHUB, GITLAB, ROOT, documents, jobs, lines

LINES = list(lines())
PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
TAG = f"v{__version__}"
CASE = ("--method", "search", "--instance", "alike-8x3")

WORKFLOW = {"name", "on", "permissions", "concurrency", "env", "jobs"}
JOB = {
    "runs-on", "timeout-minutes", "strategy", "env", "steps", "needs", "environment",
    "permissions",
}  # fmt: skip
CALL = {"strategy", "uses", "with", "needs"}
STEP = {"uses", "with", "run", "if", "name", "env"}
GITLAB_JOB = {
    "stage", "rules", "image", "parallel", "script", "artifacts", "needs", "environment",
    "id_tokens", "variables",
}  # fmt: skip


def setup():
    """Return setup.cfg."""
    found = configparser.ConfigParser()
    found.read(ROOT / "setup.cfg", encoding="utf-8")
    return found


def words(line):
    """Return the words of a line as a shell would take them, its variables filled in."""
    known = {"GITHUB_REF_NAME": TAG, "CI_COMMIT_TAG": TAG, **line.environment}
    return shlex.split(re.sub(r"\$(\w+)", lambda name: known[name[1]], line.text))


def execute(words, **given):
    return subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False, **given
    )


def check_make(words, tmp_path):
    """The targets are there; what they run is not run twice within the tests."""
    done = execute([words[0], "--dry-run", *words[1:]])
    assert done.returncode == 0, done.stderr


def check_install(words, tmp_path):
    """What is installed from here exists, with its extras; all else has a name that pip takes."""
    for word in words[4:]:
        if word.startswith("."):
            extras = re.fullmatch(r"\.(?:\[([\w,]+)\])?", word)[1]
            known = setup()["options.extras_require"]
            assert set((extras or "").split(",")) - {""} <= set(known)
        else:
            assert re.fullmatch(r"--upgrade|[A-Za-z][\w.-]*", word)


def check_selfcheck(words, tmp_path):
    """Run it as it stands, on one instance."""
    os.chdir(tmp_path)
    assert main([*words[1:], *CASE]) == 0
    assert words[words.index("--junit") + 1] == "selfcheck.xml"
    assert (tmp_path / "selfcheck.xml").exists()


def check_script(words, tmp_path):
    done = execute([sys.executable, *words[1:]])
    assert done.returncode == 0, done.stderr
    wrong = execute([sys.executable, words[1], "v0.0.0"])
    assert (wrong.returncode, "The tag is v0.0.0" in wrong.stderr) == (1, True)


def check_upload(words, tmp_path):
    """It is for the release alone; that it has what to upload is for `make dist` to see."""
    assert words[3:] == ["upload", "dist/*"]


RULES = {
    r"make [a-z ]+": check_make,
    r"python -m pip install .*": check_install,
    r"qpopt selfcheck .*": check_selfcheck,
    r"python \.ci/\w+\.py .*": check_script,
    r"python -m twine .*": check_upload,
}


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.file}:{line.job}:{line.text}")
def test_every_line_runs(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (check,) = (rule for pattern, rule in RULES.items() if re.fullmatch(pattern, line.text))
    check(words(line), tmp_path)


def test_there_is_every_kind_of_line():
    texts = {line.text for line in LINES}
    wanted = ("lint imports types", "pytest", "docs", "dist", "lowest")
    assert {f"make {targets}" for targets in wanted} <= texts
    assert all(any(re.fullmatch(pattern, text) for text in texts) for pattern in RULES)


@pytest.mark.parametrize("file", GITHUB, ids=lambda file: file.name)
def test_the_form_of_a_workflow(file):
    (workflow,) = documents(file)
    assert {"name", "on", "permissions", "jobs"} <= set(workflow) <= WORKFLOW
    assert workflow["permissions"] == {"contents": "read"}, "only what a job asks for itself"
    inputs = (workflow["on"].get("workflow_call") or {}).get("inputs", {})
    assert all(set(one) == {"description", "type", "default"} for one in inputs.values())
    for name, job in workflow["jobs"].items():
        known = {"matrix": job.get("strategy", {}).get("matrix", {}), "inputs": inputs}
        for room, used in re.findall(r"\$\{\{ (matrix|inputs)\.([\w-]+) \}\}", yaml.dump(job)):
            assert used in known[room], f"{name}: {room}.{used}"
        assert {job.get("needs", name)} <= set(workflow["jobs"])
        if "uses" in job:
            called = ROOT / job["uses"]
            assert called in GITHUB
            assert set(job) <= CALL
            assert set(job["with"]) <= set(documents(called)[0]["on"]["workflow_call"]["inputs"])
            continue
        assert {"runs-on", "timeout-minutes", "steps"} <= set(job) <= JOB
        for step in job["steps"]:
            assert set(step) <= STEP
            assert ("uses" in step) != ("run" in step)
            assert "${{" not in step.get("run", ""), "what others give comes as a variable"
            assert re.fullmatch(r"[\w-]+/[\w-]+@(release/)?v\d+", step.get("uses", "a/b@v1"))


def test_the_form_of_the_pipeline():
    (pipeline,) = documents(GITLAB[0])
    spec, template = documents(GITLAB[1])
    for file in GITLAB:
        for name, job in jobs(file).items():
            assert {"stage", "rules", "script"} <= set(job) <= GITLAB_JOB, name
            assert job["stage"] in (*pipeline["stages"], "$[[ inputs.stage ]]")
            assert set(job.get("needs", ())) <= set(jobs(file))
    used = set(re.findall(r"\$\[\[ inputs\.([\w-]+) \]\]", yaml.dump(template)))
    assert used == set(spec["spec"]["inputs"])
    (included,) = pipeline["include"]
    assert ROOT / included["local"] == GITLAB[1]
    assert set(included["inputs"]) <= used


def test_both_services_do_the_same():
    texts = [{line.text for line in LINES if (".github" in line.file) == here} for here in (0, 1)]
    release = ("python", ".ci/tag.py")
    gitlab, github = ({t for t in one if not t.startswith(release)} for one in texts)
    assert github <= gitlab
    assert all("twine" in text for text in gitlab - github)


def test_all_versions_of_python_that_are_allowed_are_tested():
    (least,) = re.findall(r">=(\S+)", setup()["options"]["python_requires"])
    assert PYTHONS[0] == least
    tests = jobs(GITHUB[0])["tests"]
    assert tests["strategy"]["matrix"]["python-version"] == PYTHONS
    (matrix,) = jobs(GITLAB[0])["tests"]["parallel"]["matrix"]
    assert matrix["PYTHON_VERSION"] == PYTHONS
    assert f'target-version = "py{least.replace(".", "")}"' in (ROOT / "pyproject.toml").read_text()


def test_only_the_release_may_publish():
    asking = {
        (file.name, name): job["permissions"]
        for file in GITHUB
        for name, job in jobs(file).items()
        if "permissions" in job
    }
    assert asking == {("release.yml", "publish"): {"id-token": "write"}}


def test_commits_are_checked_like_everything_else():
    (config,) = documents(ROOT / ".pre-commit-config.yaml")
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    assert {repo["repo"] for repo in config["repos"]} == {"local"}
    entries = {" ".join(hook["entry"].split(" --force-exclude")[0].split()) for hook in hooks}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for entry in entries:
        assert entry.replace(".venv/bin/", "$(BIN)/") in makefile
    assert {entry.split("/")[2].split()[0] for entry in entries} == {"ruff", "lint-imports", "mypy"}


def test_lower_bounds_become_constraints():
    done = execute([sys.executable, ".ci/lowest.py", "cpsat"])
    assert done.returncode == 0, done.stderr
    lowest = done.stdout.splitlines()
    given = setup()
    wanted = f"{given['options']['install_requires']}\n{given['options.extras_require']['cpsat']}"
    assert [line.replace("==", " >= ", 1) for line in lowest] == wanted.split("\n")[1:]
    assert 'tomli==2; python_version < "3.11"' in lowest


def test_the_citation_is_of_this_version():
    (citation,) = documents(ROOT / "CITATION.cff")
    assert citation["version"] == __version__
    assert citation["license"] == setup()["metadata"]["license"]


@pytest.mark.parametrize(
    "name",
    [
        "github/ISSUE_TEMPLATE/bug.yml",
        "github/pull_request_template.md",
        "gitlab/issue_templates/Default.md",
        "gitlab/merge_request_templates/Default.md",
    ],
)
def test_reports_bring_a_selfcheck(name):
    assert "qpopt selfcheck --json" in (ROOT / f".{name}").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["make lint imports types", "make docs", "make dist", "make lowest"]
)
def test_the_long_lines_are_carried_out(command, tmp_path):
    """In a copy, with the environment of this checkout where that is all that is needed."""
    assert command in {line.text for line in LINES}
    left_out = shutil.ignore_patterns(".git", ".venv", "build", "dist", "__pycache__", "demo")
    copy = Path(shutil.copytree(ROOT, tmp_path / "copy", ignore=left_out))
    (copy / ".venv").symlink_to((ROOT / ".venv").resolve())
    variables = {**os.environ, "PYTHONPATH": str(copy)} if "lint" in command else dict(os.environ)
    done = subprocess.run(
        [*command.split(), "--old-file=.venv/.ready"], cwd=copy, env=variables, check=False
    )
    assert done.returncode == 0
