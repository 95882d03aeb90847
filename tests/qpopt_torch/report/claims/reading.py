"""What the pages of a report say, read in a browser."""

# The script stands in pieces that can be read.
# ruff: noqa: E501

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np

from tests.qpopt_torch.report.decoding import data_of

NUMBER = r"[+−-]?\d[\d,]*(?:\.\d+)?"
PERCENT = r"(\d+(?:\.\d+)?) %"

READ = """async (views) => {
  const panels = { class: "classes", feature: "features", decision: "decisions" };
  const opened = (hash) => new Promise((done) => {
    if (location.hash === hash) return done();
    addEventListener("hashchange", () => done(), { once: true });
    location.hash = hash;
  });
  const texts = (q, n) => [...n.querySelectorAll(q)].map((e) => e.textContent);
  const levels = (section) => {
    const slider = section.querySelector("input");
    const states = [slider.min, slider.value, slider.max].map((value) => {
      slider.value = value;
      slider.dispatchEvent(new Event("input"));
      return { value, status: texts("[role=status]", section)[0], promise: texts("p.note", section).at(-1),
        members: texts(".chips a", section.querySelector("[role=status] + div")),
        marked: texts(".ladder .in a", section), listed: texts(".ladder .chips a", section) };
    });
    return { states, steps: [...section.querySelectorAll(".ladder > li")].map((e) => ({ head: texts(".level-head", e)[0], note: texts("p.note", e)[0], gone: texts(".chips a", e) })) };
  };
  const read = (panel) => {
    const all = (q, n = panel) => [...n.querySelectorAll(q)];
    const texts = (q, n = panel) => all(q, n).map((e) => e.textContent);
    // A picture may be of words or numbers, which are not said of the model.
    const bare = (e) => { const copy = e.cloneNode(true); all(".picture", copy).forEach((s) => s.remove()); all("small", copy).forEach((s) => s.before(" | ")); return copy.textContent; };
    return {
      heading: panel.querySelector("h2").textContent,
      titles: texts("h3"),
      paragraphs: texts("p"),
      figures: all(".figures > div").map((e) => [texts("dt", e)[0], texts("dd", e)[0]]),
      cards: all(".cards > li").map((e) => ({ title: texts(".card-title", e)[0], notes: texts(".note", e) })),
      parts: all(".parts > li").map((e) => ({ name: texts(".card-title", e)[0], notes: texts(".note", e), chips: texts(".chips a", e), tiles: texts("figcaption", e) })),
      chips: all(".chips a").filter((e) => !e.closest(".parts")).map((e) => e.textContent),
      tiles: all(".feature-top figcaption").map((e) => e.textContent),
      changes: all(".change").map((e) => ({ head: texts("p", e)[0], ways: texts("li", e), notes: texts("p.note", e) })),
      items: all("main li, li").filter((e) => !e.closest(".change, .cards, .parts, .chips, .ladder")).map((e) => e.textContent),
      levels: all(".levels").map(levels)[0],
      tables: all("table").map((t) => ({ kind: t.className, caption: t.caption ? texts("a", t.caption)[0] : "", note: t.caption ? t.caption.textContent : "",
        rows: [...t.rows].map((r) => [...r.cells].map(bare)) })),
      cells: texts(".cell title"),
      bars: all(".feature-top .histogram rect").map((e) => [e.getAttribute("class"), Number(e.getAttribute("height"))]),
      labels: all("svg[aria-label]").map((e) => e.getAttribute("aria-label")),
    };
  };
  const said = {};
  for (const view of views) {
    await opened(`#/${view}`);
    while (document.querySelector("main .waiting")) await new Promise((done) => setTimeout(done, 5));
    const name = view.split("/")[0];
    said[view] = read(document.getElementById(`panel-${panels[name] || name}`));
  }
  return said;
}"""


def numbers(text):
    """Return the numbers in a text, as they are shown."""
    return [float(found.replace("−", "-").replace(",", "")) for found in re.findall(NUMBER, text)]


def contrasts(data, most=None):
    """Pairs to look at: those that are confused, and of every class the next one."""
    n = len(data["classes"])
    found = {(a, b) for a, b, _ in data["confusions"]} | {(c, (c + 1) % n) for c in range(n)}
    return spread(sorted(found), most)


def decisions(data, most=None):
    """Decisions to look at, by kind and place."""
    return [(kind, i) for kind in ("wrong", "right") for i in spread(range(len(data[kind])), most)]


def spread(members, most):
    """Return at most so many of some members, from the first to the last."""
    if most is None or len(members) <= most:
        return list(members)
    return [members[round(place)] for place in np.linspace(0, len(members) - 1, most)]


def read(page, most=None):
    """Return the data of a report, and what each of its views says.

    Of contrasts and of each kind of decisions, at most so many are looked at.
    """
    _, data = data_of(Path(unquote(urlparse(page.url).path)))
    views = ["overview", "classes", "features", "decisions", "map"]
    views += [f"class/{c}" for c in range(len(data["classes"]))]
    views += [f"feature/{j}" for j in range(len(data["features"]))]
    views += [f"contrast/{a}/{b}" for a, b in contrasts(data, most)]
    views += [f"decision/{kind}/{i}" for kind, i in decisions(data, most)]
    return data, page.evaluate(READ, views)
