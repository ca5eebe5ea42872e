// Exchanges JSON-RPC messages with the client that shows the page (MCP Apps 2026-01-26).

const PROTOCOL_VERSION = '2026-01-26';
/** Longer than any wait of get_generation. */
const REQUEST_TIMEOUT_MS = 90_000;

const METHOD_NOT_FOUND = -32_601;

const pendingRequests = new Map();
let lastRequestId = 0;

function send(message) {
  // The origin of the client is not known to the page. Nothing secret is ever sent.
  window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
}

/** Sends a request. @returns its result; rejects with the error of the client. */
export function sendRequest(method, params) {
  lastRequestId += 1;
  const id = lastRequestId;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => settle(id, { error: { message: 'No response.' } }), REQUEST_TIMEOUT_MS);
    pendingRequests.set(id, { resolve, reject, timer });
    send({ id, method, params });
  });
}

function settle(id, { result, error }) {
  const pending = pendingRequests.get(id);
  if (pending === undefined) return;
  pendingRequests.delete(id);
  clearTimeout(pending.timer);
  if (error === undefined) pending.resolve(result);
  else pending.reject(new Error(error.message));
}

/**
 * Connects to the client.
 * @param handlers functions for requests and notifications of the client, by method.
 * @returns the capabilities and the context of the client.
 */
export async function connectToHost(handlers) {
  window.addEventListener('message', ({ source, data }) => {
    if (source !== window.parent || data?.jsonrpc !== '2.0') return;
    const { id, method, params } = data;
    if (method === undefined) {
      settle(id, data);
      return;
    }
    const handle = handlers[method];
    handle?.(params ?? {});
    if (id === undefined) return;
    send(
      handle === undefined ? { id, error: { code: METHOD_NOT_FOUND, message: 'Unknown method.' } } : { id, result: {} },
    );
  });
  const { hostCapabilities = {}, hostContext = {} } = await sendRequest('ui/initialize', {
    appInfo: { name: 'genmeter-generation', version: '1.0.0' },
    appCapabilities: { availableDisplayModes: ['inline'] },
    protocolVersion: PROTOCOL_VERSION,
  });
  send({ method: 'ui/notifications/initialized', params: {} });
  return { hostCapabilities, hostContext };
}

/** Adopts the theme, the colors and the fonts of the client. */
export function applyHostContext({ theme, styles }) {
  const { documentElement: root, head } = document;
  if (theme !== undefined) root.style.colorScheme = theme;
  for (const [name, value] of Object.entries(styles?.variables ?? {})) {
    if (name.startsWith('--') && typeof value === 'string') root.style.setProperty(name, value);
  }
  if (styles?.css?.fonts === undefined) return;
  const fonts = document.getElementById('host-fonts') ?? head.appendChild(document.createElement('style'));
  fonts.id = 'host-fonts';
  fonts.textContent = styles.css.fonts;
}

/** Reports the height of the page to the client, at once and whenever it changes. */
export function reportSize() {
  let last = 0;
  new ResizeObserver(() => {
    const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
    if (height === last) return;
    last = height;
    send({ method: 'ui/notifications/size-changed', params: { width: window.innerWidth, height } });
  }).observe(document.documentElement);
}
