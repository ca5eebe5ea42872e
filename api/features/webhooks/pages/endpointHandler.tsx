import type { Caller } from '../../../../shared/domain/accounts/caller.ts';
import {
  deleteEndpoint,
  getEndpoint,
  rotateSecret,
  sendTestEvent,
  updateEndpoint,
} from '../../../../shared/domain/webhooks/endpoints.ts';
import { createBodyParser } from '../../../../shared/lib/validation/bodyParser.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { getForm } from '../../../pipeline/body.ts';
import { executeFormOnce } from '../../../pipeline/idempotency.ts';
import { seeOther } from '../../../pipeline/redirect.ts';
import { getRequestOrigin } from '../../../pipeline/requestOrigin.ts';
import { parseUuidParam } from '../../../pipeline/requestParameters.ts';
import { UpdateWebhookRequest } from '../schemas.ts';
import { readFormerState } from '../../../web/components/editForm.tsx';
import { showErrorsOn } from '../../../web/components/showErrorsOn.ts';
import { defineAccountAction } from '../../../web/components/accountAction.tsx';
import { t as shared } from '../../../web/texts.ts';
import { parseShownDeliveries } from './deliveries.tsx';
import { getEndpointName } from './describeEndpoint.tsx';
import { describeRotation } from './describeRotation.tsx';
import { endpointForm } from './endpointForm.tsx';
import { type EndpointOutcome, renderEndpointPage } from './endpointPage.tsx';
import { buildEndpointPath, WEBHOOKS_PATH } from './paths.ts';
import { ENDPOINT } from './endpointTexts.ts';
import { renderWebhooksPage } from './view.tsx';

const parseEndpointForm = createBodyParser(UpdateWebhookRequest);
const withWebhookErrors = showErrorsOn(renderWebhooksPage);
const withEndpointErrors = showErrorsOn(renderEndpointPage, withWebhookErrors);

export const showEndpointPage = withEndpointErrors(async (ctx) => {
  await renderEndpointPage(ctx, { deliveries: parseShownDeliveries(ctx) });
});

/** Actions of the page of an endpoint, by the field `action` of their forms. Each names its outcome. */
const ACTIONS: Record<string, (ctx: Context, caller: Caller, uuid: string) => Promise<EndpointOutcome>> = {
  async save(ctx, caller, uuid) {
    const form = getForm(ctx);
    const request = parseEndpointForm(endpointForm.read(form));
    await updateEndpoint(caller, uuid, request, { origin: getRequestOrigin(ctx), expected: readFormerState(form) });
    return 'saved';
  },
  async enable(_ctx, caller, uuid) {
    await updateEndpoint(caller, uuid, { enabled: true });
    return 'enabled';
  },
  async disable(_ctx, caller, uuid) {
    await updateEndpoint(caller, uuid, { enabled: false });
    return 'disabled';
  },
  async test(_ctx, caller, uuid) {
    await sendTestEvent(caller, uuid);
    return 'tested';
  },
};

/** Carries out an action of the page of an endpoint, and returns to the page. */
export const submitEndpointPage = withEndpointErrors(async (ctx) => {
  const uuid = parseUuidParam(ctx);
  const path = buildEndpointPath(uuid);
  const name = getForm(ctx).get('action') ?? '';
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (action === undefined)
    throw new ServiceError('validation_error', 'The form names no action. Reload the page and try again.');
  seeOther(ctx, `${path}?done=${await action(ctx, requireCaller(ctx), uuid)}`);
});

export const rotateEndpointSecret = defineAccountAction({
  withErrors: withEndpointErrors,
  describe: async (ctx, { accountId }) => {
    const endpoint = await getEndpoint(accountId, parseUuidParam(ctx));
    const question = ENDPOINT.rotateQuestion({ name: getEndpointName(endpoint) });
    return describeRotation(question, buildEndpointPath(endpoint.uuid), endpoint.previous_until);
  },
  perform: async (ctx, caller) => {
    const uuid = parseUuidParam(ctx);
    const scope = 'account.webhook.rotate';
    // A second rotation would end the signatures of the secret in use.
    const response = await executeFormOnce<{ secret: string }>(ctx, scope, { uuid }, async (_id, saveResponse) => {
      const { secret } = await rotateSecret(caller, uuid, {
        origin: getRequestOrigin(ctx),
        onDone: (transaction, rotated) => saveResponse(transaction, { secret: rotated.secret }),
      });
      return { secret };
    });
    await renderEndpointPage(ctx, { newSecret: response.secret });
    return undefined;
  },
});

export const deleteWebhookEndpoint = defineAccountAction({
  withErrors: withEndpointErrors,
  describe: async (ctx, { accountId }) => {
    const endpoint = await getEndpoint(accountId, parseUuidParam(ctx));
    return {
      question: ENDPOINT.deleteQuestion({ name: getEndpointName(endpoint) }),
      consequences: (
        <>
          <p>{endpoint.url}</p>
          <p>{ENDPOINT.deleteEffect()}</p>
        </>
      ),
      button: shared.delete(),
      returnPath: buildEndpointPath(endpoint.uuid),
    };
  },
  perform: async (ctx, caller) => {
    const uuid = parseUuidParam(ctx);
    await deleteEndpoint(caller, uuid, { origin: getRequestOrigin(ctx) });
    return `${WEBHOOKS_PATH}?done=deleted`;
  },
});
