import { rotateDefaultSecret } from '../../../../shared/domain/webhooks/defaultEndpoint.ts';
import { createEndpoint } from '../../../../shared/domain/webhooks/endpoints.ts';
import { createBodyParser } from '../../../../shared/lib/validation/bodyParser.ts';
import { requireCaller } from '../../../context.ts';
import { getForm } from '../../../pipeline/body.ts';
import { executeFormOnce } from '../../../pipeline/idempotency.ts';
import { getRequestOrigin } from '../../../pipeline/requestOrigin.ts';
import { CreateWebhookRequest } from '../schemas.ts';
import { showErrorsOn } from '../../../web/components/showErrorsOn.ts';
import { defineAccountAction } from '../../../web/components/accountAction.tsx';
import { renderDefaultPage } from './defaultPage.tsx';
import { parseShownDeliveries } from './deliveries.tsx';
import { describeRotation } from './describeRotation.tsx';
import { endpointForm } from './endpointForm.tsx';
import { DEFAULT_ENDPOINT_PATH } from './paths.ts';
import { ENDPOINT } from './endpointTexts.ts';
import { type NewEndpoint, renderWebhooksPage } from './view.tsx';

const parseEndpointForm = createBodyParser(CreateWebhookRequest);
const withWebhookErrors = showErrorsOn(renderWebhooksPage);
/** Errors are shown on the page of all endpoints if the secret of the default one cannot be read. */
const withDefaultErrors = showErrorsOn(renderDefaultPage, withWebhookErrors);

export const addEndpoint = withWebhookErrors(async (ctx) => {
  const caller = requireCaller(ctx);
  const request = parseEndpointForm(endpointForm.read(getForm(ctx)));
  // The response to the form contains the secret. A redirect to a page with it could be opened again.
  const created = await executeFormOnce<NewEndpoint>(ctx, 'account.webhook', request, async (_id, saveResponse) => {
    const { endpoint, secret } = await createEndpoint(caller, request, {
      origin: getRequestOrigin(ctx),
      onDone: (transaction, done) => saveResponse(transaction, { uuid: done.endpoint.uuid, secret: done.secret }),
    });
    return { uuid: endpoint.uuid, secret };
  });
  await renderWebhooksPage(ctx, { created });
});

/** Shows the public key of the default endpoint and its deliveries. */
export const showDefaultPage = withDefaultErrors(async (ctx) => {
  await renderDefaultPage(ctx, { deliveries: parseShownDeliveries(ctx) });
});

/** Shows the secret of the default endpoint. */
export const showDefaultSecret = withDefaultErrors(async (ctx) => {
  await renderDefaultPage(ctx, { shownSecret: [ENDPOINT.defaultSecret(), ENDPOINT.defaultSecretSentence()] });
});

export const rotateDefault = defineAccountAction({
  withErrors: withDefaultErrors,
  describe: () => describeRotation(ENDPOINT.rotateDefaultQuestion(), DEFAULT_ENDPOINT_PATH),
  perform: async (ctx, caller) => {
    // A second rotation would end the signatures of the secret in use.
    await executeFormOnce(ctx, 'account.webhook.rotate', {}, async () => {
      await rotateDefaultSecret(caller, caller.accountId, getRequestOrigin(ctx));
      return {};
    });
    await renderDefaultPage(ctx, { shownSecret: [ENDPOINT.secretRotated(), ENDPOINT.newDefaultSecret()] });
    return undefined;
  },
});
