import { tidyIncoming } from '../shared/gateways/media/incoming.ts';
import { forgetIdempotencyKeys } from '../shared/domain/generations/idempotency.ts';
import { removeDueFiles } from '../shared/domain/mediaRemovals.ts';
import { checkModels } from '../shared/domain/settlement/checkModels.ts';
import { dispatch } from '../shared/domain/settlement/dispatch.ts';
import { refresh } from '../shared/domain/settlement/refresh.ts';
import { sweep } from '../shared/domain/settlement/sweep.ts';
import { forgetExpiredSessions } from '../shared/domain/sessions.ts';
import type { JobName, Payload } from '../shared/queues/catalog.ts';

/** What each job does: payload in, domain call out. A job of the catalog that is missing here does not compile. */
export const PROCESSORS: { [Name in JobName]: (payload: Payload<Name>) => Promise<void> } = {
  'generation.dispatch': ({ generationIds }) => dispatch(generationIds),
  'generation.poll': ({ generationIds }) => refresh(generationIds, 'poll'),
  'generation.refresh': ({ generationIds }) => refresh(generationIds, 'read'),
  'generation.sweep': () => sweep(),
  'models.check': () => checkModels(),
  'media.tidy': () => tidyIncoming(),
  'media.remove': () => removeDueFiles(),
  'idempotencyKeys.forget': () => forgetIdempotencyKeys(),
  'sessions.forget': () => forgetExpiredSessions(),
};
