import type { ComponentChildren, VNode } from 'preact';
import { now } from '../../../../shared/lib/clock.ts';
import type { WebhookEndpoint } from '../../../../shared/tables/WebhookEndpoint.ts';
import { CopyText } from '../../../web/components/copyText.tsx';
import { Notice } from '../../../web/components/form.tsx';
import { Time } from '../../../web/components/time.tsx';
import { ENDPOINT as t } from './endpointTexts.ts';

interface NewSecretNoticeProps {
  /** Names the action that created the secret. */
  sentence: ComponentChildren;
  secret: string;
  children?: ComponentChildren;
}

/** Notice with a new secret, which is shown only once. */
export function NewSecretNotice({ sentence, secret, children }: NewSecretNoticeProps): VNode {
  return (
    <Notice kind="good">
      <p>{sentence}</p>
      <CopyText id="new-secret" text={secret} label={t.theSecret()} />
      {children}
    </Notice>
  );
}

/** Public key of an endpoint, with which its signatures of version `v1a` are verified. */
export function PublicKey({ text }: { text: string }): VNode {
  return (
    <>
      <h3>{t.publicKey()}</h3>
      <CopyText id="public-key" text={text} label={t.thePublicKey()} />
      <p class="hint">{t.publicKeyHint()}</p>
    </>
  );
}

/** Note after a rotation, while the previous keys sign as well. */
export function PreviousKeysNote({ endpoint: { previous_until } }: { endpoint: WebhookEndpoint }): VNode | null {
  if (previous_until === null || previous_until <= now()) return null;
  return <p>{t.previousKeys({ time: () => <Time at={previous_until} /> })}</p>;
}
