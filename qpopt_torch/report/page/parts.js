// Pictures, maps, values and the details of decisions come in parts, when something of them is shown.
const arrived = new Set();
const awaited = new Map();
let complete = document.readyState !== "loading";

DATA.samples = DATA.samples.map(([label, pred, index, ratio]) => ({ label, pred, index, ratio }));
const partOf = (id) => (id < DATA.parts.samples ? Math.floor(id / DATA.parts.size) : null);
const isKnown = (part) => part === null || part === undefined || arrived.has(part);

function arrive(part, content) {
  if (arrived.has(part)) return;
  arrived.add(part);
  (content.samples || []).forEach((details, i) => Object.assign(DATA.samples[part * DATA.parts.size + i], details));
  (content.decisions || []).forEach(([kind, place, details]) => Object.assign(DATA[kind][place], details));
  const waiting = awaited.get(part) || [];
  awaited.delete(part);
  for (const act of waiting) act();
}

// In a file the parts follow the page; in a folder each is a script that calls qpoptPart.
function ask(part) {
  const element = document.getElementById(`part-${part}`);
  // What stands last in the file so far may not be whole yet.
  if (element && (complete || element.nextElementSibling)) return arrive(part, JSON.parse(element.textContent));
  if (DATA.parts.folder) {
    const script = h("script", { src: `${DATA.parts.folder}/${part}.js` });
    script.addEventListener("error", () => { document.body.dataset.missing = `${DATA.parts.folder}/${part}.js`; });
    document.head.append(script);
  }
  return undefined;
}
window.qpoptPart = arrive;
document.addEventListener("DOMContentLoaded", () => {
  complete = true;
  for (const part of [...awaited.keys()]) ask(part);
});

function whenKnown(part, act) {
  if (!isKnown(part) && !awaited.has(part)) {
    awaited.set(part, []);
    ask(part);
  }
  if (isKnown(part)) {
    awaited.delete(part);
    act();
  } else awaited.get(part).push(act);
}

// A node that is filled when what it shows of a sample is there.
function whenThere(id, node, act) {
  node.classList.add("waiting");
  whenKnown(partOf(id), () => { node.classList.remove("waiting"); act(DATA.samples[id]); });
  return node;
}
