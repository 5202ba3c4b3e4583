// A receipt verifies itself: its digest is made anew here, of the bytes that the page shows, by the browser's own SHA-256.
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const names = Object.keys(value).sort(); // by UTF-16 code units, as RFC 8785 says
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

async function sha256(text) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function holds(shown) {
  try {
    const { receiptSha256, ...facts } = JSON.parse(shown.querySelector("pre").textContent);
    return receiptSha256 === shown.dataset.receipt && (await sha256(canonical(facts))) === receiptSha256;
  } catch {
    return false;
  }
}

async function check(shown) {
  const good = await holds(shown);
  const badge = document.createElement("span");
  badge.className = `badge ${good ? "done" : "failed"}`;
  badge.textContent = good ? "Holds" : "Does not hold";
  const words = good
    ? " This browser made the digest anew: it is the receipt's."
    : " This browser made the digest anew: it is another than the receipt's.";
  const said = shown.querySelector("[data-checked]");
  said.replaceChildren(badge, words);
  said.dataset.checked = good ? "holds" : "broken";
}

if (globalThis.crypto?.subtle) { // only over TLS and on this machine
  for (const shown of document.querySelectorAll("[data-receipt]")) {
    const again = shown.querySelector("[data-recheck]");
    again.hidden = false;
    again.addEventListener("click", () => check(shown));
    check(shown);
  }
}
