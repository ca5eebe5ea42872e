import { logger } from './logger.ts';

/**
 * Returns a function that does work on an item whose lease is renewed until the work has ended. All items that are
 * worked on in this process are renewed by one call at a time. A lease that cannot be renewed ends, and has no effect
 * on the work.
 */
export function createLeaseHeartbeat<Item>({
  intervalMs,
  renew,
}: {
  intervalMs: number;
  renew: (items: readonly Item[]) => Promise<unknown>;
}): <Result>(items: readonly Item[], work: () => Promise<Result>) => Promise<Result> {
  const held = new Set<Item>();
  let heartbeat: NodeJS.Timeout | undefined;
  const beat = (): void =>
    void renew([...held]).catch((err: unknown) => logger.warn({ err }, 'leases were not renewed'));

  return async (items, work) => {
    for (const item of items) held.add(item);
    heartbeat ??= setInterval(beat, intervalMs);
    try {
      return await work();
    } finally {
      for (const item of items) held.delete(item);
      if (held.size === 0) {
        clearInterval(heartbeat);
        heartbeat = undefined;
      }
    }
  };
}
