// The moving parts of a report: drawings, the player, and what is chosen. All text goes in as text, never as HTML.
(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const SVG = "http://www.w3.org/2000/svg";

  // ---- small helpers ----------------------------------------------------------------------------------------------

  function make(tag, settings, ...children) {
    const made = document.createElement(tag);
    return fill(made, settings, children);
  }

  function shape(tag, settings, ...children) {
    return fill(document.createElementNS(SVG, tag), settings, children);
  }

  function fill(made, settings, children) {
    for (const [name, value] of Object.entries(settings || {})) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  function isDark() {
    if (root.dataset.theme) return root.dataset.theme === "dark";
    return matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function short(value, digits) {
    return String(Number(value.toPrecision(digits)));
  }

  function gcd(a, b) {
    return b ? gcd(b, a % b) : a;
  }

  function fraction(part, whole) {
    const common = gcd(part, whole);
    return part === whole ? "" : `${part / common}/${whole / common}`;
  }

  function partOf(box) {
    if (box.id === "summary-picture") return data.summary.picture;
    const [, choice, section, part] = /^(?:c(\d+))?s(\d+)p(\d+)$/.exec(box.id);
    const sections = choice === undefined ? data.sections : data.choices[Number(choice)].sections;
    return sections[Number(section)].parts[Number(part)];
  }

  // ---- drawings ---------------------------------------------------------------------------------------------------

  function geometry(drawing) {
    const xs = drawing.nodes.map((node) => node[1]);
    const ys = drawing.nodes.map((node) => node[2]);
    const [left, right, low, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const span = Math.max(right - left, top - low, 1e-9);
    const many = drawing.nodes.length;
    const scale = 720 / span;
    let nearest = Infinity;
    if (many <= 400) {
      for (let u = 0; u < many; u += 1) {
        for (let v = 0; v < u; v += 1) nearest = Math.min(nearest, Math.hypot(xs[u] - xs[v], ys[u] - ys[v]));
      }
    }
    const radius = Math.max(2.5, Math.min(30, 150 / Math.sqrt(many), Number.isFinite(nearest) ? nearest * scale * 0.4 : 30));
    const edge = radius + 36; // links over nodes curve out by 0.07 of 720
    const place = drawing.nodes.map(([, x, y]) => [edge + (x - left) * scale, edge + (top - y) * scale]);
    return { place, radius, wide: (right - left) * scale + 2 * edge, high: (top - low) * scale + 2 * edge };
  }

  function covered(view, u, v) {
    const [[x0, y0], [x1, y1]] = [view.place[u], view.place[v]];
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    return view.place.some(([x, y], w) => {
      if (w === u || w === v) return false;
      const along = ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length;
      const off = Math.abs((x - x0) * (y1 - y0) - (y - y0) * (x1 - x0)) / length;
      return along > 0 && along < length && off < view.radius;
    });
  }

  function curve(view, u, v, bend, room) {
    const [[x0, y0], [x1, y1]] = [view.place[u], view.place[v]];
    const [mx, my] = [(x0 + x1) / 2 - bend * (y1 - y0), (y0 + y1) / 2 + bend * (x1 - x0)];
    const trim = (x, y, reach) => {
      const far = Math.hypot(mx - x, my - y) || 1;
      const by = Math.min(reach / far, 0.9);
      return [x + (mx - x) * by, y + (my - y) * by];
    };
    const start = trim(x0, y0, view.radius);
    const end = trim(x1, y1, view.radius + room);
    const line = `M${start.map(near)}Q${near(mx)},${near(my)} ${end.map(near)}`;
    return { line, end, angle: Math.atan2(y1 - end[1], x1 - end[0]) };
  }

  function near(value) {
    return Math.round(value * 10) / 10;
  }

  function head(tip, angle, size) {
    const corner = (turn, reach) => `${near(tip[0] + reach * Math.cos(angle + turn))},${near(tip[1] + reach * Math.sin(angle + turn))}`;
    return `M${corner(0, size)}L${corner(2.4, size * 0.75)}L${corner(-2.4, size * 0.75)}Z`;
  }

  function picture(drawing) {
    const view = geometry(drawing);
    const about = drawing.links.some((link) => link[4]);
    const lines = drawing.links.length;
    const words = `${drawing.title}: ${drawing.nodes.length} nodes and ${lines} lines. ${drawing.note}`;
    const image = shape("svg", {
      viewBox: `0 0 ${near(view.wide)} ${near(view.high)}`, role: "img", "aria-label": words, class: "net",
      style: "", "data-nodes": drawing.nodes.length,
    });
    image.removeAttribute("style");
    const under = shape("g", { class: "links" });
    if (lines > 600) under.classList.add("many");
    const bulk = [];
    for (const [u, v, duplex, weight, marked] of drawing.links) {
      const bend = duplex && !(lines <= 300 && covered(view, u, v)) ? 0 : 0.14;
      const drawn = curve(view, u, v, bend, duplex ? 0 : 5);
      if (lines > 600 && !marked) {
        bulk.push(drawn.line);
        continue;
      }
      const kind = about && marked ? "link marked" : "link";
      const own = shape("path", { d: drawn.line, class: kind });
      own.style.strokeWidth = String((kind === "link" ? 0.8 : 2.2) + 1.2 * weight);
      const [from, to] = [drawing.nodes[u][0], drawing.nodes[v][0]];
      own.append(shape("title", {}, `${from} ${duplex ? "\u2194" : "\u2192"} ${to}${marked ? ": binds" : ""}`));
      under.append(own);
      if (!duplex) under.append(shape("path", { d: head(drawn.end, drawn.angle, 5), class: `${kind} head` }));
    }
    if (bulk.length) under.append(shape("path", { d: bulk.join(""), class: "link" }));
    const active = shape("g", { class: "active" });
    const nodes = shape("g", { class: "nodes" });
    const longest = Math.max(...drawing.nodes.map((node) => node[0].length));
    const rings = drawing.nodes.map(([name, , , group], node) => {
      const [x, y] = view.place[node].map(near);
      const legend = drawing.legend[group] || "";
      const box = shape("g", { class: `node group${group % 6}${legend.includes("switch") ? " switch" : ""}` });
      const r = near(view.radius);
      if (legend.startsWith("box")) box.append(shape("rect", { x: x - 2 * r, y: y - r, width: 4 * r, height: 2 * r, rx: 3, class: "body" }));
      else if (legend.includes("switch")) box.append(shape("rect", { x: x - r, y: y - r, width: 2 * r, height: 2 * r, rx: 3, class: "body" }));
      else box.append(shape("circle", { cx: x, cy: y, r, class: "body" }));
      const ring = shape("circle", {
        cx: x, cy: y, r: near(view.radius * 0.85), class: "ring", pathLength: 100, transform: `rotate(-90 ${x} ${y})`,
      });
      ring.style.strokeWidth = String(near(Math.max(2.5, view.radius * 0.3)));
      const title = shape("title", {}, `${name} (${legend})`);
      box.append(ring, title);
      if ((longest <= 3 && view.radius >= 6) || (legend.startsWith("box") && view.radius >= 8 && name.length <= 8)) {
        const text = shape("text", { x, y, class: "inside" }, name);
        text.style.fontSize = `${near(Math.min(24, view.radius * 0.95, (4.8 * view.radius) / Math.max(name.length, 3)))}px`;
        box.append(text);
      } else if (drawing.nodes.length <= 48) {
        box.append(shape("text", { x, y: near(y + view.radius + 11), class: "below" }, name));
      }
      nodes.append(box);
      return { ring, title, name, box };
    });
    image.append(under, active, nodes);
    return { image, view, rings, active };
  }

  function groups(drawing) {
    const list = make("ul", { class: "legend" });
    if (drawing.legend.length < 2) return list;
    drawing.legend.forEach((name, group) => {
      if (!drawing.nodes.some((node) => node[3] === group)) return;
      const sample = shape("svg", { viewBox: "0 0 14 14", width: 14, height: 14, "aria-hidden": "true" });
      const own = shape("g", { class: `node group${group % 6}` });
      own.append(/switch|^box/.test(name) ? shape("rect", { x: 1, y: 1, width: 12, height: 12, rx: 2, class: "body" })
        : shape("circle", { cx: 7, cy: 7, r: 6, class: "body" }));
      sample.append(own);
      list.append(make("li", {}, sample, make("span", {}, name)));
    });
    return list;
  }

  function drawing(box) {
    const part = partOf(box);
    if (part.kind === "orbits") box.append(panels(part));
    else box.append(picture(part).image, groups(part));
  }

  // The links of every orbit in a picture of its own; one of them stands out.
  function panels(part) {
    const view = geometry(part);
    const flat = view.wide > 2.5 * view.high;
    const list = make("div", { class: flat ? "panels flat" : "panels" });
    part.orbits.forEach((name, orbit) => {
      const lines = part.links.filter((_, place) => part.orbit_of[place] === orbit);
      const image = shape("svg", {
        viewBox: `0 0 ${near(view.wide)} ${near(view.high)}`, role: "img", class: "net", "aria-label": `${lines.length} links such as ${name}`,
      });
      const path = ([u, v, duplex]) => curve(view, u, v, duplex ? 0 : 0.14, 0).line;
      image.append(shape("path", { d: lines.map(path).join(""), class: `arc orbit${orbit % 6}` }));
      image.append(shape("path", { d: view.place.map(([x, y]) => `M${near(x)} ${near(y)}h0`).join(""), class: "dots" }));
      image.append(shape("path", { d: path(lines[0]), class: "arc first" }));
      list.append(make("figure", {}, image, make("figcaption", {}, `${lines.length} such as ${name}`)));
    });
    return list;
  }

  // ---- the player -------------------------------------------------------------------------------------------------

  function player(box) {
    const part = partOf(box);
    const drawn = picture(part.drawing);
    const sends = part.sends;
    const many = sends.from.length;
    const cells = part.cuts.length - 1;
    const width = Array.from({ length: cells }, (_, cell) => part.cuts[cell + 1] - part.cuts[cell]);
    const last = part.instants.length;
    const members = (who) => who || part.members;
    const full = part.blocks.map((block) => (part.adds ? members(block.from).length : 1));
    const wanted = part.drawing.nodes.map(() => []);
    part.blocks.forEach((block, number) => members(block.to).forEach((node) => wanted[node].push(number)));
    const starting = Array.from({ length: last }, () => []);
    const ending = Array.from({ length: last + 1 }, () => []);
    for (let send = 0; send < many; send += 1) {
      starting[sends.from[send]].push(send);
      ending[sends.to[send]].push(send);
    }
    const amount = (send) => part.cuts[sends.high[send]] - part.cuts[sends.low[send]];
    let held;
    let flying;
    let now = -1;
    let timer = null;
    let follow = -1;

    function reset() {
      held = part.drawing.nodes.map(() => new Int32Array(part.blocks.length * cells));
      part.blocks.forEach((block, number) => members(block.from).forEach((node) => {
        held[node].fill(1, number * cells, (number + 1) * cells);
      }));
      flying = new Map();
      now = 0;
    }

    // From one instant to the next: what starts takes what its node has now, and what ends is stored or added up.
    function advance() {
      for (const send of starting[now]) {
        const base = sends.block[send] * cells;
        const way = part.paths[sends.path[send]];
        flying.set(send, held[way[0]].slice(base + sends.low[send], base + sends.high[send]));
      }
      now += 1;
      for (const send of ending[now]) {
        const way = part.paths[sends.path[send]];
        const own = held[way[way.length - 1]];
        const base = sends.block[send] * cells + sends.low[send];
        flying.get(send).forEach((value, cell) => {
          own[base + cell] = sends.add[send] ? own[base + cell] + value : Math.max(own[base + cell], value);
        });
        flying.delete(send);
      }
    }

    function share(node, blocks) {
      let [got, all] = [0, 0];
      for (const block of blocks) {
        for (let cell = 0; cell < cells; cell += 1) got += (held[node][block * cells + cell] * width[cell]) / full[block];
        all += part.units;
      }
      return all ? got / all : null;
    }

    function complete() {
      return wanted.every((blocks, node) => blocks.every((block) => {
        for (let cell = 0; cell < cells; cell += 1) if (held[node][block * cells + cell] !== full[block]) return false;
        return true;
      }));
    }

    function go(instant) {
      const target = Math.max(0, Math.min(last, instant));
      if (now < 0 || target < now) reset();
      while (now < target) advance();
      show();
    }

    function show() {
      const active = [];
      if (now > 0) {
        for (let send = 0; send < many; send += 1) {
          if (sends.from[send] < now && sends.to[send] >= now) active.push(send);
        }
      }
      const loads = new Map();
      for (const send of active) {
        const way = sends.path[send];
        if (!loads.has(way)) loads.set(way, []);
        loads.get(way).push(send);
      }
      const most = Math.max(1, ...[...loads.values()].map((own) => own.reduce((sum, send) => sum + amount(send), 0)));
      drawn.active.replaceChildren();
      for (const [way, own] of loads) {
        const carries = follow < 0 || own.some((send) => sends.block[send] === follow);
        const sum = own.reduce((total, send) => total + amount(send), 0);
        const stops = part.paths[way];
        for (let hop = 0; hop + 1 < stops.length; hop += 1) {
          const line = curve(drawn.view, stops[hop], stops[hop + 1], 0.14, 8);
          const arrow = shape("path", { d: line.line, class: carries ? "send" : "send faint" });
          arrow.style.strokeWidth = String(1.5 + (2.5 * sum) / most);
          drawn.active.append(arrow, shape("path", { d: head(line.end, line.angle, 8), class: carries ? "send head" : "send head faint" }));
        }
      }
      drawn.rings.forEach(({ ring, title, name, box: node }, place) => {
        const part_ = follow < 0 ? share(place, wanted[place]) : share(place, [follow]);
        const empty = part_ === null;
        ring.setAttribute("stroke-dasharray", `${empty ? 0 : Math.min(100, 100 * part_)} 200`);
        node.classList.toggle("full", part_ !== null && part_ > 1 - 1e-9);
        title.textContent = empty ? name : `${name}: ${short(100 * part_, 3)}%`;
      });
      const done = now === last && complete();
      box.dataset.instant = now;
      box.dataset.complete = done;
      slider.value = now;
      const what = now === 0 ? "Start" : part.instants[now - 1];
      slider.setAttribute("aria-valuetext", what);
      words.textContent = now === 0
        ? `Start: nothing has been sent. ${last} ${last === 1 ? "step" : "steps"} to come.`
        : `${what}: ${loads.size} ${loads.size === 1 ? "connection carries" : "connections carry"} data${done ? ". Every node has all that it should have." : ""}`;
      list(loads);
      back.disabled = first.disabled = now === 0;
      next.disabled = end.disabled = now === last;
    }

    function list(loads) {
      const name = (node) => part.drawing.nodes[node][0];
      const rows = [...loads].map(([way, own]) => {
        const stops = part.paths[way];
        const sums = new Map();
        for (const send of own) sums.set(sends.block[send], (sums.get(sends.block[send]) || 0) + amount(send));
        const blocks = [...sums].map(([block, sum]) => {
          const size = fraction(sum, part.units);
          return `${part.blocks[block].name}${size ? ` (${size})` : ""}`;
        });
        const via = stops.length > 2 ? ` over ${stops.slice(1, -1).map(name).join(", ")}` : "";
        return [`${name(stops[0])} \u2192 ${name(stops[stops.length - 1])}${via}`, blocks.join(", "), own];
      });
      const kept = rows.filter(([, , own]) => follow < 0 || own.some((send) => sends.block[send] === follow));
      carried.replaceChildren(...kept.slice(0, 300).map(([link, blocks]) => make("tr", {}, make("th", { scope: "row" }, link), make("td", {}, blocks))));
      if (!kept.length) carried.append(make("tr", {}, make("td", { colspan: 2 }, now === 0 ? "Nothing yet." : "Nothing.")));
    }

    function play() {
      if (timer !== null) {
        clearInterval(timer);
        timer = null;
      } else {
        if (now === last) go(0);
        timer = setInterval(() => {
          go(now + 1);
          if (now === last) play();
        }, Math.max(120, Math.min(1100, 20000 / last)));
      }
      playing();
      start.setAttribute("aria-pressed", String(timer !== null));
    }

    function step(by) {
      if (timer !== null) play();
      go(by === Infinity ? last : by === -Infinity ? 0 : now + by);
    }

    const icon = (path) => shape("svg", { viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true" }, shape("path", { d: path, fill: "currentColor" }));
    const button = (path, label, act) => make("button", { type: "button", "aria-label": label, onclick: act }, icon(path));
    const first = button("M2 2h2v12h-2zM14 2v12l-9-6z", "To the start", () => step(-Infinity));
    const back = button("M12 2v12l-9-6z", "One step back", () => step(-1));
    const start = make("button", { type: "button", class: "play", "aria-pressed": "false", onclick: play });
    const playing = () => start.replaceChildren(icon(timer === null ? "M4 2v12l10-6z" : "M3 2h4v12h-4zM9 2h4v12h-4z"), timer === null ? " Play" : " Pause");
    const next = button("M4 2v12l9-6z", "One step on", () => step(1));
    const end = button("M12 2h2v12h-2zM2 2v12l9-6z", "To the end", () => step(Infinity));
    const slider = make("input", { type: "range", min: 0, max: last, value: 0, "aria-label": "Step", oninput: () => step(Number(slider.value) - now) });
    const chooser = make("select", { onchange: () => { follow = Number(chooser.value); show(); } },
      make("option", { value: -1 }, "everything"),
      ...part.blocks.slice(0, 256).map((block, number) => make("option", { value: number }, `data of ${block.name}`)));
    const words = make("p", { class: "said", role: "status" });
    const carried = make("tbody", {});
    const stage = make("div", { class: "stage", tabindex: 0, role: "group", "aria-label": `${part.title}. Arrow keys step, space plays and pauses.` }, drawn.image);
    const table = make("div", { class: "carried", tabindex: 0, role: "region", "aria-label": "What each link carries" },
      make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Link"), make("th", { scope: "col" }, "Data of (part)"))), carried));
    stage.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
      if (by) step(by);
      else if (event.key === " ") play();
      else return;
      event.preventDefault();
    });
    box.append(
      make("div", { class: "controls", role: "group", "aria-label": "Player" }, first, back, start, next, end, slider,
        make("label", {}, "Follow ", chooser)),
      words, make("div", { class: "split" }, stage, table), groups(part.drawing));
    playing();
    go(0);
  }

  // ---- what is chosen ---------------------------------------------------------------------------------------------

  let chosen = data.chosen;
  const makers = { drawing, player };

  function render() {
    for (const [kind, maker] of Object.entries(makers)) {
      for (const box of document.querySelectorAll(`.${kind}:not([data-made])`)) {
        if (box.closest("[hidden]")) continue;
        box.dataset.made = "";
        maker(box);
      }
    }
  }

  function choose(number) {
    chosen = number;
    for (const box of document.querySelectorAll(".choice")) box.hidden = Number(box.dataset.choice) !== number;
    for (const row of document.querySelectorAll("[data-pick]")) {
      row.classList.toggle("chosen", Number(row.dataset.pick) === number);
      const input = row.querySelector("input"); // points of charts have none
      if (input) input.checked = Number(row.dataset.pick) === number;
    }
    for (const link of document.querySelectorAll("nav [data-place]")) {
      link.setAttribute("href", `#c${number}s${link.dataset.place}`);
    }
    render();
  }

  for (const row of document.querySelectorAll("[data-pick]")) {
    row.addEventListener("click", () => choose(Number(row.dataset.pick)));
    row.querySelector("input")?.addEventListener("change", () => choose(Number(row.dataset.pick)));
  }

  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
  });
  for (const box of document.querySelectorAll(".wide")) box.tabIndex = 0;
  choose(chosen);
})();
