import { endStatelessStreams } from './stateless.ts';
import { closeStore, openStore } from './store.ts';
import { endStreams, listenForNews, stopListeningForNews } from './streams.ts';
import { startWatching, stopWatching } from './watch.ts';

/** Connects to what all web processes share; call once, at the start. */
export async function openMcp(): Promise<void> {
  await Promise.all([openStore(), listenForNews()]);
  startWatching();
}

/** Ends the event streams, which would otherwise keep the process from stopping. Their clients go on elsewhere. */
export function endMcpStreams(): void {
  endStreams();
  void endStatelessStreams();
}

export function closeMcp(): void {
  stopWatching();
  stopListeningForNews();
  closeStore();
}
