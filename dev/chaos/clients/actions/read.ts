import { type RestResponse, sendWithKey } from '../restRequests.ts';
import type { ObservedGeneration } from '../clientStore.ts';
import { recordShownGeneration } from '../observedGenerations.ts';
import { recordRequest, sendHttp } from '../httpClient.ts';
import { reportViolation, type Step } from '../clientState.ts';

/** Reads a known generation, or waits a little for its end; downloads it now and then. */
export async function readKnownGeneration(step: Step): Promise<void> {
  const known = pickKnownGeneration(step);
  if (known === undefined) return;
  const wait = step.random.chance(0.1) ? step.random.nextBetween(1, 3) : 0;
  const response = await readGeneration(step, known, wait);
  if (response.isGood && response.body.status === 'succeeded' && step.random.chance(0.3))
    await downloadOutput(step, known);
}

/** Picks one of the latest generations of the account, which may be deleted. */
export function pickKnownGeneration({ state, customer, random }: Step): ObservedGeneration | undefined {
  const uuid = customer.generations.length === 0 ? undefined : random.pick(customer.generations);
  return state.store.generations.get(uuid ?? '');
}

export async function readGeneration(step: Step, known: ObservedGeneration, waitSeconds = 0): Promise<RestResponse> {
  const response = await sendWithKey(step, {
    kind: waitSeconds === 0 ? 'read' : 'wait for the end',
    method: 'GET',
    path: `/api/generations/${known.uuid}/${waitSeconds === 0 ? '' : `?wait=${waitSeconds}`}`,
    expectedErrors: ['not_found'],
    status: 200,
    shape: 'generation',
  });
  if (response.isGood) recordShownGeneration(step, response.body, response.beganAt);
  else if (response.status === 404 && known.deleteRequestedAt === null) {
    reportViolation(
      step,
      'created-exists',
      known.uuid,
      'is not found, although it was created with 201 and not deleted',
    );
  }
  return response;
}

const MEDIA_TYPES = /^(image|video)\//;

/** Downloads the output once, through any address. */
export async function downloadOutput(step: Step, known: ObservedGeneration): Promise<void> {
  const path = known.final?.outputPath;
  if (path == null || known.isDownloaded) return;
  known.isDownloaded = true;
  const { state, random } = step;
  const kind = 'download';
  const address = random.pick(state.addresses);
  const reply = await sendHttp(state, { kind, method: 'GET', path, address, headers: {} });
  recordRequest(state, kind, reply, null);
  const { status, headers, text } = reply;
  if (typeof status !== 'number' || status >= 500 || known.deleteRequestedAt !== null) {
    known.isDownloaded = false;
    return;
  }
  const type = String(headers['content-type']);
  if (status === 200 && MEDIA_TYPES.test(type) && text !== '') return;
  reportViolation(step, 'output-can-be-fetched', known.uuid, `${path} returns ${status} ${type}`);
}
