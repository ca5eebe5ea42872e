import { now } from '../../../lib/clock.ts';
import { config } from '../../../lib/config.ts';
import { fillTemplate, type TemplateVariables } from '../../../lib/template.ts';
import { type JsonResponse, requestStream } from '../http.ts';
import { InvalidOutputError } from '../../media/download.ts';
import { toForm } from '../requestBody.ts';
import {
  accountError,
  FAILURE_MESSAGES,
  isSafeString,
  namesContent,
  NOT_ALLOWED_RESULT,
  probeError,
  toResult,
  toSubmitError,
  truncateMessage,
  unavailableError,
  unreadableHandleError,
} from '../responses.ts';
import {
  type CancelResult,
  type SubmitRequest,
  type SubmitResult,
  type Upstream,
  UpstreamError,
  type UpstreamHandle,
  type UpstreamProgress,
  type UpstreamResult,
} from '../upstream.ts';
import type { UpstreamRoute } from '../upstreamConfig.ts';
import { createClient, type PreparedRequest } from './client.ts';
import {
  addFacts,
  countFiltered,
  isAllFiltered,
  keepAllowedFiles,
  listAddresses,
  readOutputResponse,
  readPrice,
} from './outputs.ts';
import type { KindProtocol, Meaning, Protocol, ProtocolOutput, RunState } from './protocol.ts';
import { createRedactor, getCallbackSecret, sign } from './credentials.ts';
import { isSafeId, parseModelId } from './requests.ts';
import { meets, readText, readValues } from './responseValues.ts';
import { replaceImages } from './submitImages.ts';

interface DescribedHandle extends UpstreamHandle {
  id: string;
  /** Address to poll, if the response to the submit contains it. */
  url?: string;
  /** Price of the run, if the response to the submit contains it. */
  cents?: number;
  /** Present if the input contains images. */
  withImages?: true;
}

type Poll = NonNullable<KindProtocol['poll']>;

/**
 * Adapter for a provider whose protocol is data: see `protocol.ts`. What a description does not say has the meaning
 * that it has for the other adapters, so a submit whose response is lost or not understood has an unknown outcome.
 */
export function describedUpstream({ upstream, modelId, kind }: UpstreamRoute): Upstream {
  const protocol = upstream.protocol as Protocol;
  const { submit: submission, poll: polling, cancel: cancellation } = protocol[kind] as KindProtocol;
  const model = parseModelId(protocol, modelId) as TemplateVariables;
  const client = createClient(upstream, protocol);
  const redact = createRedactor(upstream);

  async function submit(request: SubmitRequest): Promise<SubmitResult> {
    const { images = [], callbackUrl, deadlineAt, generationId } = request;
    const buildVariables = () => ({
      ...model,
      generation_id: generationId,
      seconds_left: Math.max(1, Math.ceil((deadlineAt.getTime() - now().getTime()) / 1_000)),
      with_images: images.length > 0,
      callback_url: callbackUrl ?? null,
      callback_secret: callbackUrl === undefined ? null : getCallbackSecret(upstream),
    });
    const { uploads: steps } = submission;
    const uploads =
      steps === undefined ? undefined : { steps, client, variables: buildVariables(), toError: toUploadError };
    const { input, inlineImages } = await replaceImages(request.input, images, submission.images, uploads);
    // Reading and sending the images takes a part of the time that is left.
    const variables = buildVariables();
    const fields = fillTemplate(submission.body ?? {}, variables) as Record<string, unknown>;
    const body = { ...fields, ...(submission.input === undefined ? input : { [submission.input]: input }) };
    const content = submission.as === 'form' ? toForm(body, submission.images === 'file' ? images : []) : body;
    const url = client.buildUrl(submission, variables);
    const prepared = client.prepare(submission, url, variables, { body: content, inlineImages });
    if (submission.output !== undefined) return submitSynchronously(prepared, request, submission.output);
    return toAcceptance(await client.send(prepared), images.length > 0);
  }

  function toAcceptance(response: JsonResponse, withImages: boolean): SubmitResult {
    const [id] = submission.id === undefined ? [] : readValues(response, submission.id);
    if (response.status >= 300 || !isSafeId(id)) throw toDescribedSubmitError(response);
    const url = client.resolve(readText(response, submission.poll_url));
    const price = readPrice(response, submission.price);
    const handle: DescribedHandle = { id, ...price, ...(withImages ? { withImages } : {}) };
    // Without an address to poll, polls find no run: it was accepted, so another submit would be another run.
    return { state: 'accepted', handle: client.isOwn(url) && isSafeString(url) ? { ...handle, url } : handle };
  }

  function submitSynchronously(
    { method, url, options }: PreparedRequest,
    request: SubmitRequest,
    output: ProtocolOutput,
  ): Promise<UpstreamResult> {
    const timeoutMs = Math.min(config.UPSTREAM_SYNC_TIMEOUT_MS, request.deadlineAt.getTime() - now().getTime());
    return requestStream(method, url, { ...options, timeoutMs: Math.max(1, timeoutMs) }, async (stream) => {
      try {
        const { response, files, isAnswer, discard } = await readOutputResponse(
          stream,
          output,
          () => request.newFile(),
          kind,
        );
        const result = isSuccess(response) ? await toSynchronousResult(response, output, files) : undefined;
        if (result?.state !== 'succeeded') await discard();
        if (result !== undefined && (isAnswer || !isNoOutput(result))) return result;
        throw toDescribedSubmitError(client.addRetryAfter(response), { isSynchronous: true });
      } catch (error) {
        if (error instanceof InvalidOutputError) return { state: 'failed', message: FAILURE_MESSAGES.unusableOutput };
        throw error;
      }
    });
  }

  /** Returns true for a status of success and content to which no rule applies. */
  function isSuccess(response: JsonResponse): boolean {
    return response.status < 300 && findMeaning(response) === undefined;
  }

  async function toSynchronousResult(
    response: JsonResponse,
    output: ProtocolOutput,
    files: readonly string[],
  ): Promise<UpstreamResult> {
    const price = readPrice(response, submission.price);
    if (files.length === 0) return toRunResult(response, output, undefined, price);
    const [first, ...others] = (await keepAllowedFiles(response, files)).map((file) => ({ file }));
    if (first === undefined) return NOT_ALLOWED_RESULT;
    const filtered = files.length - others.length - 1 + countFiltered(response, output);
    const result = { state: 'succeeded', outputs: [first, ...others], isWatermarked: false } as const;
    return addFacts({ ...result, ...(filtered > 0 ? { filtered } : {}) }, output, price);
  }

  /** Returns the variables of requests about a run. */
  function getRunVariables(stored: UpstreamHandle): TemplateVariables {
    const { id, withImages = false } = stored as DescribedHandle;
    return { ...model, id, with_images: withImages };
  }

  async function poll(stored: UpstreamHandle): Promise<UpstreamProgress> {
    const { url: storedUrl, cents } = stored as DescribedHandle;
    const request = polling as Poll;
    const { output, result } = request;
    const variables = getRunVariables(stored);
    const url = storedUrl ?? (request.path === undefined ? undefined : client.buildUrl(request, variables));
    if (!client.isOwn(url)) throw unreadableHandleError(url);
    const response = await client.query(request, url, variables);
    const progress = toProgress(response, readState(response, request));
    if (progress !== undefined) return progress;
    const price = { ...(cents === undefined ? {} : { cents }), ...readPrice(response, request.price) };
    if (result === undefined) return toRunResult(response, output, url, price);
    const values = Object.entries(result.values ?? {}).map(([name, at]) => [name, readText(response, at)] as const);
    if (values.some(([, value]) => !isSafeId(value))) return NO_OUTPUT_RESULT;
    const resultVariables: TemplateVariables = { ...variables, ...(Object.fromEntries(values) as TemplateVariables) };
    const resultUrl = client.buildUrl(result, resultVariables);
    if (output.at === undefined) return toRunResult(response, output, resultUrl, price);
    const found = await client.query(result, resultUrl, resultVariables);
    const isUsable = found.status < 300 && found.body !== undefined;
    const state = findMeaning(found) ?? (isUsable ? 'succeeded' : 'busy');
    return toProgress(found, state) ?? toRunResult(found, output, undefined, price);
  }

  /** Rules come first, then the status of the response, then what it says. */
  function readState(response: JsonResponse, { statuses, state, states = {}, missing }: Poll): RunState | Meaning {
    const known = findMeaning(response) ?? statuses?.[response.status];
    if (known !== undefined) return known;
    if (response.status === 404) return 'gone';
    if (namesContent(response)) return 'policy';
    if (response.status >= 300 || typeof response.body !== 'object' || response.body === null) return 'busy';
    const text = readText(response, state);
    if (text === undefined) return missing ?? 'busy';
    return (Object.hasOwn(states, text) ? states[text] : undefined) ?? 'running';
  }

  /** @returns undefined for a run that has succeeded. */
  function toProgress(response: JsonResponse, state: RunState | Meaning): UpstreamProgress | undefined {
    const progress = readText(response, polling?.progress);
    const running = { state: 'running', ...(progress === undefined ? {} : { progress }) } as const;
    switch (state) {
      case 'succeeded':
        return undefined;
      case 'queued':
        return { ...running, isWaiting: true };
      case 'running':
        return running;
      case 'policy':
        return NOT_ALLOWED_RESULT;
      case 'failed':
      case 'rejected':
        return { state: 'failed', message: describe(response) };
      case 'canceled':
        return { state: 'failed', message: FAILURE_MESSAGES.cancelled };
      case 'broken':
        return { state: 'failed', message: FAILURE_MESSAGES.brokeDown };
      case 'gone':
        throw new UpstreamError('gone', 'The upstream does not have this job.');
      case 'account':
      case 'busy':
        throw unavailableError(response);
    }
  }

  /** @param fileUrl address of the output if no response contains it. */
  function toRunResult(
    response: JsonResponse,
    output: ProtocolOutput,
    fileUrl: string | undefined,
    price: { cents?: number },
  ): UpstreamResult {
    if (isAllFiltered(response, output)) return NOT_ALLOWED_RESULT;
    const urls = output.at === undefined ? [fileUrl] : listAddresses(response, output, client);
    return addFacts(toResult(urls, false, countFiltered(response, output)), output, price);
  }

  async function cancel(stored: UpstreamHandle): Promise<CancelResult> {
    if (cancellation === undefined) return 'unknown';
    const variables = getRunVariables(stored);
    const request = { method: 'DELETE', ...cancellation } as const;
    const response = await client.query(request, client.buildUrl(request, variables), variables);
    return cancellation.confirmed?.some((condition) => meets(response, condition)) === true ? 'did_not_run' : 'unknown';
  }

  async function probe(): Promise<void> {
    const { statuses = [200] } = protocol.probe;
    const response = await client.query(protocol.probe, client.buildUrl(protocol.probe, model), model);
    if (findMeaning(response) === 'account') throw accountError(response);
    if (!statuses.includes(response.status) || response.body === undefined) throw probeError(response);
  }

  function getFileHeaders(url: string): Record<string, string> | undefined {
    const { auth = false, headers = {} } = protocol.files ?? {};
    if (!client.isOwn(url)) return undefined;
    const signed = auth ? sign(upstream, protocol.auth, { url, headers }).headers : headers;
    return Object.keys(signed).length === 0 ? undefined : signed;
  }

  function findMeaning(response: JsonResponse): Meaning | undefined {
    return protocol.errors?.find((rule) => meets(response, rule))?.means;
  }

  function toDescribedSubmitError(response: JsonResponse, how: { isSynchronous?: boolean } = {}): UpstreamError {
    switch (findMeaning(response)) {
      case 'policy':
        return new UpstreamError('rejected', FAILURE_MESSAGES.notAllowed);
      case 'rejected':
        return new UpstreamError('rejected', describe(response));
      case 'account':
        return accountError(response);
      case 'busy':
        return unavailableError(response);
      case 'broken':
        return new UpstreamError('unknown', `The upstream failed with status ${response.status}.`);
      default:
        return toSubmitError(response, () => describe(response), how);
    }
  }

  /** An upload that is not refused for good is sent again, with the submit that follows it. */
  function toUploadError(response: JsonResponse): UpstreamError {
    const isFinal = ['policy', 'rejected', 'account'].includes(findMeaning(response) ?? '');
    return isFinal ? toDescribedSubmitError(response) : unavailableError(response);
  }

  /** Describes a failure for the customer. */
  function describe(response: JsonResponse): string {
    for (const pointer of protocol.error_text ?? []) {
      const texts = readValues(response, pointer).filter((value) => typeof value === 'string');
      if (texts.length > 0) return truncateMessage(redact(texts.join('; ')));
    }
    return FAILURE_MESSAGES.notMade;
  }

  return { kind, isSynchronous: submission.output !== undefined, submit, poll, cancel, getFileHeaders, probe };
}

const isNoOutput = (result: UpstreamResult) => 'message' in result && result.message === FAILURE_MESSAGES.noOutput;

const NO_OUTPUT_RESULT: UpstreamResult = { state: 'failed', message: FAILURE_MESSAGES.noOutput };
