// The chart of score against cost: the frontier of the models that are shown, and names inside the plot.
// Sizes in pixels; a label is tried in each direction at each distance from its dot.
const DOT = 24;
const DIRECTIONS = [[-1, -0.8], [0, -1], [1, -0.8], [1, 0], [-1, 0], [1, 0.8], [-1, 0.8], [0, 1]];
const DISTANCES = [16, 30, 46, 64, 84, 110];

// Draws the frontier of the models in the set `shown`, and names those on it.
function drawChart(plot, shown) {
  const [width, height] = [plot.clientWidth, plot.clientHeight];
  for (const item of plot.querySelectorAll("[data-model]")) item.hidden = !shown.has(item.dataset.model);
  for (const label of plot.querySelectorAll(".label")) label.hidden = true;
  if (!width) return; // another tab is shown
  const points = [...plot.querySelectorAll(".dot")].filter((dot) => !dot.hidden).map((dot) => ({
    dot,
    label: dot.nextElementSibling,
    ...position(dot, plot),
  }));
  points.sort((one, other) => one.x - other.x || one.y - other.y);
  const front = [];
  for (const point of points) {
    const best = front.at(-1);
    if (!best || point.y < best.y - 1e-6) front.push(point);
    point.dot.classList.toggle("on-front", front.at(-1) === point);
  }
  const across = (x) => (100 * x) / width;
  const down = (y) => (100 * y) / height;
  const steps = front.map(({ x, y }, index) => (index ? `H${across(x)} V${down(y)}` : `M${across(x)},${down(y)}`));
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
    const near = DISTANCES.slice(0, 3);
    const box =
      placeLabel(point, plot, [...taken, ...whiskers], near) ||
      placeLabel(point, plot, taken, near) ||
      placeLabel(point, plot, taken, DISTANCES);
    if (!box) continue; // no room: pointing at the dot shows it
    taken.push(box);
    if (box.distance < DISTANCES[1]) continue;
    const [x, y] = [clamp(point.x, box.left, box.right), clamp(point.y, box.top, box.bottom)];
    leaders.push(`M${across(point.x)},${down(point.y)} L${across(x)},${down(y)}`);
  }
  plot.querySelector(".leaders").setAttribute("d", leaders.join(" "));
}

// Returns where a dot is, in pixels from the upper left corner of the plot.
function position(dot, plot) {
  const [x, y] = [Number(dot.dataset.x) / 100, 1 - Number(dot.dataset.y) / 100];
  return { x: x * plot.clientWidth, y: y * plot.clientHeight };
}

// Shows a label at the nearest free place inside the plot, and returns its box; or hides it.
function placeLabel({ label, x, y }, plot, taken, distances) {
  label.hidden = false;
  const [w, h] = [label.offsetWidth, label.offsetHeight];
  for (const distance of distances) {
    for (const [right, down] of DIRECTIONS) {
      const left = x + right * distance - (right < 0 ? w : right === 0 ? w / 2 : 0);
      const top = y + down * distance - h / 2;
      const box = { left, top, right: left + w, bottom: top + h, distance };
      if (left < 0 || top < 0 || box.right > plot.clientWidth || box.bottom > plot.clientHeight) continue;
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
    label.classList.add("pointed");
    placeLabel({ label, ...position(dot, plot) }, plot, [], DISTANCES);
  }
}
