import { setTimeout as delay } from 'node:timers/promises';
import type { DemoClient } from './client.ts';
import type { ProgressDisplay } from './progressDisplay.ts';

const POLL_MS = 2_000;

/** The fields of a generation that the demo uses. */
export interface Generation {
  uuid: string;
  status: 'queued' | 'succeeded' | 'failed';
  output_url: string | null;
  credits_charged: number;
  error_message: string | null;
  duration_ms: number | null;
}

/** A generation to create, and its name in the progress display. */
export interface DemoGeneration {
  name: string;
  model: string;
  prompt: string;
  params: Record<string, unknown>;
}

/** Creates a generation and reads it every two seconds until it has ended. */
export async function generateAndWait(
  client: DemoClient,
  { name, ...request }: DemoGeneration,
  display: ProgressDisplay,
): Promise<Generation> {
  display.update(name, 'submitting');
  let generation = await client.post<Generation>('/api/generations/create/', request);
  const charged = `${generation.credits_charged} credits charged`;
  while (generation.status === 'queued') {
    display.update(name, `queued, ${charged}`);
    await delay(POLL_MS);
    generation = await client.get<Generation>(`/api/generations/${generation.uuid}/`);
  }
  const seconds = `after ${((generation.duration_ms ?? 0) / 1_000).toFixed(1)} s`;
  if (generation.status === 'succeeded') display.finish(name, `succeeded ${seconds}, ${charged}`);
  else display.finish(name, `failed ${seconds}, ${charged} and refunded: ${generation.error_message}`);
  return generation;
}
