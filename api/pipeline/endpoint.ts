import type { Static, TSchema } from 'typebox';
import type { SaveResponse } from '../../shared/domain/platform/idempotentRequests.ts';
import type { Caller } from '../../shared/domain/accounts/caller.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { createBodyParser } from '../../shared/lib/validation/bodyParser.ts';
import { createQueryParser } from '../../shared/lib/validation/queryParser.ts';
import type { ErrorCode } from '../../shared/spec/errors.ts';
import { type Context, requireCaller } from '../context.ts';
import { type Lazy, resolve } from '../lazy.ts';
import { getJsonBody } from './body.ts';
import { executeRequestOnce } from './idempotency.ts';
import { parseUuidParam } from './requestParameters.ts';
import type { KeyPolicy, RouteMethod, RoutePolicy, RouteRateLimit, SessionPolicy } from './route.ts';

/** Response to a successful request. Without a schema it has no body. */
export interface SuccessResponse {
  status?: 200 | 201 | 202 | 204;
  description: string;
  schema?: TSchema;
  example?: unknown;
  /** The same as CSV, for clients that accept `text/csv`: an example. */
  csvExample?: string;
}

/** A request that was parsed. */
class EndpointRequest<Body, Query> {
  readonly ctx: Context;
  readonly body: Body;
  readonly query: Query;
  /** Identifies the effects of an idempotent request, also if it is executed again after a crash. */
  readonly id: string;
  /** Saves the response of an idempotent request in the transaction that makes its change. */
  readonly saveResponse: SaveResponse<unknown>;

  constructor(ctx: Context, body: Body, query: Query, id: string, saveResponse: SaveResponse<unknown>) {
    this.ctx = ctx;
    this.body = body;
    this.query = query;
    this.id = id;
    this.saveResponse = saveResponse;
  }

  /** The caller of an endpoint that is not public. */
  get caller(): Caller {
    return requireCaller(this.ctx);
  }

  get accountId(): number {
    return this.caller.accountId;
  }

  /**
   * The `uuid` of the path.
   * @throws ServiceError not_found
   */
  get uuid(): string {
    return parseUuidParam(this.ctx);
  }
}

/**
 * Everything that the pipeline decides before an endpoint runs. Defaults: surface `rest`, credential and rate limit
 * `account`. The body follows from the method: none for GET, else JSON, or `raw` with `readsBody`.
 */
type EndpointPolicy = { surface?: 'rest' | 'json'; rateLimit?: RouteRateLimit } & (
  | ({ credential?: 'account' } & KeyPolicy)
  | ({ credential: 'session' } & SessionPolicy)
  | ({ credential: 'anyone' | 'visitor' } & RoutePolicy)
);

/**
 * An operation of the REST interface: its route, the parsing of its requests, and its description in the OpenAPI
 * document follow from this.
 */
export interface EndpointDefinition<Body extends TSchema, Query extends TSchema, ParsedBody = Static<Body>> {
  /** Operation id in the OpenAPI document, and the scope of its idempotency keys. */
  id: string;
  /** Method and path. */
  route: `${RouteMethod} /${string}`;
  policy: EndpointPolicy;
  summary: string;
  description?: Lazy<string>;
  request?: Lazy<Body>;
  /** An example of the body, or several by their names. */
  example?: Lazy<object>;
  examples?: Lazy<object>;
  /** True if the body may be left out. */
  isRequestOptional?: true;
  /** The handler reads the body itself; `request` only describes it. */
  readsBody?: true;
  /** Parses the JSON body in place of `request`, which then only describes it. */
  parse?: (body: unknown) => ParsedBody;
  /** Parameters of the query: an object schema. */
  query?: Lazy<Query>;
  /** Headers of the request, each with a schema. */
  headers?: Readonly<Record<string, TSchema>>;
  response: Lazy<SuccessResponse>;
  /** Response with another status, to a request whose outcome is not known yet. */
  pendingResponse?: Lazy<SuccessResponse>;
  /** Error codes beyond those that follow from credentials, rate limit, path and body. */
  errors?: readonly ErrorCode[];
  /**
   * True if the endpoint takes an `Idempotency-Key`: a repeated request gets the first response again. After a crash
   * `run` is executed again with the same `id`, so it saves the response in the transaction of its change, or derives
   * the keys of its effects from the `id`. `ofMember`: only for the member who sent the first request, whose rights the
   * response gives. `own`: `run` reads the key.
   */
  idempotent?: true | 'ofMember' | 'own';
  /** Calls the domain. Returns the body of the response; undefined if it has none, or was sent already. */
  run: (request: EndpointRequest<ParsedBody, Static<Query>>) => unknown;
}

/** A definition without the types of its requests. */
export type Endpoint = Omit<EndpointDefinition<TSchema, TSchema>, 'parse' | 'run'> & {
  handler: (ctx: Context) => Promise<void>;
};

/** Defines an operation of the REST interface. */
export function defineEndpoint<Body extends TSchema, Query extends TSchema, ParsedBody = Static<Body>>(
  definition: EndpointDefinition<Body, Query, ParsedBody>,
): Endpoint {
  const { parse, run, ...described } = definition;
  const { id: scope, request: bodySchema, query: querySchema, idempotent, readsBody } = definition;
  const getBodyParser = perService(() => {
    if (parse !== undefined) return parse;
    return bodySchema === undefined || readsBody === true ? undefined : createBodyParser(resolve<Body>(bodySchema));
  });
  const getQueryParser = perService(() =>
    querySchema === undefined ? undefined : createQueryParser(resolve<Query>(querySchema)),
  );

  // Building a response builds its example, too.
  const getStatus = perService(() => resolve(definition.response).status ?? 200);

  async function handler(ctx: Context): Promise<void> {
    const body = getBodyParser()?.(getJsonBody(ctx)) as ParsedBody;
    const query = getQueryParser()?.(ctx.query) as Static<Query>;
    ctx.status = getStatus();
    const execute = async (id: string, saveResponse: SaveResponse<unknown>) =>
      run(new EndpointRequest(ctx, body, query, id, saveResponse));
    const response = await (idempotent === undefined || idempotent === 'own'
      ? execute('', saveNothing)
      : executeRequestOnce(ctx, { scope, isOfMember: idempotent === 'ofMember' }, body, execute));
    if (response !== undefined) ctx.body = response;
  }

  return { ...described, handler };
}

const saveNothing = async (): Promise<void> => {};
