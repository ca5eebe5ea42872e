import { createBatcher } from '../lib/batcher.ts';
import { config } from '../lib/config.ts';
import { connectForCommands, connectForBlocking, type RedisClient, subscribeToChannel } from '../lib/redis.ts';
import { perService } from '../lib/serviceScope.ts';

/**
 * Redis channel on which workers publish that a generation was polled or has ended. A message is only a hint: waiters
 * read the row when one arrives, and also when none arrives in time.
 */
const channelName = () => `${config.REDIS_PREFIX}:generation-updates`;

const state = perService(() => ({
  publisher: undefined as RedisClient | undefined,
  subscriber: undefined as RedisClient | undefined,
  isOpen: true,
  waiting: new Map<string, Set<() => void>>(),
  onUpdates: (() => {}) as (generationIds: string[]) => void,
}));

/** Notifies all processes that a generation was polled or has ended. */
export function publishGenerationUpdate(generationId: string): void {
  void publishBatched(generationId);
}

const publishBatched = createBatcher<string, void>({
  maxItems: 64,
  maxInFlight: 1,
  run: async (generationIds) => {
    state().publisher ??= connectForCommands('generation-updates-publisher');
    await state()
      .publisher?.publish(channelName(), generationIds.join(' '))
      .catch(() => 0);
    return [];
  },
});

/** Subscribes to the channel. Call it once, in a process that waits for updates. */
export async function subscribeToGenerationUpdates(): Promise<void> {
  const { waiting } = state();
  const subscriber = connectForBlocking('generation-updates-subscriber');
  state().subscriber = subscriber;
  subscriber.on('message', (_channel: string, message: string) => {
    const ids = message.split(' ');
    for (const id of ids) for (const wake of waiting.get(id) ?? []) wake();
    state().onUpdates(ids);
  });
  await subscribeToChannel(subscriber, channelName());
}

/** Sets the listener for updates of all generations. */
export function onGenerationUpdates(listener: (generationIds: string[]) => void): void {
  state().onUpdates = listener;
}

/** Resolves at the next update of the generation, or after the timeout. */
export function waitForGenerationUpdate(generationId: string, timeoutMs: number): Promise<void> {
  const { waiting } = state();
  return new Promise((resolve) => {
    const wakers = waiting.get(generationId) ?? new Set();
    waiting.set(generationId, wakers);
    const wake = () => {
      clearTimeout(timer);
      wakers.delete(wake);
      if (wakers.size === 0) waiting.delete(generationId);
      resolve();
    };
    const timer = setTimeout(wake, timeoutMs);
    wakers.add(wake);
  });
}

/** Resolves all waits, and stops accepting new waiters. For a process that shuts down. */
export function releaseWaiters(): void {
  state().isOpen = false;
  for (const wakers of state().waiting.values()) for (const wake of wakers) wake();
}

/** Returns false once {@link releaseWaiters} was called. */
export function isAcceptingWaiters(): boolean {
  return state().isOpen;
}

export function closeGenerationUpdates(): void {
  state().publisher?.disconnect();
  state().subscriber?.disconnect();
  state().publisher = undefined;
  state().subscriber = undefined;
}
