import type { IncomingMessage } from 'node:http';
import { koaBody } from 'koa-body';
import getRawBody from 'raw-body';
import { BODY_LIMIT_BYTES } from '../../shared/spec/limits.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { BODY_TIME_LIMIT_MS } from '../bodyTimeLimit.ts';
import type { Context } from '../context.ts';
import { HttpError } from './httpError.ts';
import { invalidJsonError, parseJson } from './parseJson.ts';

const JSON_TYPES = ['application/json', 'application/*+json', 'application/csp-report'];

/** Reads bodies as text: their levels are counted before they are parsed. */
const readSmallText = koaBody({
  json: false,
  text: true,
  textTypes: JSON_TYPES,
  urlencoded: false,
  multipart: false,
  textLimit: BODY_LIMIT_BYTES,
  parsedMethods: ['POST', 'PATCH', 'PUT', 'DELETE'] as never,
  onError: (error) => {
    throw toBodyError(error);
  },
});

/**
 * Reads and parses a JSON body of at most BODY_LIMIT_BYTES, unpacked.
 * @throws ServiceError validation_error; HttpError 413 if the body is too large.
 */
export async function readJsonBody(ctx: Context): Promise<void> {
  // Names of codings are case-insensitive (RFC 9110, 8.4.1); the reader compares them.
  const coding = ctx.headers['content-encoding'];
  if (coding !== undefined) ctx.headers['content-encoding'] = coding.toLowerCase();
  await readSmallText(ctx, async () => {});
  const { request } = ctx;
  if (typeof request.body === 'string') request.body = parseJson(request.body);
}

/**
 * Returns whether a body is JSON of more than BODY_LIMIT_BYTES, by its headers. A packed body, or one of unknown
 * length, is read as a small one.
 */
export function isLargeJsonBody(ctx: Context): boolean {
  const isPlain = (ctx.headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity';
  return isPlain && (ctx.request.length ?? 0) > BODY_LIMIT_BYTES && Boolean(ctx.is(JSON_TYPES));
}

/**
 * Returns the parsed JSON body. An absent body counts as an empty object, so that the error names the missing field.
 */
export function getJsonBody(ctx: Context): unknown {
  if (ctx.request.body !== undefined) return ctx.request.body;
  if (!announcesBody(ctx.req)) return {};
  throw new ServiceError('validation_error', 'The body must be JSON, sent with "Content-Type: application/json".');
}

/** Limit for events of the payment processor. */
const RAW_BODY_LIMIT_BYTES = 1024 * 1024;

/**
 * Reads the unparsed body, for example to verify its signature. The rest of one that is too large is read after the
 * response, by {@link discardUnreadBody}.
 * @throws HttpError 413 if the body is too large, and 400 if the client disconnects.
 */
export async function readRawBody({ req, request }: Context, limit = RAW_BODY_LIMIT_BYTES): Promise<Buffer> {
  return getRawBody(req, { length: request.length, limit }).catch((error: getRawBody.RawBodyError) => {
    if (error.type === 'request.aborted')
      throw new HttpError('validation_error', 'The body ended early.', { status: 400 });
    throw error.status === 413 ? bodyTooLargeError(limit) : error;
  });
}

/**
 * Parses a form as browsers send it.
 * @throws ServiceError validation_error; HttpError 413 if the body is too large.
 */
export async function readFormBody(ctx: Context): Promise<URLSearchParams> {
  if (!ctx.is('application/x-www-form-urlencoded')) {
    const detail = 'The body must be a form, sent with "Content-Type: application/x-www-form-urlencoded".';
    throw new ServiceError('validation_error', detail);
  }
  return new URLSearchParams((await readRawBody(ctx, BODY_LIMIT_BYTES)).toString());
}

/** Returns the form of a route with `body: 'form'`. */
export function getForm(ctx: Context): URLSearchParams {
  if (ctx.state.form === undefined) throw new Error(`${ctx.state.route?.path} received no form.`);
  return ctx.state.form;
}

/** Limit for the rest of an unread body after the response. A connection that sends more, or too slowly, is closed. */
const DISCARD_LIMIT_BYTES = 16 * 1024 * 1024;

/**
 * Reads and discards the rest of a request body after the response. Otherwise the connection would stay open and the
 * next request on it would never be answered (RFC 9112, 9.3).
 */
export function discardUnreadBody(ctx: Context, next: () => Promise<void>): Promise<void> {
  const { req, res } = ctx;
  if (!announcesBody(req)) return next();
  // Before `finish`, at which Node discards the body only if no part of it was read.
  res.once('prefinish', () => {
    if (req.complete || req.destroyed) return;
    let bytes = 0;
    const timer = setTimeout(() => req.socket.destroy(), BODY_TIME_LIMIT_MS).unref();
    req.once('close', () => clearTimeout(timer));
    req.unpipe();
    req.removeAllListeners('data');
    req.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > DISCARD_LIMIT_BYTES) req.socket.destroy();
    });
    req.resume();
  });
  return next();
}

function announcesBody({ headers }: IncomingMessage): boolean {
  return (headers['transfer-encoding'] ?? '') !== '' || Number(headers['content-length'] ?? 0) > 0;
}

function bodyTooLargeError(limitBytes: number): ServiceError {
  return new HttpError('validation_error', `The body must have at most ${limitBytes} bytes.`, { status: 413 });
}

function toBodyError(error: Error & { status?: number; type?: string }): ServiceError {
  if (error.status === 413) return bodyTooLargeError(BODY_LIMIT_BYTES);
  if (error.status === 415) return new ServiceError('validation_error', `Content-Encoding: ${error.message}.`);
  return invalidJsonError(error.message.slice(0, 200));
}
