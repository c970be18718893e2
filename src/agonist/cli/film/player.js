"use strict";
// The player of a film that html.py wrote; that module says how the pictures are packed.

const COLOURS = ["#3b7dd8", "#e07b39", "#8e5bd0", "#1f9e93", "#d2477e", "#7a8b2f", "#5a6b7b", "#b0603a"];
const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
const LEFT = 46, RIGHT = 8, ROW = 13, MOST_CHOICES = 16;
const find = (id) => document.getElementById(id);
const film = JSON.parse(find("data").textContent);
const colour = (agent) => COLOURS[agent % COLOURS.length];
const now = { episode: 0, step: 0, playing: false, speed: 1, timer: 0 };
const begins = [];  // the number of each episode's first picture among all of them
for (let at = 0, i = 0; i < film.episodes.length; i++) {
  begins.push(at);
  at += film.episodes[i].rewards[0].length;
}
const episode = () => film.episodes[now.episode];
const steps = () => episode().rewards[0].length - 1;
const lines = () => film.agents.flatMap((agent, i) => agent.shared && film.agents.findIndex((a) => a.role === agent.role) < i ? [] : [i]);

for (const one of film.episodes) {
  one.sums = one.rewards.map((row) => { let sum = 0; return row.map((reward) => (sum += reward)); });
}

// pictures

const screen = { indices: new Uint8Array(film.width * film.height), shown: -1, offsets: [], stream: null, colours: new Uint32Array(256) };

async function unpack() {
  const packed = Uint8Array.from(atob(film.pictures), (letter) => letter.charCodeAt(0));
  const opened = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  screen.stream = new Uint8Array(await new Response(opened).arrayBuffer());
  const view = new DataView(screen.stream.buffer);
  for (let at = 0; at < screen.stream.length;) {
    screen.offsets.push(at);
    at += 8 + view.getUint16(at + 4, true) * view.getUint16(at + 6, true);
  }
  const bytes = new Uint8Array(screen.colours.buffer);
  for (let i = 0; i < 256; i++) {
    for (let part = 0; part < 3; part++) bytes[4 * i + part] = parseInt(film.palette.substr(6 * i + 2 * part, 2), 16);
    bytes[4 * i + 3] = 255;
  }
  find("film").width = film.width;
  find("film").height = film.height;
  if (film.width < 160) find("film").style.imageRendering = "pixelated";  // small pictures keep their edges
}

function change(number) {
  const view = new DataView(screen.stream.buffer, screen.offsets[number], 8);
  const [left, top, width, height] = [0, 2, 4, 6].map((at) => view.getUint16(at, true));
  let from = screen.offsets[number] + 8;
  for (let y = top; y < top + height; y++) {
    for (let at = y * film.width + left, end = at + width; at < end;) screen.indices[at++] ^= screen.stream[from++];
  }
}

function show(number) {
  while (screen.shown < number) change(++screen.shown);
  while (screen.shown > number) change(screen.shown--);
  const image = new ImageData(film.width, film.height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; i++) pixels[i] = screen.colours[screen.indices[i]];
  find("film").getContext("2d").putImageData(image, 0, 0);
}

// numbers and words

function say(value) {
  const size = Math.abs(value);
  if (value === null) return "-";
  if (size === 0) return "0";
  if (size < 0.001 || size >= 1e6) return value.toExponential(1);
  return value.toFixed(size < 10 ? 3 : size < 1000 ? 1 : 0);
}

function action(agent, step) {
  if (step === 0) return "";
  const did = episode().actions[agent][step - 1], told = film.agents[agent].action;
  if (told.kind === "box") return did.map((part) => part.toFixed(2)).join("  ");
  return did.map((choice) => (told.names[choice] === undefined ? String(choice) : told.names[choice])).join("  ");
}

function element(kind, text, name) {
  const made = document.createElement(kind);
  if (text !== undefined) made.textContent = text;
  if (name) made.className = name;
  return made;
}

function swatch(paint) {
  const made = element("span", "", "swatch");
  made.style.background = paint;
  return made;
}

function fillTable() {
  find("agents").replaceChildren(...film.agents.map((agent, i) => {
    const row = element("tr"), name = element("td");
    name.append(swatch(colour(i)), agent.name, element("small", agent.who));
    row.append(name, element("td", "", "action"), element("td", "", "number"), element("td", "", "number"));
    return row;
  }));
}

function tellAgents() {
  [...find("agents").rows].forEach((row, i) => {
    const here = episode().alive[i][now.step];
    row.className = here ? "" : "gone";
    row.cells[1].textContent = here || !now.step ? action(i, now.step) : "gone";
    row.cells[2].textContent = now.step ? say(episode().rewards[i][now.step]) : "";
    row.cells[3].textContent = say(episode().sums[i][now.step]);
  });
  const groups = Object.entries(episode().returns);
  find("returns").textContent = groups.map(([name, row]) => `${groups.length > 1 ? `${name} ` : "return "}${say(row[now.step])}`).join(" · ");
  find("where").textContent = `${now.step} / ${steps()}`;
}

// charts

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function sheet(id, height) {
  const canvas = find(id), width = canvas.clientWidth, ratio = devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = "11px system-ui, DejaVu Sans, sans-serif";
  pen.textBaseline = "middle";
  return { pen, width, height, x: (step) => LEFT + (step / Math.max(steps(), 1)) * (width - LEFT - RIGHT) };
}

function cursor({ pen, height, x }) {
  pen.strokeStyle = style("--ink");
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(x(now.step), 0);
  pen.lineTo(x(now.step), height);
  pen.stroke();
}

function axis(paper, rows) {
  const { pen, width, height } = paper;
  let low = 0, high = 0;
  for (const row of rows) for (const value of row) { low = Math.min(low, value); high = Math.max(high, value); }
  if (low === high) high = low + 1;
  const y = (value) => 8 + ((high - value) / (high - low)) * (height - 16);
  pen.textAlign = "right";
  for (const value of new Set([low, 0, high])) {
    pen.fillStyle = style("--quiet");
    if (value === 0 || Math.abs(y(value) - y(0)) > 12) pen.fillText(say(value), LEFT - 6, y(value));
    pen.strokeStyle = style("--line");
    pen.beginPath();
    pen.moveTo(LEFT, y(value));
    pen.lineTo(width - RIGHT, y(value));
    pen.stroke();
  }
  return y;
}

function drawSums() {
  const paper = sheet("sums", 110), who = lines(), y = axis(paper, who.map((i) => episode().sums[i]));
  for (const i of who) {
    paper.pen.strokeStyle = colour(i);
    paper.pen.lineWidth = 1.8;
    paper.pen.beginPath();
    episode().sums[i].forEach((value, step) => paper.pen[step ? "lineTo" : "moveTo"](paper.x(step), y(value)));
    paper.pen.stroke();
  }
  cursor(paper);
}

function drawRewards() {
  const paper = sheet("rewards", 80), who = lines(), y = axis(paper, who.map((i) => episode().rewards[i]));
  const room = paper.x(1) - paper.x(0), wide = Math.max(1, Math.min(6, (room * 0.8) / who.length));
  who.forEach((i, place) => {
    paper.pen.fillStyle = colour(i);
    episode().rewards[i].forEach((value, step) => {
      const left = paper.x(step) + (place - who.length / 2) * wide;
      if (value !== 0) paper.pen.fillRect(left, Math.min(y(0), y(value)), wide, Math.abs(y(value) - y(0)));
    });
  });
  cursor(paper);
}

function bounds(told, rows) {
  if (told.low !== null && told.high !== null) return [told.low, told.high];
  const all = rows.flat();
  return [all.reduce((a, b) => Math.min(a, b), 0), all.reduce((a, b) => Math.max(a, b), 0)];
}

function shade(told, part, value, [low, high]) {
  if (told.kind === "choice") return `hsl(${(360 * value) / told.choices[part]} 52% 60%)`;
  const share = Math.min(1, Math.max(0, (value - low) / (high - low || 1)));
  return `color-mix(in srgb, ${style("--accent")} ${Math.round(100 * share)}%, ${style("--line")})`;
}

function drawActions() {
  const rows = film.agents.flatMap((agent, i) => Array.from({ length: agent.action.parts }, (_, part) => [agent, i, part]));
  const paper = sheet("actions", rows.length * ROW + 4);
  rows.forEach(([agent, i, part], place) => {
    const top = 2 + place * ROW, did = episode().actions[i], limits = agent.action.kind === "box" ? bounds(agent.action, did) : [];
    if (part === 0) {
      paper.pen.fillStyle = colour(i);
      paper.pen.fillRect(LEFT - 14, top + 1, 8, agent.action.parts * ROW - 3);
    }
    did.forEach((values, step) => {
      if (!episode().alive[i][step]) return;
      paper.pen.fillStyle = shade(agent.action, part, values[part], limits);
      const gap = paper.x(1) - paper.x(0) > 4 ? 1 : 0;
      paper.pen.fillRect(paper.x(step), top, paper.x(step + 1) - paper.x(step) - gap, ROW - 2);
    });
  });
  cursor(paper);
}

function fillLegend() {
  const told = film.agents.filter((agent, i) => film.agents.findIndex((a) => a.role === agent.role) === i);
  const item = (paint, text) => { const made = element("span"); made.append(swatch(paint), text); return made; };
  find("legend").replaceChildren(...told.map((agent) => {
    const { kind, parts, choices, names } = agent.action, row = element("div", told.length > 1 ? `${agent.role}: ` : "");
    const shades = (labels) => labels.flatMap((label, i) => [item(shade(agent.action, 0, i, [0, 1]), label), " "]);
    if (kind === "box") row.append(...shades(["low", "high"]));
    else if (parts === 1 && choices[0] <= MOST_CHOICES) row.append(...shades(Array.from({ length: choices[0] }, (_, i) => names[i] ?? String(i))));
    return row;
  }));
}

// moving

function draw() {
  show(begins[now.episode] + now.step);
  find("scrub").value = now.step;
  tellAgents();
  drawSums();
  drawRewards();
  drawActions();
}

function go(step) {
  now.step = Math.min(steps(), Math.max(0, step));
  draw();
}

function choose(number) {
  now.episode = (number + film.episodes.length) % film.episodes.length;
  find("episode").value = now.episode;
  find("scrub").max = steps();
  go(0);
}

function play(on) {
  now.playing = on;
  clearTimeout(now.timer);
  find("play").classList.toggle("playing", on);
  find("play").setAttribute("aria-label", on ? "pause" : "play");
  if (on) wait();
}

function wait() {
  const pause = now.step === steps() ? film.hold : 1 / film.fps;
  now.timer = setTimeout(() => {
    if (now.step < steps()) go(now.step + 1);
    else choose(now.episode + 1);
    wait();
  }, (1000 * pause) / now.speed);
}

function hurry(by) {
  const at = Math.min(SPEEDS.length - 1, Math.max(0, SPEEDS.indexOf(now.speed) + by));
  now.speed = SPEEDS[at];
  find("speed").value = now.speed;
}

const by = (count) => { play(false); go(now.step + count); };
const KEYS = {
  " ": () => play(!now.playing), ArrowLeft: () => by(-1), ArrowRight: () => by(1), Home: () => by(-now.step), End: () => by(steps()),
  "+": () => hurry(1), "=": () => hurry(1), "-": () => hurry(-1),
  "[": () => choose(now.episode - 1), "]": () => choose(now.episode + 1),
};

function listen() {
  find("play").onclick = () => play(!now.playing);
  find("back").onclick = () => by(-1);
  find("next").onclick = () => by(1);
  find("scrub").oninput = (event) => { play(false); go(Number(event.target.value)); };
  find("speed").onchange = (event) => { now.speed = Number(event.target.value); };
  find("episode").onchange = (event) => choose(Number(event.target.value));
  for (const id of ["sums", "rewards", "actions"]) {
    find(id).onclick = (event) => {
      const share = (event.offsetX - LEFT) / (find(id).clientWidth - LEFT - RIGHT);
      play(false);
      go(id === "actions" ? Math.ceil(share * steps()) : Math.round(share * steps()));
    };
  }
  addEventListener("keydown", (event) => {
    const key = KEYS[event.key], own = event.target.tagName === "SELECT" || (event.key === " " && event.target.tagName === "BUTTON");
    if (!key || own || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    key();
  });
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { fillLegend(); draw(); });
}

async function start() {
  find("about").textContent = film.about;
  await unpack();
  find("speed").replaceChildren(...SPEEDS.map((speed) => new Option(`${speed}×`, speed, false, speed === 1)));
  find("episode").replaceChildren(...film.episodes.map((one, i) => new Option(`${i + 1} (seed ${one.seed})`, i)));
  find("choose").hidden = film.episodes.length === 1;
  fillTable();
  fillLegend();
  find("player").hidden = false;
  listen();
  const asked = /^#(\d+)\.(\d+)$/.exec(location.hash);  // #2.15: episode 2, step 15
  choose(asked ? Math.min(Number(asked[1]), film.episodes.length) - 1 : 0);
  if (asked) go(Number(asked[2]));
  else play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
}

start().catch((error) => {
  find("trouble").textContent = `The film cannot be shown: ${error.message || error}. A browser of 2023 or newer is needed.`;
  find("trouble").hidden = false;
});
