import { closeMcpRedis, openMcpRedis } from './redis.ts';
import { startNotifier } from './resources/subscriptions.ts';
import { startSseUpgrades } from './transport/requestHandler.ts';
import { closeSessionStreams, subscribeToEvents, unsubscribeFromEvents } from './transport/sessionStream.ts';
import { closeStatelessStreams } from './transport/stateless.ts';

/** Connects to Redis and starts the timers of the MCP endpoint. @returns a function that stops and disconnects them. */
export async function openMcp(): Promise<() => void> {
  await Promise.all([openMcpRedis(), subscribeToEvents()]);
  const stopNotifier = startNotifier();
  const stopSseUpgrades = startSseUpgrades();
  return () => {
    stopSseUpgrades();
    stopNotifier();
    unsubscribeFromEvents();
    closeMcpRedis();
  };
}

/** Ends the event streams, which would keep the process from stopping. Their clients reconnect to another process. */
export function closeMcpStreams(): void {
  closeSessionStreams();
  void closeStatelessStreams();
}
