"""Scripts for a page in the browser."""

#: Elements with their own text whose contrast with the background is below 4.5, each with that contrast.
LOW_CONTRAST = """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const paint = (colours) => {
  for (const colour of ["#fff", ...colours]) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
};
const found = [];
let seen = 0;
for (const item of document.querySelectorAll("body *")) {
  if (![...item.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
  if (!item.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
  const behind = [];
  for (let place = item; place; place = place.parentElement) behind.unshift(getComputedStyle(place).backgroundColor);
  const [high, low] = [paint(behind), paint([...behind, getComputedStyle(item).color])].sort((x, y) => y - x);
  const ratio = (high + 0.05) / (low + 0.05);
  seen += 1;
  if (ratio < 4.5) found.push(`${item.className} ${item.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
}
return [seen, [...new Set(found)]];
"""
