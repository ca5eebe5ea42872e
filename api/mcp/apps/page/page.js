// Shows a generation in the chat: its progress, then the picture or video. The only tool that it calls is get_generation,
// which costs nothing.

import { applyHostContext, connectToHost, reportSize, sendRequest } from './host.js';

/** Time for which the server holds the response of a read back while the generation is in progress. */
const WAIT_SECONDS = 20;
const POLL_INTERVAL_MS = 2_000;
const RETRY_INTERVAL_MAX_MS = 60_000;
const FAILURES_MAX = 8;
const QUOTED_CHARACTERS = 200;
const UUID = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/i;
const MEDIA_TYPES = { png: 'image/png', jpg: 'image/jpeg', webp: 'image/webp', mp4: 'video/mp4', webm: 'video/webm' };

/** Whether the service offers a model that creates videos. */
const offersVideo = document.querySelector('main').dataset.offersVideo === 'true';
const elements = Object.fromEntries([...document.querySelectorAll('[id]')].map((element) => [element.id, element]));

let host = { hostCapabilities: {}, hostContext: {} };
/** The generation as the server returned it last. */
let generation = null;
let isPolling = false;
/** The file that could not be loaded: the generation may have been deleted since, or the client blocks the file. */
let unavailableUrl = null;
/** Small picture of that file as a data: URL, which clients allow. */
let replacementUrl = null;

const pluralize = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Writes a text, and hides the element without one. */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
  element.hidden = text === '';
}

/** Shows a state of the page. Whatever it does not name is hidden. */
function show({ headline, isBusy = false, isBad = false, detail = '', prompt = '', facts = '', buttons = [] }) {
  if (elements.headline.textContent !== headline) elements.headline.textContent = headline;
  elements.headline.classList.toggle('bad', isBad);
  elements.progress.hidden = !isBusy;
  write(elements.detail, detail);
  write(elements.prompt, prompt);
  write(elements.facts, facts);
  for (const name of ['download', 'animate', 'check']) elements[name].hidden = !buttons.includes(name);
  elements.actions.hidden = buttons.length === 0;
}

function showGeneration() {
  const { kind, status, prompt, credits_charged: credits, error_message: reason, model_name: model } = generation;
  const noun = kind === 'video' ? 'Video' : 'Image';
  showMedia();
  updateElapsed();
  if (status === 'queued') {
    const facts = `${pluralize(credits, 'credit')} charged · ${model}`;
    if (isPolling) return show({ headline: `${noun} in progress`, isBusy: true, prompt, facts });
    const detail = 'The status cannot be read from here. Ask the assistant for the result.';
    return show({ headline: `${noun} in progress`, detail, prompt, facts, buttons: ['check'] });
  }
  if (status === 'failed') {
    const facts = `${pluralize(credits, 'credit')} refunded · ${model}`;
    return show({ headline: `${noun} failed`, isBad: true, detail: reason ?? '', prompt, facts });
  }
  const { params: { resolution, duration } = {}, is_watermarked: isWatermarked } = generation;
  const length = duration === undefined ? undefined : `${duration} s`;
  const facts = [pluralize(credits, 'credit'), model, resolution, length, isWatermarked ? 'watermarked' : undefined];
  const buttons = kind === 'image' && offersVideo ? ['download', 'animate'] : ['download'];
  show({ headline: `${noun} ready`, prompt, facts: facts.filter((fact) => fact !== undefined).join(' · '), buttons });
}

/** Shows the output once it exists. An element that is shown already is kept, so that a video continues to play. */
function showMedia() {
  const { media } = elements;
  const { kind, prompt, output_url: url, thumbnail_url: thumbnailUrl, params } = generation;
  const source = url === unavailableUrl ? replacementUrl : url;
  media.hidden = source === null;
  if (source === null) return media.replaceChildren();
  if (media.dataset.url === source && media.firstChild !== null) return undefined;
  media.dataset.url = source;
  const isVideo = kind === 'video' && source === url;
  const element = document.createElement(isVideo ? 'video' : 'img');
  // Reserves the space, so that the chat does not move when the file has arrived.
  const ratio = /^(\d+):(\d+)$/.exec(params?.aspect_ratio ?? '');
  if (ratio !== null) element.style.aspectRatio = `${ratio[1]} / ${ratio[2]}`;
  if (isVideo) {
    Object.assign(element, { controls: true, playsInline: true, preload: 'metadata' });
    element.setAttribute('aria-label', prompt);
    if (thumbnailUrl !== null) element.poster = thumbnailUrl;
  } else element.alt = prompt;
  element.addEventListener('error', () => void replaceUnavailable(source));
  element.src = source;
  return media.replaceChildren(element);
}

/**
 * Shows the thumbnail in place of an output that the client cannot load or play, unless the generation was deleted. The
 * server sends it with the result, so that the page loads no file.
 */
async function replaceUnavailable(url) {
  if (url === replacementUrl) {
    replacementUrl = null;
    return showMedia();
  }
  if (generation?.output_url !== url || unavailableUrl === url) return undefined;
  unavailableUrl = url;
  replacementUrl = null;
  const picture = await readGeneration({ wait_seconds: 0, include_thumbnail: true }).catch(() => undefined);
  if (generation?.output_url !== url) return undefined;
  if (picture !== undefined) {
    replacementUrl = `data:${picture.mimeType};base64,${picture.data}`;
    showMedia();
  }
  const text = picture === undefined ? `The ${generation.kind} cannot be shown here.` : 'This is a small preview.';
  return write(elements.notice, `${text} Download the ${generation.kind} to see it.`);
}

function updateElapsed() {
  const isRunning = generation?.status === 'queued';
  const seconds = isRunning ? Math.max(0, Math.round((Date.now() - Date.parse(generation.created_at)) / 1_000)) : 0;
  const minutes = Math.floor(seconds / 60);
  const text = minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
  write(elements.elapsed, isRunning ? text : '');
}

/** Shows the result of a tool call: a generation, the estimate of one, or an error. */
function showResult(result) {
  const { structuredContent: content = {}, content: items = [], isError = false } = result;
  if (isError || content.error !== undefined) return showError(content, items);
  if (typeof content.uuid === 'string' && typeof content.status === 'string') return adopt(content);
  if (typeof content.credits === 'number') return showEstimate(content);
  // A client may pass on only the text, which names the uuid.
  const uuid = UUID.exec(items.map(({ text = '' }) => text).join(' '))?.[0];
  if (uuid === undefined) return show({ headline: 'No generation', detail: 'The tool returned nothing to show.' });
  generation = { uuid, kind: 'image', status: 'queued', created_at: new Date().toISOString(), output_url: null };
  show({ headline: 'Loading', isBusy: true });
  return void poll();
}

function adopt(content) {
  generation = content;
  if (generation.status === 'queued') void poll();
  showGeneration();
}

function showEstimate({ credits, balance, refusal: rejection }) {
  const facts = `Balance: ${pluralize(balance, 'credit')}. Nothing was created or charged.`;
  show({ headline: `Costs ${pluralize(credits, 'credit')}`, detail: rejection?.detail ?? '', facts });
}

function showError({ error, detail }, items) {
  if (error === 'not_found') return showMissing();
  const text = detail ?? items.find(({ type }) => type === 'text')?.text ?? 'The tool call failed.';
  return show({ headline: 'The request failed', isBad: true, detail: text });
}

function showMissing() {
  generation = null;
  elements.media.hidden = true;
  elements.media.replaceChildren();
  write(elements.notice, '');
  updateElapsed();
  show({ headline: 'Not in the library', detail: 'This generation was deleted, or it belongs to another account.' });
}

/**
 * Reads the generation through the client and shows it.
 * @returns the picture in the result, if there is one.
 * @throws Error if the client or the server did not answer, or the tool returned an error that may pass.
 */
async function readGeneration(options) {
  const { uuid } = generation;
  const call = { name: 'get_generation', arguments: { uuid, ...options } };
  const result = await sendRequest('tools/call', call);
  const { structuredContent: content = {}, content: items = [], isError = false } = result;
  // The client has passed another result meanwhile.
  if (generation?.uuid !== uuid) return undefined;
  if (content.error === 'not_found') return showMissing();
  if (isError || content.uuid !== uuid) throw new Error(content.detail ?? 'The result is missing.');
  generation = content;
  showGeneration();
  return items.find(({ type }) => type === 'image');
}

/** Reads the generation until it has ended. Pauses while the page is hidden, and ends after several failures. */
async function poll() {
  if (isPolling) return;
  isPolling = true;
  let failures = 0;
  const failuresMax = host.hostCapabilities.serverTools === undefined ? 1 : FAILURES_MAX;
  while (generation?.status === 'queued' && failures < failuresMax) {
    await waitUntilVisible();
    try {
      await readGeneration({ wait_seconds: WAIT_SECONDS });
      failures = 0;
      if (generation !== null && generation.status !== 'queued') reportEnd();
    } catch {
      failures += 1;
    }
    if (generation?.status === 'queued') await pause(Math.min(POLL_INTERVAL_MS * 2 ** failures, RETRY_INTERVAL_MAX_MS));
  }
  isPolling = false;
  if (generation?.status === 'queued') showGeneration();
}

function pause(durationMs) {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}

function waitUntilVisible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
}

/** Adds the end to what the model knows in its next turn, so that it need not ask again. */
function reportEnd() {
  if (host.hostCapabilities.updateModelContext === undefined) return;
  const { kind, uuid, status, output_url: url, error_message: reason } = generation;
  const outcome = status === 'succeeded' ? `succeeded: ${url}` : `failed and was refunded: ${reason}`;
  const text = `The ${kind} ${uuid} ${outcome} The user sees it in the chat.`;
  void sendRequest('ui/update-model-context', { content: [{ type: 'text', text }] }).catch(() => {});
}

/** Sends a request that the user has clicked for. @returns false if the client rejects it. */
async function ask(method, params) {
  try {
    return (await sendRequest(method, params))?.isError !== true;
  } catch {
    return false;
  }
}

/** Downloads the output: by the client, in the browser of the user, or, if the client offers neither, by a link. */
async function download() {
  const { kind, uuid, output_url: url } = generation;
  const extension = /\.(\w+)$/.exec(url)?.[1] ?? '';
  const link = {
    type: 'resource_link',
    uri: url,
    name: `${kind}-${uuid}.${extension}`,
    mimeType: MEDIA_TYPES[extension],
  };
  const { downloadFile, openLinks } = host.hostCapabilities;
  if (downloadFile !== undefined && (await ask('ui/download-file', { contents: [link] }))) return;
  if (openLinks !== undefined && (await ask('ui/open-link', { url }))) return;
  write(elements.notice, `Open this address in a browser: ${url}`);
}

/** Asks the assistant for a video. The assistant creates it, with the confirmation that the client requires of it. */
async function requestVideo() {
  elements.animate.disabled = true;
  const { uuid, prompt } = generation;
  const quote = prompt.length > QUOTED_CHARACTERS ? `${prompt.slice(0, QUOTED_CHARACTERS)}…` : prompt;
  const text = `Make a video from the image ${uuid} (“${quote}”). Say first how many credits it costs, and wait for my answer.`;
  const isSent = await ask('ui/message', { role: 'user', content: [{ type: 'text', text }] });
  write(
    elements.notice,
    isSent ? 'Sent to the assistant.' : 'The message was not sent. Ask the assistant for a video.',
  );
  elements.animate.disabled = isSent;
}

elements.download.addEventListener('click', () => void download());
elements.animate.addEventListener('click', () => void requestVideo());
elements.check.addEventListener('click', () => {
  void poll();
  showGeneration();
});
setInterval(updateElapsed, 1_000);
reportSize();

const updateContext = (context) => {
  host.hostContext = { ...host.hostContext, ...context };
  applyHostContext(host.hostContext);
};

host = await connectToHost({
  ping: () => {},
  'ui/notifications/tool-input': ({ arguments: input = {} }) => {
    if (generation === null) show({ headline: 'Starting', isBusy: true, prompt: String(input.prompt ?? '') });
  },
  'ui/notifications/tool-result': showResult,
  'ui/notifications/tool-cancelled': () =>
    show({ headline: 'Stopped', detail: 'If a generation was created before, the library lists it.' }),
  'ui/notifications/host-context-changed': updateContext,
  'ui/resource-teardown': () => {
    generation = null;
    elements.media.querySelector('video')?.pause();
  },
});
updateContext(host.hostContext);
