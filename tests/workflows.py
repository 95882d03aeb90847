"""The workflows of this repository as data: every job, with every line that it runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[1]
GITHUB = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
GITLAB = [ROOT / ".gitlab-ci.yml", ROOT / ".gitlab" / "selfcheck.yml"]


class Line(NamedTuple):
    """One line that a job runs: its file, the name of the job, the line, and its environment."""

    file: str
    job: str
    text: str
    environment: dict[str, str]


def documents(file: Path) -> list[dict[str, Any]]:
    """Return what a file holds; YAML 1.1 reads the key `on` as a truth value."""
    return [
        {("on" if key is True else key): value for key, value in document.items()}
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))
    ]


def jobs(file: Path) -> dict[str, dict[str, Any]]:
    """Return the jobs of a file by name."""
    *_, last = documents(file)
    if file in GITHUB:
        return dict(last["jobs"])
    return {name: value for name, value in last.items() if "script" in (value or ())}


def lines() -> Iterator[Line]:
    """Yield every line that any job runs, with the inputs' defaults in its environment."""
    for file in (*GITHUB, *GITLAB):
        first = documents(file)[0]
        given = first["on"].get("workflow_call", {}) if file in GITHUB else first.get("spec", {})
        defaults = {name: str(one["default"]) for name, one in given.get("inputs", {}).items()}
        for name, job in jobs(file).items():
            environment = {
                key: _filled(str(value), defaults)
                for key, value in {**job.get("env", {}), **job.get("variables", {})}.items()
            }
            scripts = [step["run"] for step in job.get("steps", ()) if "run" in step]
            for script in [*scripts, *job.get("script", ())]:
                for text in script.splitlines():
                    yield Line(file.relative_to(ROOT).as_posix(), name, text, environment)


def _filled(text: str, defaults: dict[str, str]) -> str:
    for name, value in defaults.items():
        text = text.replace(f"${{{{ inputs.{name} }}}}", value)
        text = text.replace(f"$[[ inputs.{name} ]]", value)
    return text
