import { now } from '../../../../shared/lib/clock.ts';
import { formatDateTime } from '../../../web/components/formatTime.ts';

/**
 * Describes the rotation of a secret for its confirmation.
 * @param name end of the question: the secret that is rotated.
 * @param path page of the endpoint.
 * @param previousUntil end of the signatures of an earlier secret.
 */
export function describeRotation(name: string, path: string, previousUntil: Date | null = null) {
  const consequences = (
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
  return { question: `Rotate ${name}?`, consequences, button: 'Rotate secret', returnPath: path };
}
