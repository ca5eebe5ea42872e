import type { Redis } from 'ioredis';
import { createBatcher } from '../lib/batcher.ts';
import { config } from '../lib/config.ts';
import { connectForCommands, connectForWaiting } from '../lib/redis.ts';

/**
 * "This generation was looked at", from the worker that did to whoever waits for it. A hint, never the truth: who
 * hears it, or hears nothing in time, reads the row.
 */
const CHANNEL = `${config.REDIS_PREFIX}:refreshed`;

let publisher: Redis | undefined;
let subscriber: Redis | undefined;
let isOpen = true;
const waiting = new Map<string, Set<() => void>>();
let hear: (generationIds: string[]) => void = () => {};

/** Tells all processes that a generation was just looked at, or has ended. */
export function announce(generationId: string): void {
  void publish(generationId);
}

const publish = createBatcher<string, void>({
  maxItems: 64,
  maxInFlight: 1,
  run: async (generationIds) => {
    publisher ??= connectForCommands('announcer');
    await publisher.publish(CHANNEL, generationIds.join(' ')).catch(() => 0);
    return [];
  },
});

/** Starts listening; call once, in a process that waits. */
export async function listen(): Promise<void> {
  subscriber = connectForWaiting('listener');
  subscriber.on('message', (_channel: string, message: string) => {
    const ids = message.split(' ');
    for (const id of ids) for (const wake of waiting.get(id) ?? []) wake();
    hear(ids);
  });
  // Not awaited for long: a Redis that is away must not keep the process from starting.
  const subscribed = subscriber.subscribe(CHANNEL).catch(() => undefined);
  await Promise.race([subscribed, new Promise((resolve) => setTimeout(resolve, 2_000))]);
}

/** Has all announcements heard, whichever generation they are about. */
export function onAnnouncement(listener: (generationIds: string[]) => void): void {
  hear = listener;
}

/** Resolves when the generation is next refreshed, or after so many milliseconds. */
export function refreshedWithin(generationId: string, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const wakers = waiting.get(generationId) ?? new Set();
    waiting.set(generationId, wakers);
    const wake = () => {
      clearTimeout(timer);
      wakers.delete(wake);
      if (wakers.size === 0) waiting.delete(generationId);
      resolve();
    };
    const timer = setTimeout(wake, milliseconds);
    wakers.add(wake);
  });
}

/** Lets all who wait go on with what there is; for a process that stops. Nobody waits after that. */
export function stopWaiting(): void {
  isOpen = false;
  for (const wakers of waiting.values()) for (const wake of wakers) wake();
}

/** Whether anybody may still wait here. */
export function maySleep(): boolean {
  return isOpen;
}

export function stopListening(): void {
  publisher?.disconnect();
  subscriber?.disconnect();
  publisher = undefined;
  subscriber = undefined;
}
