import type { ComponentChildren, VNode } from 'preact';
import { now } from '../../../../shared/lib/clock.ts';
import type { WebhookEndpoint } from '../../../../shared/tables/WebhookEndpoint.ts';
import { CopyText } from '../../../web/components/copyText.tsx';
import { Notice } from '../../../web/components/form.tsx';
import { formatDateTime } from '../../../web/components/formatTime.ts';

interface NewSecretNoticeProps {
  /** The action that created the secret. */
  sentence: string;
  secret: string;
  children?: ComponentChildren;
}

/** Notice with a new secret, which is shown only once. */
export function NewSecretNotice({ sentence, secret, children }: NewSecretNoticeProps): VNode {
  return (
    <Notice kind="good">
      <strong>{sentence}</strong> Copy its secret now. It will not be shown again.
      <CopyText id="new-secret" text={secret} label="the secret" />
      {children}
    </Notice>
  );
}

/** Public key of an endpoint, with which its signatures of version `v1a` are verified. */
export function PublicKey({ text }: { text: string }): VNode {
  return (
    <>
      <h3>Public key</h3>
      <CopyText id="public-key" text={text} label="the public key" />
      <p class="hint">
        Verifies signatures of version <code>v1a</code>. It is not secret.
      </p>
    </>
  );
}

/** Note after a rotation, while the previous keys sign as well. */
export function PreviousKeysNote({ endpoint: { previous_until } }: { endpoint: WebhookEndpoint }): VNode | null {
  if (previous_until === null || previous_until <= now()) return null;
  return <p>The previous secret and public key sign as well until {formatDateTime(previous_until)} (UTC).</p>;
}
