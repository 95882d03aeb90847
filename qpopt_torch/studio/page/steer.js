// Saying what is wrong, solving again, and what it means.
const classOptions = () => DATA.classes.map((entry, c) => [entry.name, c]).sort((a, b) => a[0].localeCompare(b[0], undefined, { numeric: true }))
  .map(([name, c]) => h("option", { value: c }, name));
const classPicker = (label) => {
  const select = h("select", null, classOptions());
  return [select, h("label", null, label, select)];
};
const featurePicker = (label) => {
  const input = h("input", { type: "search", list: "studio-features", autocomplete: "off", spellcheck: "false", placeholder: "name or number" });
  const feature = () => {
    const d = featureOf(input.value);
    if (d === null) { complain(`There is no feature “${input.value}”: give a name of this page, or a number from 0 to ${STUDIO.n_features - 1}.`); input.focus(); }
    return d;
  };
  return [input, h("label", null, label, input), feature];
};
const press = (text, click, kind) => h("button", { type: "button", class: kind || null, on: { click } }, text);
const field = (title, ...children) => h("fieldset", { class: "field" }, h("legend", null, title), h("div", { class: "row" }, children));

// A number that can be moved or typed; the slider ends where few go, the field does not.
function numberField(label, kind, [least, most, step], first) {
  const input = h("input", { type: "number", step: "any", min: least, value: first });
  const slider = h("input", { type: "range", min: least, max: Math.max(most, first), step, value: first, "aria-label": `${label}, slider` });
  const wish = (value) => { if (value !== "") demand(kind, { value: Number(value) }); };
  slider.addEventListener("input", () => { input.value = slider.value; });
  slider.addEventListener("change", () => wish(slider.value));
  input.addEventListener("change", () => wish(input.value));
  listeners.add(() => {
    const wanted = live.demands.find((one) => one.kind === kind);
    for (const one of [input, slider]) if (document.activeElement !== one) one.value = wanted ? wanted.value : first;
  });
  return h("div", { class: "number-field" }, h("label", null, label, input), slider);
}

function demandForms() {
  const [named, namedLabel, feature] = featurePicker("Feature");
  const name = h("input", { type: "text", maxlength: 80, placeholder: "new name" });
  const [ofClass, ofClassLabel] = classPicker("Class");
  const [, servingLabel, serving] = featurePicker("Feature of it");
  const [first, firstLabel] = classPicker("First class");
  const [second, secondLabel] = classPicker("Second class");
  if (DATA.classes[1]) second.selectedIndex = 1;
  const about = (kind, more) => async () => { const d = feature(); if (d !== null && (await demand(kind, { feature: d, ...(more ? more() : {}) }))) named.value = ""; };
  const between = (kind) => () => { const d = serving(); if (d !== null) demand(kind, { feature: d, of: Number(ofClass.value) }); };
  return [
    h("datalist", { id: "studio-features" }, DATA.features.map((entry) => h("option", { value: entry.name }))),
    field("A feature", namedLabel, press("Exclude", about("exclude")), press("Require", about("require")), h("label", null, "Name", name), press("Rename", about("rename", () => ({ name: name.value })))),
    field("A feature of a class", ofClassLabel, servingLabel, press("Forbid", between("forbid")), press("Give", between("assign"))),
    field("Two classes", firstLabel, secondLabel, press("Differ in one feature", () => demand("pair", { of: Number(first.value), other: Number(second.value) }))),
    field("Numbers", numberField("Features", "n_select", [1, Math.min(STUDIO.n_features, 3 * STUDIO.n_select), 1], STUDIO.n_select), numberField("Features per class", "n_per_class", [1, 3 * STUDIO.n_per_class, 1], STUDIO.n_per_class),
      numberField("Weight of the bias", "bias", [0, 4, 0.1], 1), numberField("Weight of redundancy", "redundancy", [0, 4, 0.1], 1)),
  ];
}

function demandList() {
  const blamed = new Set();
  const current = stateOf(live.current);
  const same = JSON.stringify(current.demands) === JSON.stringify(live.demands);
  if (same) current.blamed.forEach((place) => blamed.add(place));
  const rows = live.demands.map((one, place) => h("li", { class: blamed.has(place) ? "blamed" : null }, h("span", null, sentence(one)),
    blamed.has(place) ? h("span", { class: "wrong" }, " excludes the others that are marked") : null,
    h("button", { type: "button", class: "bare", "aria-label": "Take this demand away", on: { click: () => act("drop", { place }) } }, "×")));
  return rows.length ? h("ul", { class: "demands" }, rows) : h("p", { class: "note" }, "Nothing is demanded yet. Features and classes have buttons on their own pages, too.");
}

// Lists of demands that are kept under a name.
function keptLists() {
  const names = Object.keys(live.lists);
  const keep = press("Keep under a name", () => { const name = prompt("A name for these demands", stateOf(live.current).name); if (name) act("keep", { name }); });
  keep.disabled = !live.demands.length;
  return [h("div", { class: "row actions" }, keep),
    names.length ? h("ul", { class: "demands" }, names.map((name) => h("li", null, h("span", null, name, h("span", { class: "note" }, ` ${plural(live.lists[name], "demand")}`)),
      h("div", { class: "row" }, press("Demand these", () => act("take", { name }))),
      h("button", { type: "button", class: "bare", "aria-label": `Forget ${name}`, on: { click: () => act("forget", { name }) } }, "×")))) : null];
}

function answerView(state, before) {
  const gap = gapOf(state);
  if (state.problem && !state.sets.length) return [h("p", { class: "callout" }, h("b", null, "No answer. "), state.problem)];
  if (!state.sets.length) return [h("p", { class: "note" }, state.ended ? "This was stopped before there was an answer." : "Solving …")];
  const figure = (name, value, small) => h("div", null, h("dt", null, name), h("dd", null, value, small ? h("small", null, ` ${small}`) : null));
  const known = state.accuracy;
  const found = [
    state.number ? { name: "The model", value: stateOf(0).accuracy && share(stateOf(0).accuracy), kind: "others" } : null,
    { name: state.number ? state.name : "The model", value: known && share(known), kind: "users" },
    { name: "Random", value: state.control, kind: "others" },
  ].filter((row) => row && row.value !== null && row.value !== undefined).map((row) => ({ ...row, text: asPercent(row.value) }));
  return [
    h("dl", { class: "figures" }, figure("Objective", state.objective.toFixed(2)),
      figure("Proven within", gap === null ? "–" : (100 * gap).toFixed(gap < 0.001 ? 3 : 2), gap === null ? null : "%"),
      figure("Accuracy", known ? (100 * share(known)).toFixed(1) : "–", known ? "%" : null),
      figure("Features", state.selection.length, `${state.n_per_class} a class`)),
    state.problem ? h("p", { class: "callout" }, state.problem) : null,
    found.length ? [bars(found, "Accuracies"), h("p", { class: "note" }, `On ${(known || stateOf(0).accuracy).total.reduce((a, b) => a + b, 0).toLocaleString("en")} validation samples, each with a linear adapter on the features of the network as it is, trained in seconds: good to compare, lower than after a full training. Random: features and classes drawn by chance, trained the same way.`)] : null,
    before && before.number !== state.number && before.sets.length ? changeList(before, state) : null,
  ];
}

function setDifference(before, after) {
  const old = new Set(before.selection), now = new Set(after.selection);
  const classes = after.sets.map((set, c) => ({ c, gained: set.filter((d) => !before.sets[c].includes(d)), lost: before.sets[c].filter((d) => !set.includes(d)) })).filter((row) => row.gained.length || row.lost.length);
  return { added: after.selection.filter((d) => !old.has(d)), removed: before.selection.filter((d) => !now.has(d)), classes };
}
const enumerated = (items, most = 12) => (items.length ? [items.slice(0, most).map((item, i) => [i ? ", " : "", item]), items.length > most ? ` and ${items.length - most} more` : ""] : "none");

function changeList(before, after) {
  const { added, removed, classes } = setDifference(before, after);
  const both = before.accuracy && after.accuracy;
  const moved = both ? after.accuracy.right.map((right, c) => [right - before.accuracy.right[c], c]).filter(([change]) => change).sort((a, b) => a[0] - b[0] || a[1] - b[1]) : [];
  const losers = both ? after.accuracy.right.map((right, c) => [right - before.accuracy.right[c], c]).filter(([change]) => change < 0).sort((a, b) => a[0] - b[0] || a[1] - b[1]).slice(0, 6) : [];
  const row = (name, ...value) => h("tr", null, h("th", { scope: "row" }, name), h("td", null, value));
  return [
    h("h3", null, `What changed from “${before.name}”`),
    h("table", { class: "plain changes" }, h("tbody", null,
      row("Features in", enumerated(added.map(knownFeature))), row("Features out", enumerated(removed.map(knownFeature))),
      row("Objective", `${signed(after.objective - before.objective)}`),
      both ? row("Accuracy", points(share(after.accuracy) - share(before.accuracy))) : null,
      row("Classes changed", `${classes.length} of ${after.sets.length}`))),
    classes.length ? h("details", null, h("summary", null, "Which classes changed"), h("ul", { class: "changed" }, classes.map(({ c, gained, lost }) => h("li", null, classLink(c), ": ",
      gained.length ? ["gained ", enumerated(gained.map(knownFeature))] : null, gained.length && lost.length ? "; " : null, lost.length ? ["lost ", enumerated(lost.map(knownFeature))] : null)))) : null,
    losers.length ? [h("h3", null, "Classes that lose most"), h("table", { class: "plain" }, h("thead", null, h("tr", null, h("th", { scope: "col" }, "Class"), h("th", { scope: "col", class: "number" }, "Before"), h("th", { scope: "col", class: "number" }, "After"))),
      h("tbody", null, losers.map(([, c]) => h("tr", null, h("th", { scope: "row" }, classLink(c)),
        h("td", { class: "number" }, `${before.accuracy.right[c]} of ${before.accuracy.total[c]}`), h("td", { class: "number" }, `${after.accuracy.right[c]} of ${after.accuracy.total[c]}`)))))] : null,
    moved.length ? h("details", null, h("summary", null, `Accuracy class by class: ${moved.length} of ${after.sets.length} changed`), h("ul", { class: "changed" }, moved.map(([change, c]) => h("li", null, classLink(c), `: ${points(change / Math.max(1, after.accuracy.total[c]))}, ${before.accuracy.right[c]} to ${after.accuracy.right[c]} of ${after.accuracy.total[c]}`)))) : null,
  ];
}

const chosen = new Set();
function stateList() {
  return h("ul", { class: "states" }, live.states.map((state) => {
    const gap = gapOf(state);
    const box = h("input", { type: "checkbox", checked: chosen.has(state.number), "aria-label": `Choose ${state.name} to compare`, on: { change: () => { if (box.checked) chosen.add(state.number); else chosen.delete(state.number); } } });
    const said = [state.sets.length ? `objective ${state.objective.toFixed(2)}` : "no answer", gap === null ? null : `within ${asPercent(gap, 2)}`, state.accuracy ? `accuracy ${asPercent(share(state.accuracy))}` : null].filter(Boolean).join(", ");
    return h("li", { class: state.number === live.current ? "current" : null }, box,
      h("div", null, h("b", null, state.name), state.number === live.current ? h("span", { class: "note" }, " shown") : null, h("div", { class: "note" }, said, `, ${plural(state.demands.length, "demand")}`)),
      h("div", { class: "row" },
        state.number === live.current ? null : press("Go back", () => act("back", { state: state.number })),
        press("Name", () => { const name = prompt("A name for this state", state.name); if (name) act("call", { state: state.number, name }); }),
        state.sets.length ? press("Save model", () => saveModel(state.number)) : null));
  }));
}

async function saveModel(number) {
  complain("Saving …");
  const told = await act("save", { state: number });
  if (told) complain(`Saved in ${told.folder}, with a linear adapter. Train it fully by the command under Export.`);
}

function exportSection() {
  const text = h("pre", { tabindex: 0 });
  const show = (kind) => async () => { text.textContent = await (await fetch(`export/${kind}`)).text(); text.hidden = false; };
  text.hidden = true;
  return h("section", { id: "export", hidden: true }, h("h3", null, "Take the demands along"),
    h("div", { class: "row" }, press("As Python", show("python")), press("As a command", show("command")), h("a", { class: "button", href: "export/instance", download: "instance.npz" }, "Instance for qpopt solve")), text);
}

function steerView() {
  const running = h("span", { class: "note", role: "status" });
  const list = h("div"), lists = h("div"), answer = h("div"), states = h("div"), exported = exportSection();
  const undo = press("Undo", () => act("undo")), stop = press("Stop", () => act("cancel"));
  const solve = press("Solve", () => act("solve"), "primary");
  solve.title = "or press S";
  const compareButton = press("Compare", () => {
    const [a, b] = [...chosen].filter((number) => stateOf(number));
    location.hash = chosen.size === 2 ? `#/compare/${a}/${b}` : `#/compare/0/${live.current}`;
  });
  const exportButton = press("Export", () => { exported.hidden = !exported.hidden; });
  const update = () => {
    if (!live) return;
    const state = stateOf(live.current);
    running.textContent = live.running ? `${live.running} …` : "";
    undo.disabled = !live.undoable;
    stop.hidden = !live.running && Boolean(state.ended);
    list.replaceChildren(demandList());
    lists.replaceChildren(...keptLists().filter(Boolean));
    answer.replaceChildren(h("h3", null, state.name), ...answerView(state, stateOf(0)).flat(Infinity).filter((node) => node instanceof Node));
    states.replaceChildren(stateList());
    takeAll(answer);
  };
  listeners.add(update);
  update();
  return [h("h2", { tabindex: -1 }, "Steer"),
    h("p", { class: "lede" }, "Say what is wrong with the model, solve again, and see what it costs."),
    h("div", { class: "steer" },
      h("div", null, h("h3", null, "Demands"), list, h("div", { class: "row actions" }, solve, undo, stop, running), lists, h("h3", null, "Demand more"), demandForms()),
      h("div", null, answer, h("h3", null, "States"), states, h("div", { class: "row actions" }, compareButton, exportButton), exported))];
}
extraViews.steer = steerView;

document.addEventListener("keydown", (event) => {
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
  if (event.key === "s" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) act("solve");
});

// On the pages of the report: what can be said of what they show.
document.addEventListener("shown", ({ detail: [name, text] }) => {
  const heading = document.querySelector("[role=tabpanel]:not([hidden]) h2");
  const place = Number(text);
  if (name === "feature" && DATA.features[place]) {
    const d = DATA.features[place].index;
    heading.after(h("div", { class: "row steering" }, press("Exclude", () => said(demand("exclude", { feature: d }))), press("Require", () => said(demand("require", { feature: d }))),
      press("Rename", () => { const name = prompt("A new name", knownAs(d)); if (name !== null) said(demand("rename", { feature: d, name })); })));
  }
  if (name === "class" && DATA.classes[place]) {
    const wish = (kind, j) => () => said(demand(kind, { feature: DATA.features[j].index, of: place }));
    const lede = heading.parentElement.querySelector(".lede") || heading;
    lede.after(h("ul", { class: "demands steering" }, DATA.assignment[place].map((j) => h("li", null, h("span", null, featureLink(j)),
      h("div", { class: "row" }, press("Forbid", wish("forbid", j)), press("Require", wish("assign", j)))))));
  }
  if (name === "contrast" && heading) {
    const [first, second] = ["first", "second"].map((which) => document.getElementById(`contrast-${which}`));
    if (first && first.value !== second.value) document.querySelector("#panel-contrast .controls").after(h("div", { class: "row steering" }, press("They should differ in one feature", () => said(demand("pair", { of: Number(first.value), other: Number(second.value) })))));
  }
  takeAll(document.getElementById("main"));
});
async function said(answer) {
  if (await answer) complain("It is among the demands; solve under Steer, or press S.");
}
