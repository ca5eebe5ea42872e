import { isIP } from 'node:net';
import { config } from '../../shared/lib/config.ts';
import { MODEL_KINDS } from '../../shared/spec/catalog.ts';
import { VERSION } from '../../shared/spec/version.ts';
import type { Context } from '../context.ts';
import { getBrand } from '../web/brand.ts';
import { describePrice, listOfferedModels } from './tools/modelTexts.ts';
import { getTools } from './tools/index.ts';

/** Files that lead registries and language models to the service. */

const CACHE_CONTROL = 'public, max-age=3600';

/** Version of the format of `server.json`. */
const SERVER_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
/** Maximum length of the address of an icon in `server.json`. */
const ICON_ADDRESS_MAX_CHARACTERS = 255;

/** Serves `/server.json`, the description of the server that its operator can publish in the MCP registry. */
export function serverJson(ctx: Context): void {
  ctx.set('cache-control', CACHE_CONTROL);
  const { name, slug, logoUrl } = getBrand();
  const hasIcon = logoUrl?.startsWith('https://') === true && logoUrl.length <= ICON_ADDRESS_MAX_CHARACTERS;
  ctx.body = {
    $schema: SERVER_SCHEMA,
    name: `${buildNamespace()}/${slug}`,
    title: name,
    description: 'Creates images and videos from text prompts, paid with the credits of your account.',
    version: VERSION,
    websiteUrl: config.BASE_URL,
    ...(hasIcon ? { icons: [{ src: logoUrl }] } : {}),
    remotes: [{ type: 'streamable-http', url: `${config.BASE_URL}/mcp` }],
  };
}

/** Returns the host of BASE_URL in reverse order, as the registry requires: its operator proves to own that domain. */
function buildNamespace(): string {
  const { hostname } = new URL(config.BASE_URL);
  // A service at an IP address cannot be published.
  if (isIP(hostname.replaceAll(/[[\]]/g, '')) !== 0) return 'localhost';
  return hostname.split('.').toReversed().join('.');
}

/** Serves `/llms.txt` (llmstxt.org): what the service does and where its descriptions are, for language models. */
export function llmsText(ctx: Context): void {
  ctx.set('cache-control', CACHE_CONTROL);
  ctx.type = 'text/plain; charset=utf-8';
  ctx.body = buildLlmsText();
}

function buildLlmsText(): string {
  const { BASE_URL: base } = config;
  const { name } = getBrand();
  const models = MODEL_KINDS.flatMap((kind) => listOfferedModels(kind));
  const tools = getTools().map((tool) => tool.name);
  return `# ${name}

> ${name} creates images and videos from text prompts and charges credits for each. It has a REST API and an MCP server for AI assistants.

- Generations are asynchronous: create one, then read it until its status is \`succeeded\` or \`failed\`. Failed ones are refunded.
- The REST API needs an API key, sent as \`Authorization: Bearer svc_...\`. The MCP server needs an API key or a sign-in with OAuth; the REST API also accepts access tokens for the resource \`${base}/api/\`.
- Errors are \`{ "error": code, "detail": sentence }\`. Match on \`error\`.
- Creating needs a subscription and enough credits. Send an \`Idempotency-Key\` header with each create, so that a retry is not charged twice.

## Models

${models.map((model) => `- \`${model.slug}\`: ${model.name}, ${model.kind}, ${describePrice([model])}`).join('\n')}

## API

- [API reference](${base}/api/docs/): every endpoint with its parameters and errors
- [OpenAPI document](${base}/api/openapi.json): the same in OpenAPI 3.1
- [Guides](${base}/docs/): the client library, Python, webhooks, credits, assistants and more
- [Models](${base}/api/models/): models, parameters and prices as JSON
- [Plans](${base}/api/billing/plans/): plans and their monthly credits as JSON

## MCP

- [MCP server](${base}/mcp): Streamable HTTP, with the tools ${tools.join(', ')}
- [server.json](${base}/server.json): its description for the MCP registry
- [Protected resource metadata](${base}/.well-known/oauth-protected-resource): where to sign in

## Optional

- [Account](${base}/account/): sign in, plans, credits, API keys and connected applications
`;
}
