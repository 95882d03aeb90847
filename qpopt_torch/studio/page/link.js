// What the server knows, and how it is asked; the page only shows it.
const STUDIO = DATA.studio;
const columnOf = new Map(DATA.features.map((feature, j) => [feature.index, j]));
let live = null;
const listeners = new Set();

function knownAs(d) {
  const named = live && live.names[d];
  return named || STUDIO.names[d] || `Feature ${d}`;
}
const knownFeature = (d) => (columnOf.has(d) ? featureLink(columnOf.get(d), knownAs(d)) : h("span", { title: "Not part of the model that was opened" }, knownAs(d)));

// A name, or the number of any feature of the network.
function featureOf(text) {
  const wanted = text.trim().toLowerCase();
  const known = [...columnOf.keys()].find((d) => knownAs(d).toLowerCase() === wanted);
  const digits = /^(?:feature )?(\d+)$/.exec(wanted);
  if (known !== undefined) return known;
  return digits && Number(digits[1]) < STUDIO.n_features ? Number(digits[1]) : null;
}

const toast = h("p", { class: "toast", role: "alert", hidden: true });
let toastTimer = 0;
function complain(text) {
  toast.textContent = text;
  toast.hidden = !text;
  clearTimeout(toastTimer);
  if (text) toastTimer = setTimeout(() => { toast.hidden = true; }, 12000);
}

async function reply(response) {
  const told = await response.json();
  if (!response.ok) throw new Error(told.error || `The studio answered ${response.status}.`);
  return told;
}

async function act(action, more) {
  try {
    const told = await reply(await fetch("act", { method: "POST", body: JSON.stringify({ action, ...more }) }));
    complain("");
    return told;
  } catch (error) {
    complain(error.message === "Failed to fetch" ? "The studio does not answer. Is its process still running?" : error.message);
    return null;
  }
}
const demand = (kind, more) => act("add", { demand: { kind, ...more } });

const lost = h("p", { class: "toast lost", role: "status", hidden: true }, "The connection is lost; trying again. Nothing that was done is lost.");
function follow() {
  const source = new EventSource("events");
  source.addEventListener("message", (event) => {
    lost.hidden = true;
    live = JSON.parse(event.data);
    for (const listener of listeners) listener();
  });
  source.addEventListener("error", () => {
    lost.hidden = false;
    // A server that is gone for good closes the stream; the browser tries again by itself otherwise.
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 1000);
  });
}
document.body.append(toast, lost);
window.addEventListener("load", follow);

const stateOf = (number) => live.states.find((state) => state.number === number);
const share = (accuracy) => accuracy.right.reduce((a, b) => a + b, 0) / Math.max(1, accuracy.total.reduce((a, b) => a + b, 0));
const gapOf = (state) => (state.bound === null || state.objective === null ? null : Math.max(0, (state.bound - state.objective) / Math.max(1e-10, Math.abs(state.objective))));
const asPercent = (value, digits = 1) => `${(100 * value).toFixed(digits)} %`;
const points = (value) => `${signed(100 * value, 1)} points`;

function sentence(one) {
  const feature = one.feature === undefined ? null : knownFeature(one.feature);
  return {
    exclude: () => ["Exclude ", feature],
    require: () => ["Require ", feature],
    rename: () => (one.name ? ["Call ", h("span", null, `Feature ${one.feature}`), ` “${one.name}”`] : ["Take the name of ", feature, " away"]),
    forbid: () => ["Forbid ", feature, " to ", classLink(one.of)],
    assign: () => ["Give ", feature, " to ", classLink(one.of)],
    pair: () => [classLink(one.of), " and ", classLink(one.other), " differ in one feature"],
    n_select: () => [`${one.value} features`],
    n_per_class: () => [`${one.value} features per class`],
    bias: () => [`Weight of the bias × ${one.value}`],
    redundancy: () => [`Weight of redundancy × ${one.value}`],
  }[one.kind]();
}
