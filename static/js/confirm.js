// A link to a page that asks first opens that page's form as a dialog over the page it stands on.
const dialog = document.createElement("dialog");
dialog.className = "dialog";
dialog.setAttribute("aria-labelledby", "dialog-heading");

async function read(answer) {
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const heading = page.querySelector("main h1");
  const body = page.querySelector("main form.card, main section.card");
  return heading && body ? { heading, body } : null;
}

// The page below may have the same ids.
function renameIds(body) {
  for (const name of ["id", "for", "aria-describedby", "aria-labelledby", "aria-controls", "list"]) {
    for (const element of body.querySelectorAll(`[${name}]`)) {
      element.setAttribute(name, element.getAttribute(name).split(" ").map((id) => `dialog-${id}`).join(" "));
    }
  }
}

function show({ heading, body }) {
  const title = document.createElement("h2");
  title.id = "dialog-heading";
  title.append(...heading.childNodes);
  heading.remove();
  renameIds(body);
  body.removeAttribute("class");
  dialog.replaceChildren(title, document.adoptNode(body));
  let cancel = dialog.querySelector("[data-cancel]");
  if (!cancel) {
    cancel = document.createElement("button");
    cancel.className = "quiet";
    cancel.textContent = "Close";
    dialog.append(cancel);
  }
  cancel.addEventListener("click", (event) => { event.preventDefault(); dialog.close(); });
  if (!dialog.open) dialog.showModal();
  const wrong = dialog.querySelector('[aria-invalid="true"]');
  (wrong ?? dialog.querySelector("input:not([type=hidden]), textarea, select") ?? cancel).focus();
}

async function open(link) {
  const answer = await fetch(link.href, { headers: { "Hub-Dialog": "1" } });
  const shown = answer.ok && !answer.redirected ? await read(answer) : null;
  if (!shown) throw new Error("no form to show");
  document.body.append(dialog);
  dialog.addEventListener("close", () => { dialog.remove(); link.focus(); }, { once: true });
  show(shown);
}

async function send(form, submitter) {
  const body = new URLSearchParams(new FormData(form, submitter));
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  const answer = await fetch(form.action, { method: "POST", body, headers: { "Hub-Dialog": "1" } });
  const next = answer.headers.get("Hub-Location"); // instead of a redirect, which a script cannot see
  if (next) location.assign(new URL(next, location.href));
  else show(await read(answer));
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-confirm]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  open(link).catch(() => location.assign(link.href));
});

dialog.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  send(form, event.submitter).catch(() => form.submit());
});
