import { canParseUrl } from '../../../lib/canParseUrl.ts';
import { fillTemplate, type TemplateVariables } from '../../../lib/template.ts';
import { type JsonResponse, requestJson, type UpstreamRequestOptions } from '../http.ts';
import type { RequestBody } from '../requestBody.ts';
import { withRetryableErrors } from '../responses.ts';
import type { UpstreamSettings } from '../upstreamSettings.ts';
import type { Protocol, ProtocolRequest } from './protocol.ts';
import { isOwnAddress, sign } from './credentials.ts';
import { buildUrl, fillTexts } from './requests.ts';
import { readText } from './responseValues.ts';

type Content = Pick<UpstreamRequestOptions, 'body' | 'inlineImages'>;

/** A request with its key, as `requestJson` and `requestStream` take it. */
export interface PreparedRequest {
  method: NonNullable<ProtocolRequest['method']>;
  url: string;
  options: UpstreamRequestOptions;
}

/** Sends the requests of a description. The key goes to the addresses that {@link isOwnAddress} allows. */
export function createClient(upstream: UpstreamSettings, protocol: Protocol) {
  const { baseUrl } = upstream;

  function prepare(
    request: ProtocolRequest,
    url: string,
    variables: TemplateVariables,
    content: Content,
  ): PreparedRequest {
    const { method = content.body === undefined ? 'GET' : 'POST' } = request;
    const headers = { accept: 'application/json', ...fillTexts(request.headers, variables) };
    const signed = sign(upstream, protocol.auth, { url, headers });
    return { method, url: signed.url, options: { headers: signed.headers, ...content } };
  }

  /** Sends a request that must not be repeated. */
  async function send({ method, url, options }: PreparedRequest): Promise<JsonResponse> {
    return addRetryAfter(await requestJson(method, url, options));
  }

  /** Adds a missing Retry-After header from the body, whose seconds may have their unit, as in `30s`. */
  function addRetryAfter(response: JsonResponse): JsonResponse {
    const seconds = readText(response, protocol.retry_after)?.replace(/s$/, '');
    return seconds === undefined ? response : { ...response, headers: { 'retry-after': seconds, ...response.headers } };
  }

  return {
    prepare,
    send,
    addRetryAfter,
    buildUrl: (request: ProtocolRequest, variables: TemplateVariables) => buildUrl(baseUrl, request, variables),
    isOwn: (address: unknown): address is string => isOwnAddress(upstream, protocol, address),
    /** Resolves an address of a response, which may be relative. */
    resolve: (address: string | undefined): string | undefined =>
      address !== undefined && canParseUrl(address, baseUrl) ? new URL(address, baseUrl).href : undefined,
    /** Sends a request that can be repeated, so that its outcome is never unknown. */
    query(
      request: ProtocolRequest,
      url: string,
      variables: TemplateVariables,
      content?: Content,
    ): Promise<JsonResponse> {
      const filled = request.body === undefined ? {} : { body: fillTemplate(request.body, variables) as RequestBody };
      return withRetryableErrors(() => send(prepare(request, url, variables, content ?? filled)));
    },
  };
}
