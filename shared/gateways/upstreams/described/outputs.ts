import type { ModelKind } from '../../../spec/catalog.ts';
import { getContent, type HttpResponse } from '../../httpClient.ts';
import { deleteTempFile } from '../../media/tempFiles.ts';
import { isFileResponse, type JsonResponse, readJson } from '../http.ts';
import { getFileLimits, readImageResponse, writeOutputFile } from '../imageResponse.ts';
import { PRICE_MAX_CENTS } from '../modelSettings.ts';
import { isFiltered } from '../responses.ts';
import type { UpstreamResult } from '../upstream.ts';
import type { createClient } from './client.ts';
import type { ProtocolOutput, ProtocolPrice } from './protocol.ts';
import { countValues, readText as readValue, readValues, splitPointer, toText } from './responseValues.ts';

/** The response of a synchronous provider. */
export interface OutputResponse {
  /** The response without the files that it contains. */
  response: JsonResponse;
  /** The outputs that it contains, in local files. */
  files: string[];
  /** True if the response has a place for outputs, even if there is none in it. */
  isAnswer: boolean;
  /** Deletes the files. */
  discard: () => Promise<void>;
}

/**
 * Reads the response to a synchronous submit, and writes the outputs that are in it to new files.
 * @throws InvalidOutputError if the outputs are too large; otherwise any error of the stream or a file.
 */
export async function readOutputResponse(
  content: HttpResponse,
  output: ProtocolOutput,
  newFile: () => Promise<string>,
  kind: ModelKind,
): Promise<OutputResponse> {
  const { statusCode: status, headers } = content;
  const isSuccess = status < 300;
  const limits = getFileLimits(kind);
  let [body, files]: [unknown, string[]] = [undefined, []];
  if (isSuccess && output.at === undefined && isFileResponse(content)) {
    files = [await newFile()];
    await writeOutputFile(getContent(content), files[0] as string, limits.each);
  } else if (isSuccess && output.at !== undefined && output.as === 'base64') {
    const fields = output.at.map((pointer) => ({ path: splitPointer(pointer), isAddress: false }));
    const read = await readImageResponse(getContent(content), newFile, limits, fields);
    body = read.body;
    files = read.images.flatMap((image) => ('file' in image ? image.file : []));
  } else body = await readJson(content);
  const response = { status, headers, body };
  const isAnswer = output.at?.some((pointer) => hasList(response, pointer)) === true;
  return { response, files, isAnswer, discard: () => deleteFiles(files) };
}

/** Splits files into those that are used and those that a safety filter replaced, which it deletes. */
export async function keepAllowedFiles({ body }: JsonResponse, files: readonly string[]): Promise<string[]> {
  const isAllowed = (_: string, index: number) => !isFiltered([body], index);
  await deleteFiles(files.filter((file, index) => !isAllowed(file, index)));
  return files.filter(isAllowed);
}

async function deleteFiles(files: readonly string[]): Promise<void> {
  for (const file of files) await deleteTempFile(file);
}

/** Returns true if a response has the list of the first `*` of a pointer. */
function hasList(response: JsonResponse, pointer: string): boolean {
  const star = pointer.indexOf('/*');
  return star > 0 && Array.isArray(readValues(response, pointer.slice(0, star))[0]);
}

/** Returns the outputs of a response: the values of the first pointer that has some of the expected type. */
function readOutputs(response: JsonResponse, { at = [], address }: ProtocolOutput): unknown[] {
  const type = address === undefined ? 'string' : 'object';
  const found = at.map((pointer) => readValues(response, pointer));
  return found.find((values) => values.some((value) => typeof value === type && !Array.isArray(value))) ?? [];
}

type Addresses = Pick<ReturnType<typeof createClient>, 'buildUrl' | 'resolve'>;

/**
 * Lists the addresses of the outputs of a response that no safety filter replaced: as they are, built from the fields
 * of an entry, or as a `data:` address of base64 content.
 */
export function listAddresses(response: JsonResponse, output: ProtocolOutput, client: Addresses): string[] {
  const { as = 'address', address } = output;
  return listAllowed(response, output).flatMap((entry) => {
    if (address !== undefined) return buildAddress(entry, address, client) ?? [];
    if (typeof entry !== 'string') return [];
    if (as === 'base64') return `data:application/octet-stream;base64,${entry.replace(/^data:[^,]*,/i, '')}`;
    return client.resolve(entry) ?? [];
  });
}

/** Counts the outputs that a safety filter replaced, in a list of outputs or where the description says. */
export function countFiltered(response: JsonResponse, output: ProtocolOutput): number {
  const listed = readOutputs(response, output).length - listAllowed(response, output).length;
  return listed + (output.filtered === undefined ? 0 : countValues(response, output.filtered));
}

/** Returns true if a safety filter replaced all outputs of a response. */
export function isAllFiltered(response: JsonResponse, output: ProtocolOutput): boolean {
  const [first] = readOutputs(response, output);
  return listAllowed(response, output).length === 0 && isFiltered([response.body, first]);
}

function listAllowed(response: JsonResponse, output: ProtocolOutput): unknown[] {
  return readOutputs(response, output).filter((entry, index) => !isFiltered([response.body, entry], index));
}

/** Returns undefined if the entry lacks a field, or has one that would lead to another path. */
function buildAddress(entry: unknown, path: string, client: Addresses): string | undefined {
  const fields = typeof entry === 'object' && entry !== null ? Object.entries(entry) : [];
  const variables = Object.fromEntries(fields.map(([name, value]) => [name, toText(value) ?? null]));
  if (Object.values(variables).some((value) => value !== null && /(?:^|\/)\.+(?:\/|$)/.test(value))) return undefined;
  try {
    return client.buildUrl({ path }, variables);
  } catch {
    return undefined;
  }
}

/** Returns the price that a response reports, in cents. */
export function readPrice(response: JsonResponse, price: ProtocolPrice | undefined): { cents?: number } {
  const cents = Number(readValue(response, price?.at) ?? Number.NaN) * (price?.cents ?? 1);
  return cents >= 0 && cents <= PRICE_MAX_CENTS ? { cents } : {};
}

/** Adds the price and the lifetime of addresses to the result of a run. */
export function addFacts(
  result: UpstreamResult,
  { expires_seconds: seconds }: ProtocolOutput,
  { cents }: { cents?: number },
): UpstreamResult {
  if (result.state !== 'succeeded') return result;
  const cost = cents === undefined ? {} : { costCents: Math.round(cents * 10_000) / 10_000 };
  const expiry = seconds === undefined ? {} : { expiresInMs: 1_000 * seconds };
  return { ...result, ...cost, ...expiry };
}
