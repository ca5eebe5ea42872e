import { fillTemplate, type TemplateVariables } from '../../../lib/template.ts';
import type { ModelKind } from '../../../spec/catalog.ts';
import { INPUT_ROLES, MODEL_KINDS } from '../../../spec/catalog.ts';
import type { KindProtocol, Protocol, ProtocolRequest, ProtocolUpload } from './protocol.ts';
import { buildUrl, fillTexts, parseModelId } from './requests.ts';

/** A sentence about what is wrong. It continues the path of the description. */
export class ProtocolError extends Error {
  /** @param problem begins with a path below the description, or with `must`. */
  constructor(problem: string) {
    super(`${problem.startsWith('must ') ? ' ' : '/'}${problem}.`);
  }
}

/**
 * Checks what the schema of a description cannot: that its parts fit each other, and that templates have their
 * variables.
 * @throws ProtocolError
 */
export function checkProtocol(protocol: Protocol): void {
  const { auth, callback, files, probe } = protocol;
  const needsName = auth.type === 'header' || auth.type === 'query';
  demand(
    !needsName || auth.name !== undefined,
    `auth must have the "name" of the ${auth.type === 'query' ? 'parameter' : 'header'}`,
  );
  demand(
    auth.type !== 'query' || files?.auth !== true,
    'files/auth must not be true: a key in the address would be stored with it',
  );
  demand(
    callback?.signature !== 'hmac' || callback.header !== undefined,
    'callback must have the "header" of the signature',
  );
  demand(protocol.video !== undefined || protocol.image !== undefined, 'must have "video" or "image"');
  const model = parseModelId(protocol, sampleModelId(protocol)) ?? {};
  checkRequest('probe', probe, model);
  for (const kind of MODEL_KINDS) {
    const described = protocol[kind];
    if (described !== undefined) checkKind(kind, described, protocol);
  }

  function checkKind(kind: ModelKind, { submit, poll, cancel }: KindProtocol, { auth, files }: Protocol): void {
    const isSynchronous = submit.output !== undefined;
    demand(isSynchronous !== (poll !== undefined), `${kind} must have either "submit/output" or "poll"`);
    demand(isSynchronous || submit.id !== undefined, `${kind}/submit must have "id", a pointer to the id of the job`);
    demand(
      submit.images !== 'file' || submit.as === 'form',
      `${kind}/submit/images can be "file" only with "as": "form"`,
    );
    demand(
      submit.output?.as !== 'base64' || submit.output.at !== undefined,
      `${kind}/submit/output must have "at" for base64`,
    );
    demand(submit.body === undefined || typeof submit.body === 'object', `${kind}/submit/body must be an object`);
    for (const callbackUrl of [null, 'https://host/path'])
      checkRequest(`${kind}/submit`, submit, {
        ...model,
        ...SUBMIT_VARIABLES,
        callback_url: callbackUrl,
        callback_secret: callbackUrl,
      });
    checkImages(`${kind}/submit`, submit, model);
    const run = { ...model, id: 'id', with_images: false };
    if (cancel !== undefined) checkRequest(`${kind}/cancel`, cancel, run);
    if (poll === undefined) return;
    demand(
      poll.path !== undefined || submit.poll_url !== undefined,
      `${kind}/poll must have "path", or "submit" must have "poll_url"`,
    );
    demand(poll.state !== undefined || poll.statuses !== undefined, `${kind}/poll must have "state" or "statuses"`);
    const ends = [...Object.values(poll.states ?? {}), ...Object.values(poll.statuses ?? {}), poll.missing];
    demand(ends.includes('succeeded'), `${kind}/poll/states must have a state that means "succeeded"`);
    const isFile = poll.output.at === undefined;
    demand(!isFile || poll.output.as !== 'base64', `${kind}/poll/output must have "at" for base64`);
    demand(
      !isFile || auth.type === 'none' || files?.auth === true,
      `files must have "auth": true, because the output of "${kind}" is at an address that requires the key`,
    );
    if (poll.path !== undefined) checkRequest(`${kind}/poll`, poll, run);
    if (poll.result === undefined) return;
    const values = Object.fromEntries(Object.keys(poll.result.values ?? {}).map((name) => [name, 'value']));
    checkRequest(`${kind}/poll/result`, poll.result, { ...run, ...values });
  }
}

function demand(isFine: boolean, problem: string): void {
  if (!isFine) throw new ProtocolError(problem);
}

const SUBMIT_VARIABLES = { generation_id: 'id', seconds_left: 60, with_images: false };

const sampleModelId = ({ model = '{model}' }: Protocol) => model.replaceAll(/\{\w+\}/g, 'model');

/** Fills every template of a request, with a credential of no one. */
function checkRequest(path: string, request: ProtocolRequest, variables: TemplateVariables): void {
  try {
    for (const withImages of 'with_images' in variables ? [false, true] : [false]) {
      const all = { ...variables, ...('with_images' in variables ? { with_images: withImages } : {}) };
      buildUrl('https://host', request, all);
      fillTexts(request.headers, all);
      fillTemplate(request.body ?? {}, all);
    }
  } catch (error) {
    throw new ProtocolError(`${path} cannot be filled: ${(error as Error).message}`);
  }
}

const IMAGE_VARIABLES = { address: 'https://host/image', base64: 'AAAA', type: 'image/png', role: 'reference' };

function checkImages(path: string, { images, uploads = [] }: KindProtocol['submit'], model: TemplateVariables): void {
  const isTemplate = images !== undefined && images !== 'address' && images !== 'file';
  demand(isTemplate || uploads.length === 0, `${path}/images must be a template that uses the values of "uploads"`);
  if (!isTemplate) return;
  const values = checkUploads(`${path}/uploads`, uploads, { ...model, ...SUBMIT_VARIABLES });
  try {
    for (const role of INPUT_ROLES) fillTemplate(images, { ...IMAGE_VARIABLES, ...values, role });
  } catch (error) {
    throw new ProtocolError(`${path}/images cannot be filled: ${(error as Error).message}`);
  }
}

/** Returns examples of the values of all uploads. */
function checkUploads(
  path: string,
  uploads: readonly ProtocolUpload[],
  variables: TemplateVariables,
): TemplateVariables {
  return uploads.reduce<TemplateVariables>((known, upload, index) => {
    checkRequest(`${path}/${index}`, upload, { ...variables, ...IMAGE_VARIABLES, ...known });
    const names = Object.keys(upload.values ?? {});
    return { ...known, ...Object.fromEntries(names.map((name) => [name, 'value'])) };
  }, {});
}
