import { waitUntilReady } from '../../shared/lib/redis.ts';
import { mcpRedis } from './redis.ts';
import { startNotifier } from './resources/subscriptions.ts';
import { closeSessionStreams, subscribeToEvents } from './transport/sessionStream.ts';
import { closeStatelessStreams } from './transport/stateless.ts';

/** Connects to Redis and starts the timers of the MCP endpoint. @returns a function that stops and disconnects them. */
export async function openMcp(): Promise<() => void> {
  const [unsubscribeFromEvents] = await Promise.all([subscribeToEvents(), waitUntilReady(mcpRedis())]);
  const stopNotifier = startNotifier();
  return () => {
    stopNotifier();
    unsubscribeFromEvents();
    mcpRedis().disconnect();
  };
}

/** Ends the event streams, which would keep the process from stopping. Their clients reconnect to another process. */
export function closeMcpStreams(): void {
  closeSessionStreams();
  closeStatelessStreams();
}
