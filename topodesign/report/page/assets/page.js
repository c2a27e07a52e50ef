// The moving parts of a report: charts, drawings, the player, and what is chosen. All text goes in as text, never as HTML.
(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const SVG = "http://www.w3.org/2000/svg";
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 2]];
  const SHAPES = ["circle", "square", "triangle", "diamond"];
  const charts = new Map(); // the box of a chart: how to draw it again

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

  function colour(name) {
    return getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  }

  function isDark() {
    if (root.dataset.theme) return root.dataset.theme === "dark";
    return matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function short(value, digits) {
    return String(Number(value.toPrecision(digits)));
  }

  function seconds(value, digits) {
    for (const [unit, name] of [[1, "s"], [1e-3, "ms"], [1e-6, "us"]]) {
      if (value >= unit || unit === 1e-6) return `${short(value / unit, digits)}${name}`;
    }
  }

  function bytes(value, digits) {
    const power = Math.max(0, Math.min(4, Math.floor(Math.log2(Math.max(value, 1)) / 10)));
    return `${short(value / 2 ** (10 * power), digits)}${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
  }

  function shown(value, label, more = 0) {
    if (label === "seconds") return seconds(value, 4 + more);
    return label.includes("bytes") ? bytes(value, 4 + more) : short(value, 6 + more);
  }

  // Ticks with as many digits as tell one from another.
  function told(ticks, label) {
    const real = ticks.filter((tick) => tick !== null);
    let more = 0;
    while (more < 9 && new Set(real.map((tick) => shown(tick, label, more))).size < real.length) more += 1;
    return ticks.map((tick) => (tick === null ? "" : shown(tick, label, more)));
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

  // ---- charts -----------------------------------------------------------------------------------------------------

  function looks(series) {
    const ours = ["one", "two", "three", "four", "five", "six"];
    let own = 0;
    let others = 0;
    return series.map((one) => {
      if (one.role === "bound") return { colour: colour("ink"), dash: [4, 4], shape: "star", width: 1.5 };
      if (one.role === "other") {
        others += 1;
        return { colour: colour("muted"), dash: DASHES[others % 6], shape: SHAPES[others % 4], width: 1.5 };
      }
      own += 1;
      return {
        colour: colour(ours[(own - 1) % 6]), dash: DASHES[(own - 1) % 6], shape: SHAPES[(own - 1) % 4], width: 2.25,
      };
    });
  }

  function mark(pen, look, x, y, size) {
    const parts = { circle: 0, square: 4, triangle: 3, diamond: 4, star: 10 }[look.shape];
    const turn = { square: Math.PI / 4, triangle: -Math.PI / 2, diamond: 0, star: -Math.PI / 2 }[look.shape] || 0;
    pen.beginPath();
    if (!parts) pen.arc(x, y, size, 0, 2 * Math.PI);
    for (let place = 0; place < parts; place += 1) {
      const reach = size * (look.shape === "star" ? (place % 2 ? 0.6 : 1.5) : 1.25);
      const angle = turn + (2 * Math.PI * place) / parts;
      pen.lineTo(x + reach * Math.cos(angle), y + reach * Math.sin(angle));
    }
    pen.closePath();
    pen.fillStyle = look.colour;
    pen.fill();
    pen.lineWidth = size / 4;
    pen.strokeStyle = colour("card");
    pen.stroke();
  }

  function marks(u, part, look) {
    const pen = u.ctx;
    const ratio = devicePixelRatio;
    pen.save();
    part.series.forEach((one, place) => {
      const at = (x, y) => [u.valToPos(x, "x", true), u.valToPos(y, "y", true)];
      pen.fillStyle = pen.strokeStyle = look[place].colour;
      if (one.style === "level") {
        pen.setLineDash([2 * ratio, 3 * ratio]);
        pen.lineWidth = ratio;
        pen.beginPath();
        pen.moveTo(u.bbox.left, at(0, one.y[0])[1]);
        pen.lineTo(u.bbox.left + u.bbox.width, at(0, one.y[0])[1]);
        pen.stroke();
        pen.setLineDash([]);
      } else if (one.style === "points") {
        one.x.forEach((x, k) => {
          const [left, top] = at(x, one.y[k]);
          mark(pen, look[place], left, top, 6 * ratio);
          if (part.chooses && place === 0 && k === chosen) {
            pen.beginPath();
            pen.arc(left, top, 11 * ratio, 0, 2 * Math.PI);
            pen.strokeStyle = look[0].colour;
            pen.lineWidth = 2 * ratio;
            pen.stroke();
          }
        });
      } else if (one.style === "spans") {
        const high = Math.abs(at(0, 1)[1] - at(0, 0)[1]) * 0.8;
        one.x.forEach((x, k) => {
          const [left, top] = at(x, one.y[k]);
          const wide = Math.max(ratio, at(one.until[k], 0)[0] - left);
          pen.fillRect(left, top - high / 2, wide, high);
          pen.strokeStyle = colour("card");
          pen.lineWidth = ratio / 2;
          pen.strokeRect(left, top - high / 2, wide, high);
        });
      }
    });
    pen.fillStyle = pen.strokeStyle = colour("soft");
    pen.font = `${11 * ratio}px system-ui, sans-serif`;
    pen.textAlign = "center";
    for (const one of part.marks) {
      const left = u.valToPos(one.x, "x", true);
      pen.setLineDash([2 * ratio, 3 * ratio]);
      pen.lineWidth = ratio;
      pen.beginPath();
      pen.moveTo(left, u.bbox.top);
      pen.lineTo(left, u.bbox.top + u.bbox.height);
      pen.stroke();
      pen.save();
      pen.translate(left - 5 * ratio, u.bbox.top + u.bbox.height / 2);
      pen.rotate(-Math.PI / 2);
      pen.fillText(one.text, 0, 0);
      pen.restore();
    }
    pen.restore();
  }

  function range(part, axis) {
    const every = part.series.filter((one) => one.style !== "level" || axis === "y");
    const values = every.flatMap((one) => [...one[axis], ...(axis === "x" ? one.until : [])]);
    let low = Math.min(...values);
    let high = Math.max(...values);
    if (part[axis].scale !== "linear") return axis === "x" ? [low, high] : [low / 1.3, high * 1.3];
    if (part.lanes.length) return axis === "y" ? [-0.6, part.lanes.length - 0.4] : [0, high];
    if (axis === "y" && part.series.some((one) => one.style === "bars")) return [0, high * 1.08];
    const room = axis === "x" && Number.isInteger(low) ? 0.6 : (high - low || Math.abs(high) || 1) * 0.12;
    return [low - room, high + room];
  }

  function axis(part, name, narrow) {
    const label = part[name].label;
    const made = {
      label, labelSize: 20, labelFont: "12px system-ui, sans-serif", font: "12px system-ui, sans-serif",
      filter: (_, ticks) => ticks, stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 },
      values: (_, ticks) => told(ticks, label),
    };
    const longest = Math.max(0, ...part.lanes.map((lane) => lane.length));
    if (name === "y") made.size = part.lanes.length ? Math.max(70, Math.min(narrow ? 120 : 160, 6 * longest + 14)) : 72;
    if (label.includes("bytes")) made.splits = () => ticksOfBytes(part, narrow);
    else if (part[name].scale === "log2") {
      made.splits = () => ticksOfFactors(part, name);
      made.values = (_, ticks) => ticks.map((tick) => (tick < 1 ? `1/${Math.round(1 / tick)}` : String(tick)));
    } else if (part[name].scale === "log") made.splits = () => ticksOfLog(part, name);
    const whole = part.series.every((one) => [...one[name], ...(name === "x" ? one.until : [])].every(Number.isInteger));
    if (whole) made.incrs = Array.from({ length: 36 }, (_, place) => [1, 2, 5][place % 3] * 10 ** Math.floor(place / 3));
    if (name === "y" && part.lanes.length) {
      made.splits = () => part.lanes.map((_, place) => place);
      made.values = (_, ticks) => ticks.map((tick) => part.lanes[tick]);
      made.label = null;
      made.labelSize = 0;
      made.grid = { show: false };
      made.font = "10px system-ui, sans-serif";
    }
    return made;
  }

  function ticksOfBytes(part, narrow) {
    const [low, high] = range(part, "x");
    const ticks = [];
    for (let power = Math.ceil(Math.log2(low)); power <= Math.log2(high); power += narrow ? 10 : 4) ticks.push(2 ** power);
    return ticks;
  }

  function ticksOfFactors(part, name) {
    const [low, high] = range(part, name);
    return [-8, -6, -4, -2, 0, 2, 4, 6, 8].map((power) => 2 ** power).filter((tick) => tick >= low && tick <= high);
  }

  function ticksOfLog(part, name) {
    const [low, high] = range(part, name);
    const between = high / low > 1e3 ? [1] : [1, 2, 5];
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      ticks.push(...between.map((by) => by * 10 ** power).filter((tick) => tick >= low && tick <= high));
    }
    return ticks;
  }

  function chart(box) {
    const part = partOf(box);
    const hover = document.getElementById(`${box.id}t`);
    let plot = null;
    let width = 0;
    let place = 0;
    const xs = [...new Set(part.series.filter((one) => one.style !== "level").flatMap((one) => one.x))];
    xs.sort((a, b) => a - b);
    const spans = part.series.some((one) => one.style === "spans");

    function say(index) {
      if (index === null || index === undefined) return;
      place = index;
      const words = [];
      for (const one of part.series) {
        one.x.forEach((x, k) => {
          if (x !== xs[index] || one.style === "level" || (spans && words.length > 5)) return;
          if (one.texts[k] && !spans) words.push(one.texts[k]);
          else if (spans) words.push(`${part.lanes[one.y[k]]} (${one.texts[k]})`);
          else if (one.name) words.push(`${one.name}: ${shown(one.y[k], part.y.label)}`);
        });
      }
      hover.classList.add("told");
      hover.textContent = `${shown(xs[index], part.x.label)} \u2013 ${words.join("; ")}`;
    }

    function move(by) {
      place = Math.max(0, Math.min(xs.length - 1, place + by));
      plot.setCursor({ left: plot.valToPos(xs[place], "x"), top: plot.over.clientHeight / 2 });
      say(place);
    }

    function pick() {
      const number = part.chooses ? part.series[0].x.indexOf(xs[place]) : -1;
      if (number >= 0) choose(number);
    }

    function draw() {
      if (plot) plot.destroy();
      const printing = root.dataset.printing !== undefined;
      width = printing ? Math.min(box.clientWidth, box.closest(".pair") ? 310 : 640) : box.clientWidth;
      const look = looks(part.series);
      const table = part.series.filter((one) => !["level", "spans"].includes(one.style)).map((one) => {
        const at = new Map(one.x.map((x, k) => [x, one.y[k]]));
        return xs.map((x) => (at.has(x) ? at.get(x) : null));
      });
      const series = part.series.map((one, k) => [one, look[k]]).filter(([one]) => !["level", "spans"].includes(one.style));
      const narrow = width < 520;
      const plain = printing ? 260 : narrow ? 260 : 320;
      const high = part.lanes.length ? Math.max(220, 90 + 15 * part.lanes.length) : plain;
      const scale = (name) => ({
        time: false, distr: part[name].scale === "linear" ? 1 : 3, log: part[name].scale === "log2" ? 2 : 10,
        range: () => range(part, name), dir: name === "y" && part.lanes.length ? -1 : 1,
      });
      plot = new uPlot({
        width, height: high, legend: { show: false }, padding: [14, 30, 0, 0],
        cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
        scales: { x: scale("x"), y: scale("y") },
        axes: [axis(part, "x", narrow), axis(part, "y", narrow)],
        series: [{}, ...series.map(([one, own]) => ({
          label: one.name, stroke: own.colour, width: own.width, dash: own.dash, points: { show: false },
          spanGaps: true,
          ...(one.style === "bars" ? { fill: own.colour, paths: uPlot.paths.bars({ size: [0.6, 60] }), dash: [] } : {}),
          ...(one.style === "steps" ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
          ...(one.style === "points" ? { paths: () => null } : {}),
        })), ...(spans ? [{ points: { show: false } }] : [])],
        hooks: { draw: [(u) => marks(u, part, look)], setCursor: [(u) => { if (u.cursor.left >= 0) say(u.cursor.idx); }] },
      }, [xs, ...table, ...(spans ? [xs.map(() => null)] : [])], box);
      plot.over.addEventListener("click", pick);
      plot.root.setAttribute("aria-hidden", "true");
      const key = legend(part, look);
      const old = box.parentElement.querySelector(".legend");
      if (old) old.replaceWith(key);
      else box.after(key);
    }

    box.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, Home: -xs.length, End: xs.length }[event.key];
      if (by) move(by);
      else if (part.chooses && (event.key === "Enter" || event.key === " ")) pick();
      else return;
      event.preventDefault();
    });
    new ResizeObserver(() => {
      if (box.clientWidth && box.clientWidth !== width && root.dataset.printing === undefined) draw();
    }).observe(box);
    charts.set(box, draw);
    draw();
  }

  function legend(part, look) {
    const list = make("ul", { class: "legend" });
    const named = part.series.map((one, place) => [one, look[place]]).filter(([one]) => one.name);
    if (named.length < 2 || named.length > 12) return list;
    for (const [one, own] of named) {
      const sample = shape("svg", { viewBox: "0 0 28 12", width: 28, height: 12, "aria-hidden": "true" });
      if (["bars", "spans"].includes(one.style)) {
        sample.append(shape("rect", { x: 6, y: 1, width: 16, height: 10, fill: own.colour }));
      } else if (one.style === "points") {
        const places = { circle: "M9 6a5 5 0 1 0 10 0a5 5 0 1 0-10 0", square: "M9 1h10v10h-10z", triangle: "M14 1l6 10h-12z",
          diamond: "M14 0l6 6l-6 6l-6-6z", star: "M14 0l2 4 5 .5-4 3 1.500 4.500-4.500-2.500-4.500 2.500 1.500-4.500-4-3 5-.5z" };
        sample.append(shape("path", { d: places[own.shape], fill: own.colour }));
      } else {
        sample.append(shape("path", {
          d: "M0 6H28", stroke: own.colour, "stroke-width": own.width, "stroke-dasharray": own.dash.join(" ") || "none",
        }));
      }
      list.append(make("li", {}, sample, make("span", {}, one.name)));
    }
    return list;
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
    const radius = Math.max(2.5, Math.min(22, 150 / Math.sqrt(many), Number.isFinite(nearest) ? nearest * scale * 0.4 : 22));
    const edge = radius + 26;
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
        text.style.fontSize = `${near(Math.min(15, view.radius * 0.95, (4.8 * view.radius) / Math.max(name.length, 3)))}px`;
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
  const makers = { chart, drawing, player };

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
      row.querySelector("input").checked = Number(row.dataset.pick) === number;
    }
    for (const link of document.querySelectorAll("nav [data-place]")) {
      link.setAttribute("href", `#c${number}s${link.dataset.place}`);
    }
    render();
    for (const [box, draw] of charts) if (partOf(box).chooses) draw();
  }

  for (const row of document.querySelectorAll("[data-pick]")) {
    row.addEventListener("click", () => choose(Number(row.dataset.pick)));
    row.querySelector("input").addEventListener("change", () => choose(Number(row.dataset.pick)));
  }

  function redraw() {
    for (const [box, draw] of charts) if (box.clientWidth) draw();
  }

  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let before;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    root.dataset.printing = "";
    redraw();
  });
  addEventListener("afterprint", () => {
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
    delete root.dataset.printing;
    redraw();
  });
  for (const box of document.querySelectorAll(".wide")) box.tabIndex = 0;
  choose(chosen);
})();
