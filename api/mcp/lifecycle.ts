import { startSseUpgrades } from './exchanges.ts';
import { closeStatelessStreams } from './stateless.ts';
import { closeMcpRedis, openMcpRedis } from './store.ts';
import { closeSessionStreams, subscribeToEvents, unsubscribeFromEvents } from './streams.ts';
import { startNotifier } from './watch.ts';

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
