import { startSseUpgrades } from './transport/requestHandler.ts';
import { closeStatelessStreams } from './transport/stateless.ts';
import { closeMcpRedis, openMcpRedis } from './redis.ts';
import { closeSessionStreams, subscribeToEvents, unsubscribeFromEvents } from './transport/sessionStream.ts';
import { startNotifier } from './resources/subscriptions.ts';

/** Connects to what all web processes share. @returns what closes it again. */
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

/** Ends the event streams, which would otherwise keep the process from stopping. Their clients continue elsewhere. */
export function closeMcpStreams(): void {
  closeSessionStreams();
  void closeStatelessStreams();
}
