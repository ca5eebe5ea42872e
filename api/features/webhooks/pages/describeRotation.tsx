import { now } from '../../../../shared/lib/clock.ts';
import { Time } from '../../../web/components/time.tsx';
import { ENDPOINT as t } from './endpointTexts.ts';

/**
 * Describes the rotation of a secret for its confirmation.
 * @param path page of the endpoint.
 * @param previousUntil end of the signatures of an earlier secret.
 */
export function describeRotation(question: string, path: string, previousUntil: Date | null = null) {
  const consequences = (
    <>
      <p>{t.rotateEffect()}</p>
      {previousUntil === null || previousUntil <= now() ? null : (
        <p>{t.rotatedBefore({ time: () => <Time at={previousUntil} /> })}</p>
      )}
    </>
  );
  return { question, consequences, button: t.rotateSecret(), returnPath: path };
}
