import { PNG } from '../../../../test/fakes/misbehave.ts';
import { IMAGE_PARAMETER } from '../../catalogs.ts';
import { newStepId, type Step } from '../clientState.ts';
import { type CreateRequest, newCreateRequest } from '../createRequests.ts';
import { parseJson, recordRequest, reportInternalError, sendHttp } from '../httpClient.ts';
import { sendWithKey } from '../restRequests.ts';
import { retryUntilKnown } from '../retry.ts';
import { sendCreate } from './create.ts';

const IMAGE = { content_type: 'image/png', bytes: PNG.length };

/**
 * Creates a video from an image: an upload, which is often used a second time, or a data URL, whose upload all creates of
 * the account share. Processes with the default catalog reject it.
 */
export async function createWithImage(step: Step): Promise<void> {
  const { customer, random } = step;
  if (customer.upload !== null && random.chance(0.3)) customer.upload = null;
  if (random.chance(0.3)) await createFrom(step, `data:image/png;base64,${PNG.toString('base64')}`);
  else {
    customer.upload ??= await uploadImage(step);
    if (customer.upload !== null) await createFrom(step, `upload:${customer.upload}`);
  }
}

async function createFrom(step: Step, image: string): Promise<void> {
  const created = newCreateRequest(step, newStepId(step), 'REST', true);
  created.observed.hasImage = true;
  const request: CreateRequest = { ...created, params: { ...created.params, [IMAGE_PARAMETER]: image } };
  const response = await retryUntilKnown(step, () => sendCreate(step, request));
  // The upload has expired, or its file has not arrived.
  if (response.status === 400) step.customer.upload = null;
}

/** Creates an upload and sends its file. @returns its uuid; null if the response was lost or there was none. */
async function uploadImage(step: Step): Promise<string | null> {
  const { state, customer } = step;
  const created = await sendWithKey(step, {
    kind: 'create upload',
    method: 'POST',
    path: '/api/uploads/create/',
    body: IMAGE,
    expectedErrors: ['not_found', 'subscription_required', 'rate_limited'],
    status: 201,
    shape: 'createdUpload',
  });
  if (!created.isGood) return null;
  const { uuid, upload_url: url, headers } = created.body;
  const { origin, pathname, search } = new URL(url);
  const kind = 'send upload';
  const sent = { kind, method: 'PUT', path: pathname + search, address: origin, headers, file: PNG } as const;
  const reply = await sendHttp(state, sent);
  recordRequest(state, kind, reply, parseJson(reply.text)?.error ?? null);
  if (reply.status === 500) reportInternalError(state, customer.uuid, kind, reply);
  return uuid;
}
