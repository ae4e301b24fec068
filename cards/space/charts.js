// The chart of score against cost: the frontier of the models that are shown, and names inside the plot.
const DOT = 24;
const DIRECTIONS = [[-1, -0.8], [0, -1], [1, -0.8], [1, 0], [-1, 0], [1, 0.8], [-1, 0.8], [0, 1]];
const DISTANCES = [16, 30, 46, 64, 84, 110];

// Draws the frontier and names its models; `isShown` says whether a model matches the search.
function drawChart(plot, isShown) {
  const [width, height] = [plot.clientWidth, plot.clientHeight];
  for (const item of plot.querySelectorAll("[data-model]")) item.hidden = !isShown(item.dataset.model);
  for (const label of plot.querySelectorAll(".label")) label.hidden = true;
  if (!width) return; // another tab is shown
  const points = [...plot.querySelectorAll(".dot")].filter((dot) => !dot.hidden).map((dot) => ({
    dot,
    label: dot.nextElementSibling,
    x: (Number(dot.dataset.x) / 100) * width,
    y: (1 - Number(dot.dataset.y) / 100) * height,
  }));
  points.sort((one, other) => one.x - other.x || one.y - other.y);
  const front = [];
  for (const point of points) {
    const best = front.at(-1);
    if (!best || point.y < best.y - 1e-6) front.push(point);
    point.dot.classList.toggle("on-front", front.at(-1) === point);
  }
  const steps = front.map((point, index) => {
    const [x, y] = [(100 * point.x) / width, (100 * point.y) / height];
    return index ? `H${x} V${y}` : `M${x},${y}`;
  });
  plot.querySelector(".front").setAttribute("d", front.length ? `${steps.join(" ")} H100` : "");
  const taken = points.map(({ x, y }) => ({ left: x - DOT / 2, top: y - DOT / 2, right: x + DOT / 2, bottom: y + DOT / 2 }));
  const whiskers = points.map(({ dot, x }) => {
    const { offsetTop: top, offsetHeight: length } = dot.previousElementSibling;
    return { left: x - 2, top, right: x + 2, bottom: top + length };
  });
  for (const [index, { x, y }] of front.entries()) {
    const next = front[index + 1] || { x: width, y };
    taken.push({ left: x, top: y - 3, right: next.x, bottom: y + 3 });
    taken.push({ left: next.x - 3, top: next.y, right: next.x + 3, bottom: y });
  }
  const leaders = [];
  for (const point of [...front].reverse()) {
    // Rather over a whisker than far away.
    const [near, far] = [DISTANCES.slice(0, 3), DISTANCES];
    const box = [[near, whiskers], [near, []], [far, []]].reduce(
      (found, [distances, also]) => found || placeLabel(point, [...taken, ...also], width, height, distances),
      null,
    );
    if (!box) continue; // no room: pointing at the dot shows it
    taken.push(box);
    if (box.distance < DISTANCES[1]) continue;
    const [x, y] = [clamp(point.x, box.left, box.right), clamp(point.y, box.top, box.bottom)];
    leaders.push([point.x, point.y, x, y].map((value, index) => (100 * value) / (index % 2 ? height : width)));
  }
  const drawn = leaders.map(([x, y, toX, toY]) => `M${x},${y} L${toX},${toY}`);
  plot.querySelector(".leaders").setAttribute("d", drawn.join(" "));
}

// Shows a label at the nearest free place inside the plot, and returns its box; or hides it.
function placeLabel({ label, x, y }, taken, width, height, distances = DISTANCES) {
  label.hidden = false;
  const [w, h] = [label.offsetWidth, label.offsetHeight];
  for (const distance of distances) {
    for (const [right, down] of DIRECTIONS) {
      const left = x + right * distance - (right < 0 ? w : right === 0 ? w / 2 : 0);
      const top = y + down * distance - h / 2;
      const box = { left, top, right: left + w, bottom: top + h, distance };
      if (left < 0 || top < 0 || box.right > width || box.bottom > height) continue;
      if (taken.some((other) => overlaps(box, other))) continue;
      label.style.left = `${left}px`;
      label.style.top = `${top}px`;
      return box;
    }
  }
  label.hidden = true;
  return null;
}

function overlaps(one, other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

// Shows the name of the dot that is pointed at or has the focus, over whatever is there.
function nameDot(dot, on) {
  const [label, plot] = [dot.nextElementSibling, dot.closest(".plot")];
  if (!on && label.classList.contains("pointed")) {
    label.classList.remove("pointed");
    label.hidden = true;
  }
  if (on && label.hidden) {
    const [x, y] = [(Number(dot.dataset.x) / 100) * plot.clientWidth, (1 - Number(dot.dataset.y) / 100) * plot.clientHeight];
    label.classList.add("pointed");
    placeLabel({ label, x, y }, [], plot.clientWidth, plot.clientHeight);
  }
}
