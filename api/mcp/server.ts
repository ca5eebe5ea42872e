import {
  type CallToolResult,
  type InputRequiredResult,
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import { toCanonicalJson } from '../../shared/lib/canonicalJson.ts';
import { config } from '../../shared/lib/config.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { IDEMPOTENCY_KEY_MAX_CHARACTERS } from '../../shared/spec/limits.ts';
import { toServiceError } from '../pipeline/errors.ts';
import { getMcpRequestContext, recordDisconnection, runWithCurrentKey } from './requestContext.ts';
import { APPS_EXTENSION } from './apps/generationView.ts';
import { buildIcon } from './icons.ts';
import { registerResourceHandlers } from './resources/handlers.ts';
import { toErrorResult, toCallToolResult } from './tools/callToolResult.ts';
import { requestAccountPage } from './tools/urlElicitation.ts';
import { describePrice, listOfferedModels } from './tools/modelTexts.ts';
import { getTools, findTool } from './tools/index.ts';
import type { ToolContext } from './tools/defineTool.ts';
import { HOUR_MS } from '../../shared/spec/durations.ts';
import { VERSION } from '../../shared/spec/version.ts';

const buildInstructions = () => `Creates ${describeOffer()} from text prompts, charged to the user's account.
1. generate_image or generate_video charges the credits and returns a uuid at once, or with wait_seconds 45 the finished image.
2. get_generation with that uuid and wait_seconds 45 waits for the end; repeat it while the status is queued. An image takes seconds to a minute, a video 1 to 5 minutes.
3. When it has succeeded, give the user output_url. When it has failed, the credits were refunded: error_message says why.
list_library finds earlier results, get_usage returns the balance. Errors are { error, detail }: rate_limited, parallel_limit_reached and model_unavailable pass with time; on insufficient_credits and subscription_required ask the user to open ${config.BASE_URL}/account/billing/ and add credits or choose a plan.`;

/** Describes kinds and prices: `images (8 credits) and videos (35 credits for 5 seconds, 70 for 10)`. */
function describeOffer(): string {
  const offers = (['image', 'video'] as const).flatMap((kind) => {
    const models = listOfferedModels(kind);
    return models.length === 0 ? [] : [`${kind}s (${describePrice(models, ', ')})`];
  });
  return offers.join(' and ');
}

/** Stateless clients may keep responses that are the same for every account. */
const SHARED_CACHE = { ttlMs: HOUR_MS, cacheScope: 'public' } as const;

const getToolListings = perService(() => getTools().map(({ listing }) => listing) as never);
const getAppsToolListings = perService(() => getTools().map(({ appsListing }) => appsListing) as never);

/** Methods whose results describe the server, with its capabilities. */
const DESCRIBING_METHODS: ReadonlySet<string> = new Set(['initialize', 'server/discover']);

/** Shared by all servers: it is expensive to create, and no schema of this service is validated with it. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

/**
 * Reports invalid params as InvalidParams. Except for tools, the library would report an internal error (-32603). The
 * handlers here throw ProtocolError only, so any other error comes from the library's validation of the params. The
 * description of the server depends on the client.
 */
class StrictServer extends Server {
  protected override _wrapHandler(
    method: string,
    handler: (request: JSONRPCRequest, context: ServerContext) => Promise<Result>,
  ): (request: JSONRPCRequest, context: ServerContext) => Promise<Result> {
    const handle = super._wrapHandler(method, handler);
    const run = DESCRIBING_METHODS.has(method) ? withAppsCapability(handle) : handle;
    return (request, context) =>
      run(request, context).catch((error: Error) => {
        if (error instanceof ProtocolError) throw error;
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid ${method} request: ${error.message}`);
      });
  }
}

type RequestHandler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

/** Adds the MCP Apps extension to the capabilities of the server, for clients that declare it. */
function withAppsCapability(handle: RequestHandler): RequestHandler {
  return async (request, context) => {
    const result = await handle(request, context);
    if (!getMcpRequestContext(context).clientFeatures.has('apps')) return result;
    const capabilities = { ...(result['capabilities'] as object), extensions: { [APPS_EXTENSION]: {} } };
    return { ...result, capabilities };
  };
}

/**
 * Builds an MCP server with the tools and resources of the service. One serves all sessions of a process; each
 * stateless request gets its own.
 * @param withIcon false for stateless requests, whose every response repeats the server's description.
 */
export function buildServer({ withIcon = true } = {}): Server {
  const server = new StrictServer(
    {
      name: 'genmeter',
      title: config.BRAND_NAME,
      version: VERSION,
      description: 'Images and videos from text prompts, metered in credits.',
      websiteUrl: config.BASE_URL,
      ...(withIcon ? { icons: [buildIcon('service')] } : {}),
    },
    {
      capabilities: { tools: {}, resources: { subscribe: true }, completions: {} },
      instructions: buildInstructions(),
      jsonSchemaValidator,
      cacheHints: {
        'tools/list': SHARED_CACHE,
        'resources/templates/list': SHARED_CACHE,
        // Contains the extensions of the client.
        'server/discover': { ...SHARED_CACHE, cacheScope: 'private' },
      },
    },
  );
  server.setRequestHandler('tools/list', ({ params }, context) => {
    if (params?.cursor !== undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'cursor is not supported: all tools are on one page.');
    const { clientFeatures, sessionId } = getMcpRequestContext(context);
    if (!clientFeatures.has('apps')) return { tools: getToolListings() };
    // Caches between clients must not return this list to a client without the extension.
    return { tools: getAppsToolListings(), ...(sessionId === null ? { cacheScope: 'private' as const } : {}) };
  });
  server.setRequestHandler('tools/call', ({ params }, context) => callTool(params.name, params.arguments, context));
  registerResourceHandlers(server);
  return server;
}

/** Runs a tool. Errors of the service become tool results that the model can read; an unknown tool is a protocol error. */
async function callTool(
  name: string,
  input: unknown,
  context: ServerContext,
): Promise<CallToolResult | InputRequiredResult> {
  const tool = findTool(name);
  if (tool === undefined)
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Unknown tool: ${name.slice(0, 64)}. Known tools: ${getTools()
        .map((known) => known.name)
        .join(', ')}.`,
    );
  const requestContext = getMcpRequestContext(context);
  try {
    if (requestContext.rateLimitError !== null) throw requestContext.rateLimitError;
    // Before the arguments are parsed, which adds defaults to them.
    const call = toCanonicalJson([name, input]);
    const toolContext = buildToolContext(context, call);
    const result = await runWithCurrentKey(requestContext, tool.scope, (principal) =>
      tool.run(input ?? {}, { ...toolContext, principal }),
    );
    return toCallToolResult(result);
  } catch (thrown) {
    const error = toServiceError(thrown, requestContext);
    recordDisconnection(requestContext, error);
    return requestAccountPage(error, requestContext, context) ?? toErrorResult(error);
  }
}

function buildToolContext(context: ServerContext, call: string): ToolContext {
  const { _meta: meta, signal, notify } = context.mcpReq;
  const requestContext = getMcpRequestContext(context);
  const token = meta?.progressToken;
  const report = (progress: number, total: number, message: string) => {
    const params = { progressToken: token, progress, total, message };
    void notify({ method: 'notifications/progress', params }).catch(() => {});
  };
  return {
    ...requestContext,
    isAborted: () => signal.aborted || requestContext.isAborted(),
    reportProgress: token === undefined ? null : report,
    idempotencyKey: parseMetaIdempotencyKey(meta),
    call,
  };
}

/** @throws ServiceError validation_error */
function parseMetaIdempotencyKey(meta: Record<string, unknown> | undefined): string | null {
  const key = meta?.['idempotencyKey'];
  if (key === undefined) return null;
  if (typeof key === 'string' && /^[\x20-\x7e]+$/.test(key) && key.length <= IDEMPOTENCY_KEY_MAX_CHARACTERS) return key;
  const detail = `_meta.idempotencyKey must have 1 to ${IDEMPOTENCY_KEY_MAX_CHARACTERS} plain ASCII characters, such as a UUID.`;
  throw new ServiceError('validation_error', detail);
}
