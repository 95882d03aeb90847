// Two states side by side.
function compareView() {
  const [first, firstLabel] = [h("select"), null], [second] = [h("select")];
  const body = h("div");
  const wanted = () => location.hash.replace(/^#\//, "").split("/").slice(1).map(Number);
  const update = () => {
    if (!live) return;
    const held = [first.value, second.value];
    const asked = wanted();
    for (const [i, select] of [first, second].entries()) {
      const value = asked.length === 2 && stateOf(asked[i]) ? asked[i] : held[i] === "" ? [0, live.current][i] : Number(held[i]);
      select.replaceChildren(...live.states.map((state) => h("option", { value: state.number, selected: state.number === value }, state.name)));
    }
    const [a, b] = [first, second].map((select) => stateOf(Number(select.value)));
    body.replaceChildren(...sideBySide(a, b).flat(Infinity).filter((node) => node instanceof Node));
    takeAll(body);
  };
  const go = () => { location.hash = `#/compare/${first.value}/${second.value}`; };
  for (const select of [first, second]) select.addEventListener("change", go);
  listeners.add(update);
  window.addEventListener("hashchange", update);
  update();
  return [h("h2", { tabindex: -1 }, "Compare"), h("div", { class: "controls" }, h("label", null, "First state", first), h("label", null, "Second state", second)), body];
}

function sideBySide(a, b) {
  if (!a.sets.length || !b.sets.length) return [h("p", null, "One of them has no answer.")];
  const cell = (state) => {
    const gap = gapOf(state);
    return [state.objective.toFixed(2), gap === null ? "–" : asPercent(gap, 2), state.accuracy ? asPercent(share(state.accuracy)) : "–", state.control === null ? "–" : asPercent(state.control), `${state.selection.length}, ${state.n_per_class} a class`];
  };
  const [left, right] = [cell(a), cell(b)];
  const titles = ["Objective", "Proven within", "Accuracy with a linear adapter", "Random assignment", "Features"];
  const asked = (state) => h("td", null, state.demands.length ? h("ul", { class: "changed" }, state.demands.map((one) => h("li", null, sentence(one)))) : "none");
  return [
    scrolling("Both states", h("table", { class: "plain" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, ""), h("th", { scope: "col" }, a.name), h("th", { scope: "col" }, b.name))),
      h("tbody", null, titles.map((title, i) => h("tr", null, h("th", { scope: "row" }, title), h("td", null, left[i]), h("td", null, right[i]))),
        h("tr", null, h("th", { scope: "row" }, "Demands"), asked(a), asked(b))))),
    a.number === b.number ? h("p", null, "Choose two different states.") : changeList(a, b),
  ];
}
extraViews.compare = compareView;
