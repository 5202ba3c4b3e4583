// Times in words stay true while the page is open. The words are those of `time_ago` in memoryhub/templatetags/hub.py.
const SPANS = [
  [365 * 86_400, 365 * 86_400, "year"],
  [60 * 86_400, 30 * 86_400, "month"],
  [86_400, 86_400, "day"],
  [3_600, 3_600, "hour"],
  [60, 60, "minute"],
];
const REFRESH_MILLISECONDS = 20_000;

export function timeAgo(seconds) {
  for (const [least, one, noun] of SPANS) {
    if (seconds < least) continue;
    const count = Math.floor(seconds / one);
    return `${count} ${noun}${count === 1 ? "" : "s"} ago`;
  }
  return "just now";
}

const shown = () => document.querySelectorAll("time[data-ago]");
const words = (time, more = 0) => timeAgo((Date.now() - Date.parse(time.dateTime)) / 1000 + more);
// Where this machine's clock says something else than the hub's, the hub's words stay. The page was some time on its way.
const SLACK_SECONDS = 10;
const agrees = (time) => [-SLACK_SECONDS, 0, SLACK_SECONDS].some((more) => words(time, more) === time.textContent);
const disputed = new WeakSet([...shown()].filter((time) => !agrees(time)));

function refresh() {
  for (const time of shown()) {
    if (!disputed.has(time) && time.textContent !== words(time)) time.textContent = words(time);
  }
}

setInterval(refresh, REFRESH_MILLISECONDS);
document.addEventListener("visibilitychange", refresh);
