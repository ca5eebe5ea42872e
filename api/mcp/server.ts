import {
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import { config } from '../../shared/lib/config.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { getMcpRequestContext } from './requestContext.ts';
import { APPS_EXTENSION } from './apps/generationView.ts';
import { buildIcon } from './icons.ts';
import { registerResourceHandlers, SHARED_CACHE } from './resources/handlers.ts';
import { callTool } from './tools/callTool.ts';
import { describePrice, listOfferedModels } from './tools/modelTexts.ts';
import { getTools } from './tools/index.ts';
import { VERSION } from '../../shared/spec/version.ts';

const getInstructions = perService(
  () => `Creates ${describeOffer()} from text prompts, charged to the user's account.
1. generate_image or generate_video charges the credits and returns a uuid at once, or with wait_seconds 45 the finished image.
2. get_generation with that uuid and wait_seconds 45 waits for the end; repeat it while the status is queued. An image takes seconds to a minute, a video 1 to 5 minutes.
3. When it has succeeded, give the user output_url. When it has failed, the credits were refunded: error_message says why.
list_library finds earlier results, get_usage returns the balance. Errors are { error, detail }: rate_limited, parallel_limit_reached and model_unavailable pass with time; on insufficient_credits and subscription_required ask the user to open ${config.BASE_URL}/account/billing/ and add credits or choose a plan.`,
);

/** Describes kinds and prices: `images (8 credits) and videos (35 credits for 5 seconds, 70 for 10)`. */
function describeOffer(): string {
  const offers = (['image', 'video'] as const).flatMap((kind) => {
    const models = listOfferedModels(kind);
    return models.length === 0 ? [] : [`${kind}s (${describePrice(models, ', ')})`];
  });
  return offers.join(' and ');
}

/** Shared by all servers: it is expensive to create, and no schema of this service is validated with it. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

/**
 * Reports invalid params as InvalidParams. Except for tools, the library would report an internal error (-32603). The
 * handlers here throw ProtocolError only, so any other error comes from the library's validation of the params.
 */
class StrictServer extends Server {
  protected override _wrapHandler(
    method: string,
    handler: (request: JSONRPCRequest, context: ServerContext) => Promise<Result>,
  ): (request: JSONRPCRequest, context: ServerContext) => Promise<Result> {
    const handle = super._wrapHandler(method, handler);
    return (request, context) =>
      handle(request, context).catch((error: Error) => {
        if (error instanceof ProtocolError) throw error;
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid ${method} request: ${error.message}`);
      });
  }
}

/**
 * Builds an MCP server with the tools and resources of the service. Each request gets its own: that takes 3 µs, and the
 * library is designed for one client.
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
      capabilities: {
        tools: {},
        resources: { subscribe: true },
        completions: {},
        extensions: { [APPS_EXTENSION]: {} },
      },
      instructions: getInstructions(),
      jsonSchemaValidator,
      cacheHints: {
        'tools/list': SHARED_CACHE,
        'resources/templates/list': SHARED_CACHE,
        'server/discover': SHARED_CACHE,
      },
    },
  );
  server.setRequestHandler('tools/list', ({ params }) => {
    if (params?.cursor !== undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'cursor is not supported: all tools are on one page.');
    return { tools: getTools().map(({ listing }) => listing) as never };
  });
  // Calls by stateless clients. Those in sessions do not pass through the library: see transport/sessionRequests.ts.
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const isCancelled = () => context.mcpReq.signal.aborted;
    return callTool(params.name, params.arguments, getMcpRequestContext(context), { ...context.mcpReq, isCancelled });
  });
  registerResourceHandlers(server);
  return server;
}
