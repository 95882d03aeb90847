"""A large report, and a headless browser for the tests of the page, where there is one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import sync_playwright
from torch import nn

from qpopt import Solution
from qpopt_torch import SparseClassifier, collect
from tests.qpopt_torch.report.browser import QUIET, executable

LIMIT = 2_500_000


@pytest.fixture(scope="session")
def large_report(tmp_path_factory):
    """200 classes, 50 features, and images of noise, which compress worst, under a tight limit."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 64, 9, stride=9), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(64, 200),
    ).eval()  # fmt: skip
    rng = np.random.default_rng(0)
    assignment = np.zeros((200, 50), dtype=bool)
    for row in assignment:
        row[rng.choice(50, 5, replace=False)] = True
    x = torch.randn(800, 3, 63, 63)
    y = torch.arange(800) % 200
    loader = list(zip(x.split(200), y.split(200), strict=True))
    statistics = collect(model, loader, progress=False)
    solution = Solution(np.arange(50), assignment, 1.0)
    sparse = SparseClassifier.from_solution(model, solution, statistics)
    path = tmp_path_factory.mktemp("large") / "large.html"
    return sparse.report(path, loader, max_bytes=LIMIT, progress=False)


@pytest.fixture(scope="session")
def browser():
    """Start Chromium, if there is one."""
    with sync_playwright() as running:
        chromium = running.chromium
        path = executable(chromium.executable_path)
        started = chromium.launch(executable_path=path, args=QUIET)
        yield started
        started.close()


@pytest.fixture
def open_page(browser):
    """Return a function that opens a file and fails the test on any message of the console."""
    contexts, complaints = [], []

    def open_(path, *, width=1200, height=800, color_scheme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=color_scheme, offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                complaints.append(request.url)
                if not request.url.startswith(("file:", "data:"))
                else None
            ),
        )
        page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
        page.goto(Path(path).as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
