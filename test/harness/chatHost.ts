import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Route } from 'playwright-core';
import { ROOT } from '../../dev/local/environment/build.ts';
import { runProgram } from '../../dev/local/environment/program.ts';
import { OFFLINE } from './offline.ts';
import { appendRunEvent } from './runEvents.ts';

/** The official host bridge of MCP Apps, which is fetched from the registry on first use. */
const BRIDGE_PACKAGE = '@modelcontextprotocol/ext-apps@2.0.4';

const CHAT_PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Chat</title>
<style>
body { margin: 0; padding: 16px; background: #ffffff; }
body.dark { background: #17181a; }
iframe { display: block; width: 480px; max-width: 100%; height: 120px; border: 1px solid #85827a; border-radius: 8px; }
</style></head>
<body><script src="/bundle.js"></script></body></html>`;

/** Document of another origin between the chat and the view, as the specification requires of web hosts. */
const SANDBOX_PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sandbox</title>
<style>html, body, iframe { display: block; margin: 0; width: 100%; height: 100%; border: 0; }</style></head>
<body><script>
const inner = document.createElement('iframe');
inner.sandbox = 'allow-scripts allow-same-origin';
document.body.append(inner);
addEventListener('message', ({ source, data }) => {
  if (source === inner.contentWindow) window.parent.postMessage(data, '*');
  else if (source === window.parent && data.method === 'ui/notifications/sandbox-resource-ready') {
    inner.contentDocument.open();
    inner.contentDocument.write(data.params.html);
    inner.contentDocument.close();
  } else if (source === window.parent) inner.contentWindow.postMessage(data, '*');
});
window.parent.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/sandbox-proxy-ready', params: {} }, '*');
</script></body></html>`;

export interface ChatHost {
  /** Origin of the chat, which the service must allow. */
  origin: string;
  sandboxUrl: string;
  close(): void;
}

/** Calls of the generate tools, whose results the page shows. */
export const IMAGE_CALL = { prompt: 'a lighthouse on a rock in the evening', resolution: '1K', aspect_ratio: '16:9' };
export const VIDEO_CALL = { prompt: 'waves under the lighthouse', duration: 5, resolution: '720p' };

/** Requests of the tests and of the page to /mcp, by the name of their tool. */
export const findToolCalls = (bodies: string[]): string[] =>
  bodies.map((body) => JSON.parse(body)).flatMap(({ method, params }) => (method === 'tools/call' ? params.name : []));

export const isRead = (route: Route): boolean => route.request().postData()?.includes('get_generation') === true;

/** Serves a page that embeds views of MCP Apps. Skips the suite if the registry cannot be reached. */
export async function startChatHost(suite: Mocha.Context): Promise<ChatHost> {
  const bundle = await bundleChatPage();
  if (bundle === null) {
    const reason = 'the official host bridge comes from the npm registry, which cannot be reached';
    appendRunEvent({ kind: 'skip', file: suite.test?.file ?? '', reason });
    suite.skip();
  }
  const chat = await listen(({ url }, response) => {
    const isScript = url === '/bundle.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? bundle : CHAT_PAGE);
  });
  const sandbox = await listen((request, response) => {
    const { searchParams } = new URL(request.url as string, 'http://sandbox');
    response.setHeader('content-type', 'text/html');
    response.setHeader('content-security-policy', buildPolicy(JSON.parse(searchParams.get('csp') ?? '{}')));
    response.end(SANDBOX_PAGE);
  });
  return {
    origin: getOrigin(chat),
    sandboxUrl: `${getOrigin(sandbox)}/sandbox.html`,
    close: () => {
      for (const server of [chat, sandbox]) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

/** Builds the policy that the specification derives from the metadata of a resource. */
function buildPolicy({ connectDomains = [], resourceDomains = [] }: Record<string, string[]>): string {
  const resources = resourceDomains.join(' ');
  return [
    `default-src 'none'`,
    `script-src 'self' 'unsafe-inline' ${resources}`,
    `style-src 'self' 'unsafe-inline' ${resources}`,
    `connect-src 'self' ${connectDomains.join(' ')}`,
    `img-src 'self' data: ${resources}`,
    `font-src 'self' ${resources}`,
    `media-src 'self' data: ${resources}`,
    `frame-src 'self'`,
    `object-src 'none'`,
    `base-uri 'self'`,
  ].join('; ');
}

/** Bundles the script of the chat for browsers. The packages that the bridge needs are those of the project. */
async function bundleChatPage(): Promise<string | null> {
  const folder = mkdtempSync(join(tmpdir(), 'chat-host-'));
  try {
    const options = ['--no-save', '--legacy-peer-deps', '--ignore-scripts', '--no-audit', '--no-fund'];
    const { status, out, err } = await runProgram({
      file: 'npm',
      args: ['install', '--prefix', folder, ...options, BRIDGE_PACKAGE],
      cwd: folder,
      env: process.env,
      usesShell: process.platform === 'win32',
    });
    if (status !== 0 && OFFLINE.test(err)) return null;
    if (status !== 0) throw new Error(`npm install failed: ${out}${err}`);
    const { outputFiles } = await build({
      entryPoints: [join(ROOT, 'test/harness/chatHostPage.mjs')],
      nodePaths: [join(folder, 'node_modules'), join(ROOT, 'node_modules')],
      bundle: true,
      format: 'iife',
      platform: 'browser',
      target: 'es2022',
      write: false,
      logLevel: 'error',
    });
    return outputFiles[0]?.text ?? null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function listen(handler: RequestListener): Promise<Server> {
  const server = createServer(handler);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function getOrigin(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
