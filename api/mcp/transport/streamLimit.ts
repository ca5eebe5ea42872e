import { perService } from '../../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { MCP_STREAMS_PER_ACCOUNT } from '../../../shared/spec/limits.ts';

/** The event streams that this process serves, by account: nobody takes the places of all others. */
const openStreamCounts = perService(() => new Map<number, number>());

/**
 * Counts a stream that is about to be opened.
 * @returns what ends it again.
 * @throws ServiceError rate_limited where the account has too many.
 */
export function acquireStreamSlot(accountId: number): () => void {
  const open = openStreamCounts();
  const count = open.get(accountId) ?? 0;
  if (count >= MCP_STREAMS_PER_ACCOUNT) {
    const detail = `The account has ${MCP_STREAMS_PER_ACCOUNT} event streams open: close some of them first.`;
    throw new ServiceError('rate_limited', detail, { retryAfterSeconds: 15 });
  }
  open.set(accountId, count + 1);
  return () => {
    const left = (open.get(accountId) ?? 1) - 1;
    if (left === 0) open.delete(accountId);
    else open.set(accountId, left);
  };
}
