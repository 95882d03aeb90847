"""Pages and Markdown from templates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.errors import BenchmarkError
from qpopt.io import replacing

TEMPLATES = Path(__file__).parents[1] / "templates"


def render(template: str, content: dict[str, Any]) -> str:
    """Return a template filled with content.

    Raises
    ------
    BenchmarkError
        If jinja2 is missing.
    """
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise BenchmarkError("The report needs jinja2: pip install 'qpopt[bench]'") from None
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=template.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cell"] = lambda text: str(text).replace("|", "\\|").replace("\n", " ")
    return environment.get_template(template).render(content)


def write(path: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    with replacing(path) as stream:
        stream.write(text.encode())
