// The address after # says what is shown, so every view has a link and the back button works.
const tabs = [...document.querySelectorAll("[role=tab]")];
const panel = (name) => document.getElementById(`panel-${name}`);
const title = document.title;

const number = (text, count) => (/^\d+$/.test(text || "") && Number(text) < count ? Number(text) : null);

function viewFor(parts) {
  const [name, ...rest] = parts;
  const c = number(rest[0], DATA.classes.length);
  if (name === "classes") return ["classes", classesView];
  if (name === "class" && c !== null) return ["classes", () => classView(c)];
  if (name === "contrast") {
    const d = number(rest[1], DATA.classes.length);
    return ["contrast", () => contrastView(...(c !== null && d !== null ? [c, d] : firstContrast()))];
  }
  if (name === "features") return ["features", featuresView];
  const j = number(rest[0], DATA.features.length);
  if (name === "feature" && j !== null) return ["features", () => featureView(j)];
  if (name === "decisions") return ["decisions", decisionsView];
  if (name === "decision" && ["wrong", "right"].includes(rest[0])) {
    const place = number(rest[1], DATA[rest[0]].length);
    if (place !== null) return ["decisions", () => decisionView(rest[0], place)];
  }
  if (name === "map") {
    const node = number(rest[0], DATA.classes.length + (DATA.tree || []).length);
    return ["map", node === null ? mapView : () => mapView(node, number(rest[1], DATA.classes.length))];
  }
  if (Object.hasOwn(extraViews, name)) return [name, extraViews[name]];
  return ["overview", null];
}

function firstContrast() {
  // Two that differ in one part, or the pair that is confused most, or neighbours, or any two.
  if (DATA.twins.length) return DATA.twins[0].slice(0, 2);
  if (DATA.confusions.length) return DATA.confusions[0].slice(0, 2);
  return DATA.pairs.length ? DATA.pairs[0].slice(0, 2) : [0, 1];
}

const kept = new Map();

function show(isFirst) {
  const parts = location.hash.replace(/^#\//, "").split("/");
  const [tab, view] = [viewFor(parts)].map((found) => (panel(found[0]) ? found : ["overview", null]))[0];
  for (const button of tabs) {
    const chosen = button.dataset.tab === tab;
    button.setAttribute("aria-selected", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
    panel(button.dataset.tab).hidden = !chosen;
    if (chosen) button.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  const target = panel(tab);
  const focused = document.activeElement;
  const held = focused && target.contains(focused) && focused.id;
  if (view) {
    // The lists are kept, so that going back finds the search as it was left.
    const keep = [classesView, featuresView, decisionsView, mapView, ...Object.values(extraViews)].includes(view);
    if (keep && !kept.has(view)) kept.set(view, view());
    target.replaceChildren(...(keep ? kept.get(view) : view()).flat(Infinity).filter((node) => node instanceof Node));
  }
  const heading = target.querySelector("h2");
  document.dispatchEvent(new CustomEvent("shown", { detail: parts }));
  document.title = tab === "overview" ? title : `${heading.textContent} – ${title}`;
  if (isFirst) return;
  // A control that was used, such as a choice of classes, keeps the focus though it was made anew.
  const same = held && document.getElementById(held);
  if (!same) window.scrollTo(0, 0);
  const marked = target.querySelector(".row.marked");
  if (marked) marked.scrollIntoView({ block: "center" });
  if (focused && focused.getAttribute("role") === "tab") return;
  (same || heading).focus({ preventScroll: true });
}

for (const button of tabs) {
  button.addEventListener("click", () => { location.hash = `#/${button.dataset.tab}`; });
  button.addEventListener("keydown", (event) => {
    const place = tabs.indexOf(button);
    const goal = { ArrowRight: (place + 1) % tabs.length, ArrowLeft: (place + tabs.length - 1) % tabs.length, Home: 0, End: tabs.length - 1 }[event.key];
    if (goal === undefined) return;
    event.preventDefault();
    tabs[goal].focus();
    tabs[goal].click();
  });
}

const heat = document.getElementById("heat");
heat.hidden = !DATA.located;
heat.addEventListener("click", () => {
  const on = heat.getAttribute("aria-pressed") !== "true";
  heat.setAttribute("aria-pressed", String(on));
  document.body.classList.toggle("no-heat", !on);
});
const lines = document.getElementById("contours");
lines.hidden = !DATA.grid.length;
lines.addEventListener("click", () => {
  contours = !contours;
  lines.setAttribute("aria-pressed", String(contours));
  for (const view of [classesView, featuresView, decisionsView, mapView]) kept.delete(view);
  show(true);
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
window.addEventListener("hashchange", () => show(false));
const trace = document.getElementById("trace");
if (trace) trace.replaceChildren(...traceView(JSON.parse(document.getElementById("trace-data").textContent)));
show(true);
