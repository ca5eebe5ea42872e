import type { Redis } from 'ioredis';
import { config } from '../lib/config.ts';
import { connectForCommands, connectForWaiting } from '../lib/redis.ts';

/**
 * "This generation was looked at", from the worker that did to whoever waits for it. A hint, never the truth: who
 * hears it, or hears nothing in time, reads the row.
 */
const CHANNEL = `${config.REDIS_PREFIX}:refreshed`;

let publisher: Redis | undefined;
let subscriber: Redis | undefined;
const waiting = new Map<string, Set<() => void>>();

/** Tells all processes that these generations were just refreshed. Never rejects. */
export async function announceRefreshed(generationIds: string[]): Promise<void> {
  publisher ??= connectForCommands('announcer');
  await publisher.publish(CHANNEL, generationIds.join(' ')).catch(() => 0);
}

/** Starts listening; call once, in a process that waits. */
export async function listen(): Promise<void> {
  subscriber = connectForWaiting('listener');
  subscriber.on('message', (_channel: string, message: string) => {
    for (const id of message.split(' ')) for (const wake of waiting.get(id) ?? []) wake();
  });
  // Not awaited for long: a Redis that is away must not keep the process from starting.
  const subscribed = subscriber.subscribe(CHANNEL).catch(() => undefined);
  await Promise.race([subscribed, new Promise((resolve) => setTimeout(resolve, 2_000))]);
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

export function stopListening(): void {
  publisher?.disconnect();
  subscriber?.disconnect();
  publisher = undefined;
  subscriber = undefined;
}
