// Keys of queues and of a nomination. A row is `data-row`, what is focused in it `data-open`; `data-key` names the
// key of a link or a button, of the current row where it stands in one. Without script the same links and buttons are there.
const rows = [...document.querySelectorAll("[data-row]")];
const target = (row) => row.querySelector("[data-open]");

function step(by) {
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1);
  if (rows[next]) target(rows[next]).focus();
}

function currentRow() {
  return rows.find((row) => row.contains(document.activeElement));
}

// The rejection of several needs one that is chosen: the current row's, when there is none.
function choose(row) {
  const boxes = rows.map((one) => one.querySelector("input[type=checkbox]")).filter(Boolean);
  const own = row?.querySelector("input[type=checkbox]");
  if (own && !boxes.some((box) => box.checked)) own.checked = true;
  return !boxes.length || boxes.some((box) => box.checked);
}

function press(key) {
  const own = currentRow()?.querySelector(`[data-key="${key}"]`);
  const found = own ?? document.querySelector(`[data-key="${key}"]:not([data-row] *)`);
  if (found && key === "r" && found.form && !choose(currentRow())) return true;
  found?.click();
  return found !== null;
}

function open(row) {
  const link = row && target(row);
  if (!link?.href) return false;
  link.click();
  return true;
}

function act(key) {
  const row = currentRow();
  if (key === "j") step(1);
  else if (key === "k") step(-1);
  else if (key === " ") {
    const box = row?.querySelector("input[type=checkbox]");
    if (!box || box === document.activeElement) return false; // the browser ticks what is focused
    box.click();
  } else if (["a", "n", "r", "v"].includes(key)) return press(key) || (key === "a" && open(row));
  else return false;
  return true;
}

document.addEventListener("keydown", (event) => {
  const typed = event.target.closest("textarea, select, input:not([type=checkbox]), dialog");
  if (typed || event.ctrlKey || event.metaKey || event.altKey || event.repeat && event.key !== "j" && event.key !== "k") return;
  if (act(event.key)) event.preventDefault();
});

// The first row of a queue takes the keys at once.
if (rows.length && document.querySelector("table.rows") && document.activeElement === document.body) target(rows[0]).focus({ preventScroll: true });
