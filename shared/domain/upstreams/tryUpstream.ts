import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { downloadContent, InvalidOutputError } from '../../gateways/media/download.ts';
import { readHead, sniffFormat } from '../../gateways/media/formats.ts';
import { deleteTempFile, newTempFile } from '../../gateways/media/tempFiles.ts';
import {
  buildImageVariables,
  buildUpstreamInput,
  createRedactor,
  findUpstreamRoute,
  getDownloadPolicy,
  getDownloadSource,
  getUpstream,
  getUpstreamRoutes,
  type InlineImages,
  isForm,
  omitImageParams,
  type RequestBody,
  type RequestTrace,
  type RoleImage,
  type SubmitImage,
  traceRequests,
  UpstreamError,
  type UpstreamProgress,
  type UpstreamResult,
  type UpstreamRoute,
} from '../../gateways/upstreams/index.ts';
import { getCatalog } from '../../lib/catalog/catalog.ts';
import { buildExampleRequest } from '../../lib/catalog/exampleRequests.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { isDraining } from '../../lib/drain.ts';
import { MINUTE_MS } from '../../spec/durations.ts';
import type { CatalogModel, GenerationParams, InputRole, ModelInput, ModelKind } from '../../spec/catalog.ts';

export interface Trial {
  /** Upstream and its model id, as in the catalog: `fal:owner/model`. */
  name: string;
  prompt: string;
  /** Parameters that replace those of an example request of the model. */
  params: GenerationParams;
  /** Images of the input. Upstreams that take addresses receive them as `data:` addresses. */
  images?: readonly TrialImage[];
  /** Kind of a model that the catalog does not have. */
  kind?: ModelKind;
  /** True: the request is shown and not sent. */
  isDryRun: boolean;
  /** Time after which the trial ends. */
  timeoutMs: number;
}

export interface TrialImage {
  role: InputRole;
  contentType: string;
  content: Uint8Array;
}

export interface TrialFile {
  /** A local file, which the caller moves or deletes. */
  file: string;
  route: UpstreamRoute;
}

/** A trial that cannot begin. The message says why. */
export class TrialError extends Error {}

const POLL_INTERVAL_MS = 2_000;
/** Time for which polls may fail before a trial ends: the provider charges for its run. */
const FAILING_POLLS_MAX_MS = MINUTE_MS;

/**
 * Tries an upstream: submits one run, follows it to its file, and reports each request and response as a line. It is a
 * run of no account, which the provider charges for. Secrets are replaced by `***`.
 * @returns undefined if there is no file.
 * @throws TrialError
 */
export async function tryUpstream(trial: Trial, report: (line: string) => void): Promise<TrialFile | undefined> {
  const { route, input, images } = prepareTrial(trial);
  const redact = createRedactor(route.upstream);
  const print = (line: string) => report(redact(line));
  // Before a cut and the escapes of JSON, after which a secret does not match.
  const shorten = (text: string) => cut(redact(text));
  const upstream = getUpstream(route);
  const deadlineAt = addMilliseconds(now(), trial.timeoutMs);
  const request = { generationId: uuidv7(), input, images, deadlineAt, newFile: () => newTempFile() };
  const trace = createTrace(print, shorten, trial.isDryRun);
  try {
    const submission = await traceRequests(trace, () => upstream.submit(request));
    const result =
      submission.state === 'accepted'
        ? await follow(() => traceRequests(trace, () => upstream.poll(submission.handle)), deadlineAt, print)
        : submission;
    return await collect(result, route, print, shorten);
  } catch (error) {
    if (trial.isDryRun && trace.isStopped()) return undefined;
    if (!(error instanceof UpstreamError) && !(error instanceof InvalidOutputError)) throw error;
    print(`= ${error instanceof UpstreamError ? error.fault : 'invalid output'}: ${error.message}`);
    return undefined;
  }
}

function prepareTrial({ name, prompt, params, kind, images: given = [] }: Trial): {
  route: UpstreamRoute;
  input: Record<string, unknown>;
  images: SubmitImage[];
} {
  const colon = name.indexOf(':');
  const [upstream, modelId] = [name.slice(0, colon), name.slice(colon + 1)];
  const model = findModel(name);
  const made = kind ?? model?.kind;
  if (made === undefined) throw new TrialError(`No model of the catalog uses ${name}: choose --kind image or video.`);
  const inputs = model?.inputs ?? buildInputs(given);
  const route = findUpstreamRoute(model ?? { slug: name, kind: made, inputs }, upstream, modelId);
  if (route === undefined) throw new TrialError(`${name} must begin with the name of an upstream and a colon.`);
  const { protocol } = route.upstream;
  if (protocol !== undefined && protocol[made] === undefined)
    throw new TrialError(`The description of ${upstream} makes no ${made}s.`);
  const untaken = given.find(({ role }) => !Object.values(inputs).some((input) => input.role === role));
  if (untaken !== undefined) throw new TrialError(`The model ${model?.slug} takes no ${untaken.role}.`);
  const images = given.map(toSubmitImage);
  const example = model === undefined ? {} : omitImageParams(model.inputs, buildExampleRequest(model).shownParams);
  try {
    const variables = { prompt, ...example, ...params, ...buildImageVariables(inputs, images) };
    return { route, images, input: buildUpstreamInput(route, variables) };
  } catch (error) {
    throw new TrialError(`The input cannot be built: ${(error as Error).message}. Use --params.`);
  }
}

/** Declares the images of a model that the catalog does not have. */
function buildInputs(images: readonly TrialImage[]): Record<string, ModelInput> {
  const count = (role: InputRole) => images.filter((image) => image.role === role).length;
  return Object.fromEntries(images.map(({ role }) => [role, { role, max: count(role), required: false }]));
}

function toSubmitImage({ role, contentType, content }: TrialImage): SubmitImage & RoleImage {
  const url = `data:${contentType};base64,${Buffer.from(content).toString('base64')}`;
  return { role, contentType, url, bytes: content.length, read: async () => [content] };
}

/** Finds a model of the catalog that an upstream makes. */
function findModel(name: string): CatalogModel | undefined {
  const routes = getUpstreamRoutes();
  return getCatalog().models.find(({ slug }) =>
    routes[slug]?.some(({ upstream, modelId }) => `${upstream.name}:${modelId}` === name),
  );
}

/** Polls until the run has ended. A poll that fails is repeated, also one of a run that is not visible yet. */
async function follow(
  poll: () => Promise<UpstreamProgress>,
  deadlineAt: Date,
  print: (line: string) => void,
): Promise<UpstreamResult> {
  let answeredAt = now();
  for (;;) {
    await sleep(POLL_INTERVAL_MS);
    try {
      const progress = await poll();
      if (progress.state !== 'running') return progress;
      answeredAt = now();
      const { isWaiting, progress: reported } = progress;
      print(`= ${isWaiting === true ? 'waiting' : 'running'}${reported === undefined ? '' : `, ${reported}`}`);
    } catch (error) {
      const isLost = now().getTime() - answeredAt.getTime() > FAILING_POLLS_MAX_MS;
      if (!(error instanceof UpstreamError) || isLost) throw error;
      print(`= ${error.fault}, will poll again: ${error.message}`);
    }
    if (now() > deadlineAt) return { state: 'failed', message: 'The trial has no more time.' };
    if (isDraining())
      return { state: 'failed', message: 'The worker stops. The provider may still charge for the run.' };
  }
}

async function collect(
  result: UpstreamResult,
  route: UpstreamRoute,
  print: (line: string) => void,
  shorten: (text: string) => string,
): Promise<TrialFile | undefined> {
  if (result.state === 'failed') {
    print(`= failed: ${result.message}`);
    return undefined;
  }
  const { outputs, costCents, expiresInMs } = result;
  const [output, ...others] = outputs;
  if (others.length > 0) print(`= the first of ${outputs.length} files`);
  for (const other of others) if ('file' in other) await deleteTempFile(other.file);
  if (costCents !== undefined) print(`= price: ${costCents} cents`);
  if (expiresInMs !== undefined) print(`= valid for ${expiresInMs / 1_000} seconds`);
  const file = 'file' in output ? output.file : await downloadOutput(output.url, route, print, shorten);
  try {
    const { contentType } = sniffFormat(await readHead(file), route.kind);
    print(`= succeeded: ${contentType}`);
    return { file, route };
  } catch (error) {
    await deleteTempFile(file);
    throw error;
  }
}

async function downloadOutput(
  url: string,
  route: UpstreamRoute,
  print: (line: string) => void,
  shorten: (text: string) => string,
): Promise<string> {
  const source = getDownloadSource(route, url);
  const { headers } = source;
  print(`> GET ${shorten(url)}${headers === undefined ? '' : ` with ${Object.keys(headers).join(', ')}`}`);
  const content = await downloadContent(source, getDownloadPolicy(route), 0, newTempFile);
  if ('data' in content) throw new Error('an empty file was downloaded');
  return content.localFile;
}

function createTrace(
  print: (line: string) => void,
  shorten: (text: string) => string,
  isDryRun: boolean,
): RequestTrace & { isStopped: () => boolean } {
  let stopped = false;
  const shortenValue = (_name: string, value: unknown) => (typeof value === 'string' ? shorten(value) : value);
  const describeBody = (body: RequestBody, inlineImages: InlineImages = new Map()) => {
    const lines = isForm(body)
      ? body.map(([name, value]) =>
          typeof value === 'string'
            ? `${name}: ${shorten(value)}`
            : `${name}: file of ${value.bytes} bytes, ${value.contentType}`,
        )
      : JSON.stringify(body, shortenValue, 2).split('\n');
    return lines.map((line) =>
      [...inlineImages].reduce(
        (shown, [text, { bytes, contentType }]) => shown.replaceAll(text, `(base64 of ${bytes} bytes, ${contentType})`),
        line,
      ),
    );
  };
  return {
    isStopped: () => stopped,
    onRequest: ({ method, url, headers, body, inlineImages }) => {
      print(`> ${method} ${url}`);
      // A signed token does not contain the key, but is as good as one.
      for (const [name, value] of Object.entries(headers))
        print(`> ${name}: ${name.toLowerCase() === 'authorization' ? '***' : value}`);
      for (const line of body === undefined ? [] : describeBody(body, inlineImages)) print(`> ${line}`);
      if (!isDryRun) return;
      stopped = true;
      throw new Error('a dry run sends nothing');
    },
    onResponse: ({ status, headers }) => print(`< ${status} ${String(headers['content-type'] ?? '')}`.trimEnd()),
    onBody: (body) => {
      if (body !== undefined) print(`< ${JSON.stringify(body, shortenValue)}`);
    },
  };
}

const VALUE_MAX_CHARACTERS = 300;

function cut(text: string): string {
  return text.length <= VALUE_MAX_CHARACTERS
    ? text
    : `${text.slice(0, VALUE_MAX_CHARACTERS)}... (${text.length} characters)`;
}
