import type { Redis } from 'ioredis';
import { createBatcher } from '../lib/batcher.ts';
import { config } from '../lib/config.ts';
import { connectForCommands, connectForBlocking } from '../lib/redis.ts';
import { perService } from '../lib/serviceScope.ts';

/**
 * "This generation was looked at", from the worker that did to whoever waits for it. A hint, never the truth: who
 * hears it, or hears nothing in time, reads the row.
 */
const channelName = () => `${config.REDIS_PREFIX}:generation-updates`;

const state = perService(() => ({
  publisher: undefined as Redis | undefined,
  subscriber: undefined as Redis | undefined,
  isOpen: true,
  waiting: new Map<string, Set<() => void>>(),
  hear: (() => {}) as (generationIds: string[]) => void,
}));

/** Tells all processes that a generation was just looked at, or has ended. */
export function publishGenerationUpdate(generationId: string): void {
  void publishBatched(generationId);
}

const publishBatched = createBatcher<string, void>({
  maxItems: 64,
  maxInFlight: 1,
  run: async (generationIds) => {
    state().publisher ??= connectForCommands('announcer');
    await state()
      .publisher?.publish(channelName(), generationIds.join(' '))
      .catch(() => 0);
    return [];
  },
});

/** Starts listening; call once, in a process that waits. */
export async function subscribeToGenerationUpdates(): Promise<void> {
  const { waiting } = state();
  const subscriber = connectForBlocking('listener');
  state().subscriber = subscriber;
  subscriber.on('message', (_channel: string, message: string) => {
    const ids = message.split(' ');
    for (const id of ids) for (const wake of waiting.get(id) ?? []) wake();
    state().hear(ids);
  });
  // Not awaited for long: a Redis that is away must not keep the process from starting.
  const subscribed = subscriber.subscribe(channelName()).catch(() => undefined);
  await Promise.race([subscribed, new Promise((resolve) => setTimeout(resolve, 2_000))]);
}

/** Has all announcements heard, whichever generation they are about. */
export function onGenerationUpdates(listener: (generationIds: string[]) => void): void {
  state().hear = listener;
}

/** Resolves when the generation is next refreshed, or after so many milliseconds. */
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

/** Lets all who wait go on with what there is; for a process that stops. Nobody waits after that. */
export function releaseWaiters(): void {
  state().isOpen = false;
  for (const wakers of state().waiting.values()) for (const wake of wakers) wake();
}

/** Whether anybody may still wait here. */
export function isAcceptingWaiters(): boolean {
  return state().isOpen;
}

export function closeGenerationUpdates(): void {
  state().publisher?.disconnect();
  state().subscriber?.disconnect();
  state().publisher = undefined;
  state().subscriber = undefined;
}
