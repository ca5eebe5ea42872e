import { randomUUID } from 'node:crypto';
import { now } from '../../../../shared/lib/clock.ts';
import type { WebhookEndpoint } from '../../../../shared/tables/WebhookEndpoint.ts';
import type { Context } from '../../../context.ts';
import { sendConfirmationPage } from '../../../web/components/confirmationPage.tsx';
import { formatDateTime } from '../../../web/components/formatTime.ts';
import { getEndpointName } from './describeEndpoint.tsx';
import { buildEndpointPath } from './paths.ts';

interface Rotation {
  /** End of the question: the secret that is rotated. */
  name: string;
  /** Page of the endpoint. */
  path: string;
  /** End of the signatures of an earlier secret. */
  previousUntil?: Date | null;
}

/** Asks for confirmation before a secret is rotated. A form that is sent twice rotates once. */
export function sendRotationConfirmation(ctx: Context, { name, path, previousUntil = null }: Rotation): void {
  const children = (
    <>
      <p>
        A new secret and a new public key sign all messages from now on. The old ones also sign for 24 hours: until
        then, replace the secret in your receiver.
      </p>
      {previousUntil === null || previousUntil <= now() ? null : (
        <p>
          The secret was already rotated within the last 24 hours. The one before that rotation, which would sign until{' '}
          {formatDateTime(previousUntil)} (UTC), stops signing at once.
        </p>
      )}
    </>
  );
  sendConfirmationPage(ctx, {
    question: `Rotate ${name}?`,
    children,
    button: 'Rotate secret',
    action: `${path}rotate/`,
    fields: { request: randomUUID() },
    cancelPath: path,
  });
}

/** Asks for confirmation before an endpoint is deleted. */
export function sendDeletionConfirmation(ctx: Context, endpoint: WebhookEndpoint): void {
  const path = buildEndpointPath(endpoint.uuid);
  const children = (
    <>
      <p>{endpoint.url}</p>
      <p>
        It receives no events any more. Pending deliveries are dropped, and the list of its deliveries is deleted. This
        cannot be undone. To pause it, disable it instead.
      </p>
    </>
  );
  sendConfirmationPage(ctx, {
    question: `Delete the endpoint “${getEndpointName(endpoint)}”?`,
    children,
    button: 'Delete',
    action: `${path}delete/`,
    cancelPath: path,
  });
}
