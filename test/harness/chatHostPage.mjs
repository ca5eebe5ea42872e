// Script of a page that shows views of MCP Apps in a chat, with the official client and the official host bridge.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { AppBridge, getToolUiResourceUri, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

const APPS_EXTENSION = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
const IMPLEMENTATION = { name: 'chat', version: '1.0.0' };
const ALL_CAPABILITIES = {
  downloadFile: {},
  message: { text: {} },
  openLinks: {},
  serverTools: {},
  updateModelContext: { text: {} },
};

/** Handlers of the bridge whose requests the chat records, with the names by which tests find them. */
const RECORDED = {
  onmessage: 'message',
  onopenlink: 'openLink',
  ondownloadfile: 'downloadFile',
  onupdatemodelcontext: 'updateModelContext',
};

let client;
let sandboxUrl;
let tools;
let bridge;

/** Requests of the views to the chat, in their order. */
window.asked = [];

window.connect = async ({ url, key, sandbox, mode }) => {
  sandboxUrl = sandbox;
  client = new Client(IMPLEMENTATION, { capabilities: { extensions: APPS_EXTENSION }, versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  tools = new Map((await client.listTools()).tools.map((tool) => [tool.name, tool]));
  return client.getServerCapabilities();
};

window.callTool = (name, args) => client.callTool({ name, arguments: args });

/**
 * Shows the view of a tool below a result: that of a call, or one that the chat has stored.
 * @param capabilities those of the host; by default all that a view may use.
 */
window.showResult = async (name, args, result, { capabilities = ALL_CAPABILITIES, theme = 'light', styles } = {}) => {
  const tool = tools.get(name);
  const { contents } = await client.readResource({ uri: getToolUiResourceUri(tool) });
  const [{ text: html, _meta: meta }] = contents;
  const frame = document.createElement('iframe');
  frame.sandbox = 'allow-scripts allow-same-origin';
  const ready = new Promise((resolve) => {
    addEventListener('message', function listen({ source, data }) {
      if (source !== frame.contentWindow || data?.method !== 'ui/notifications/sandbox-proxy-ready') return;
      removeEventListener('message', listen);
      resolve();
    });
  });
  frame.src = `${sandboxUrl}?csp=${encodeURIComponent(JSON.stringify(meta.ui.csp))}`;
  document.body.replaceChildren(frame);
  document.body.className = theme;
  await ready;
  bridge = new AppBridge(client, IMPLEMENTATION, capabilities, { hostContext: { theme, styles, toolInfo: { tool } } });
  for (const [handler, method] of Object.entries(RECORDED)) {
    bridge[handler] = async (params) => {
      window.asked.push({ method, params });
      return { isError: method === 'downloadFile' && window.rejectsDownloads === true };
    };
  }
  bridge.addEventListener('sizechange', ({ height }) => {
    frame.style.height = `${height}px`;
  });
  const initialized = new Promise((resolve) => {
    bridge.addEventListener('initialized', resolve);
  });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  await bridge.sendSandboxResourceReady({ html, csp: meta.ui.csp });
  await initialized;
  await bridge.sendToolInput({ arguments: args });
  if (result !== undefined) await bridge.sendToolResult(result);
  return { app: bridge.getAppVersion(), bytes: html.length };
};

window.sendToolResult = (result) => bridge.sendToolResult(result);
window.setTheme = (theme) => bridge.setHostContext({ theme });
window.teardown = () => bridge.teardownResource({});
