import { getDefaultSecret } from '../../../../shared/domain/webhooks/defaultEndpoint.ts';
import { listDeliveries } from '../../../../shared/domain/webhooks/deliveries.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { CopyText } from '../../../web/components/copyText.tsx';
import { Notice } from '../../../web/components/form.tsx';
import { Section } from '../../../web/components/section.tsx';
import { ActionForm } from './actionForm.tsx';
import { DeliveriesSection, type ShownDeliveries } from './deliveries.tsx';
import { PublicKey } from './keys.tsx';
import { DEFAULT_ENDPOINT_PATH, WEBHOOKS_PATH } from './paths.ts';
import { ENDPOINT } from './endpointTexts.ts';
import { t } from './texts.ts';

interface DefaultFlash extends PageProblem {
  deliveries?: ShownDeliveries;
  /** Title and sentence above the secret, which is hidden without them. */
  shownSecret?: readonly [title: string, sentence: string];
}

/** Renders the keys and deliveries of the events that go to the `webhook_url` of single generations. */
export async function renderDefaultPage(ctx: Context, flash: DefaultFlash = {}, status = 200): Promise<void> {
  const { accountId } = requireCaller(ctx);
  const { deliveries = { page: 1 }, shownSecret, ...problem } = flash;
  const { uuid, secret, publicKey } = await getDefaultSecret(accountId);
  const list = await listDeliveries(accountId, uuid, deliveries.page, deliveries);
  const children = (
    <>
      {shownSecret === undefined ? null : (
        <Notice kind="good">
          {shownSecret[1]}
          <CopyText id="secret" text={secret} label={ENDPOINT.theSecret()} />
        </Notice>
      )}
      <Section id="keys" class="stack" title={ENDPOINT.keys()}>
        <p>{ENDPOINT.keysLead()}</p>
        <PublicKey text={publicKey} />
        <div class="buttons">
          <ActionForm path={DEFAULT_ENDPOINT_PATH} action="show" label={ENDPOINT.showSecret()} />
          <a class="button slight" href={`${DEFAULT_ENDPOINT_PATH}rotate/`}>
            {ENDPOINT.rotateSecret()}
          </a>
        </div>
      </Section>
      <DeliveriesSection list={list} filter={deliveries} path={DEFAULT_ENDPOINT_PATH} endpoint={uuid} hasAddresses />
      <p>
        <a href={WEBHOOKS_PATH}>{t.back()}</a>
      </p>
    </>
  );
  const title = shownSecret?.[0];
  await sendAccountAreaPage(
    ctx,
    { current: WEBHOOKS_PATH, heading: t.singleGenerations(), ...problem, title, children },
    status,
  );
}
