// Enhancements of the account pages: copy buttons, and the state of generations in progress. All pages work without it.

const COPIED_MS = 2_000;
const LIVE_INTERVAL_MS = 5_000;

/** Shows a copy button, which copies the text of the element that it names. Browsers allow it over https only. */
function enableCopyButton(button) {
  if (navigator.clipboard === undefined) return;
  const [label, report] = [button.firstChild, button.nextElementSibling];
  const { data: name } = label;
  // The page has the texts: the label, and a sentence for screen readers on a line of its own.
  const show = (texts) => {
    const [text, message = ''] = texts.split('\n');
    label.data = text;
    report.textContent = message;
  };
  button.hidden = false;
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      show(report.dataset.done);
    } catch {
      getSelection().selectAllChildren(source);
      show(report.dataset.failed);
    }
    setTimeout(() => show(name), COPIED_MS);
  });
}

/** Replaces an element by its version on a page that was loaded later, and keeps the focus on the same link. */
function replaceLive(element, next) {
  if (element.dataset.live === 'text') {
    const text = next === null ? element.dataset.done : next.textContent;
    if (element.textContent !== text) element.textContent = text;
    if (next === null) delete element.dataset.live;
    return;
  }
  if (next === null) {
    delete element.dataset.live;
    return;
  }
  if (next.outerHTML === element.outerHTML) return;
  const focused = element.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
  element.replaceWith(next);
  if (focused !== null) [...next.querySelectorAll('a')].find((link) => link.getAttribute('href') === focused)?.focus();
}

/** Loads the page again while it shows something in progress, and replaces what has changed. */
function scheduleRefresh() {
  if (document.querySelector('[data-live]') !== null) setTimeout(() => void refreshLive(), LIVE_INTERVAL_MS);
}

async function refreshLive() {
  const isSignedIn = document.hidden || (await updateLive().catch(() => true));
  if (isSignedIn) scheduleRefresh();
}

/** @returns false if the session has ended. */
async function updateLive() {
  const response = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (!response.ok || response.redirected) return !response.redirected;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  for (const element of document.querySelectorAll('[data-live]')) replaceLive(element, page.getElementById(element.id));
  return true;
}

for (const time of document.querySelectorAll('time')) time.title = new Date(time.dateTime).toLocaleString();

for (const button of document.querySelectorAll('button[data-copy]')) enableCopyButton(button);

scheduleRefresh();

const reload = document.querySelector('[data-reload-to]');
if (reload !== null)
  setTimeout(() => location.replace(reload.dataset.reloadTo), 1_000 * Number(reload.dataset.reloadSeconds));

const otherAmount = document.getElementById('topup-amount');
otherAmount?.addEventListener('input', () => {
  document.querySelector('input[name="preset"][value="other"]').checked = true;
});
