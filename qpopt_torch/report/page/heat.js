// Heat maps: as colours, or as contours that leave the colours of a picture alone.
const decoded = new Map();
let contours = false;

function positions(id) {
  if (!decoded.has(id)) {
    const text = DATA.samples[id].maps;
    decoded.set(id, text ? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)) : null);
  }
  return decoded.get(id);
}

// Pale means not sure: full strength from the mean of the upper mode on, none at 0.
function strength(id, j) {
  const { on } = DATA.features[j];
  return on > 0 ? Math.min(1, Math.max(0, DATA.samples[id].z[j] / on)) : 1;
}

function heatOver(id, j) {
  const bytes = DATA.grid.length ? positions(id) : null;
  if (!bytes) return null;
  const [rows, columns] = DATA.grid;
  const values = bytes.subarray(j * rows * columns, (j + 1) * rows * columns);
  const drawing = contours ? contourLines(values, rows, columns) : heatCanvas(values, rows, columns);
  drawing.classList.add("heat");
  drawing.style.opacity = strength(id, j).toFixed(3);
  return drawing;
}

// The strength of a feature behind each word of a text; null where it has no maps.
function wordLevels(id, j) {
  const bytes = j === null || !DATA.located ? null : positions(id);
  const n = DATA.samples[id].words.length;
  return bytes ? bytes.subarray(j * (bytes.length / DATA.features.length), j * (bytes.length / DATA.features.length) + n) : null;
}

function heatCanvas(values, rows, columns) {
  // One pixel a position; the browser interpolates between them when it enlarges the canvas.
  const canvas = h("canvas", { width: columns, height: rows, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  values.forEach((byte, i) => {
    const level = byte / 255;
    image.data.set([240 + 15 * level, 70 + 150 * level * level, 10 + 30 * level, 165 * level ** 0.8], 4 * i);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

function contourLines(values, rows, columns) {
  // Marching squares between the centres of the positions, with nothing beyond the edge.
  const at = (y, x) => (y < 0 || x < 0 || y >= rows || x >= columns ? 0 : values[y * columns + x] / 255);
  const path = (level) => {
    const parts = [];
    for (let y = -1; y < rows; y += 1) {
      for (let x = -1; x < columns; x += 1) {
        const [a, b, c, d] = [at(y, x), at(y, x + 1), at(y + 1, x + 1), at(y + 1, x)];
        const cross = (from, to, px, py, dx, dy) => ((from >= level) !== (to >= level)
          ? [Math.min(columns, Math.max(0, px + 0.5 + dx * ((level - from) / (to - from)))), Math.min(rows, Math.max(0, py + 0.5 + dy * ((level - from) / (to - from))))] : null);
        const ends = [cross(a, b, x, y, 1, 0), cross(b, c, x + 1, y, 0, 1), cross(d, c, x, y + 1, 1, 0), cross(a, d, x, y, 0, 1)].filter(Boolean);
        for (let i = 0; i + 1 < ends.length; i += 2) parts.push(`M${ends[i].map((v) => v.toFixed(2)).join(" ")}L${ends[i + 1].map((v) => v.toFixed(2)).join(" ")}`);
      }
    }
    return parts.join("");
  };
  const lines = [0.4, 0.7].map(path).map((d) => [svg("path", { class: "under", d }), svg("path", { d })]);
  return svg("svg", { viewBox: `0 0 ${columns} ${rows}`, preserveAspectRatio: "none", "aria-hidden": "true" }, lines);
}

const heatLegend = () => (DATA.located ? h("div", { class: "legend heat-legend" },
  h("span", null, h("i", { class: contours ? "k-faint-line" : "k-faint" }), "pale: hardly active here"),
  h("span", null, h("i", { class: contours ? "k-full-line" : "k-full" }), contours ? "clear lines around where it fires: fully active" : "full colour where it fires: fully active")) : null);
