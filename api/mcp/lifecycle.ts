import { startPendingStreams } from './exchanges.ts';
import { endStatelessStreams } from './stateless.ts';
import { closeStore, openStore } from './store.ts';
import { endStreams, listenForNews, stopListeningForNews } from './streams.ts';
import { startWatching } from './watch.ts';

/** Connects to what all web processes share. @returns what closes it again. */
export async function openMcp(): Promise<() => void> {
  await Promise.all([openStore(), listenForNews()]);
  const stopWatching = startWatching();
  const stopPendingStreams = startPendingStreams();
  return () => {
    stopPendingStreams();
    stopWatching();
    stopListeningForNews();
    closeStore();
  };
}

/** Ends the event streams, which would otherwise keep the process from stopping. Their clients continue elsewhere. */
export function endMcpStreams(): void {
  endStreams();
  void endStatelessStreams();
}
