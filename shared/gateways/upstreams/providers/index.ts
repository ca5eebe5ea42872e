import type { ProviderDescription } from '../described/protocol.ts';
import { blackForestLabs } from './blackForestLabs.ts';
import { gemini } from './gemini.ts';
import { modelArk } from './modelArk.ts';
import { stability } from './stability.ts';
import { xai } from './xai.ts';

/** Descriptions that come with the service, by the name of the provider in UPSTREAMS. */
export const PROVIDERS: Readonly<Record<string, ProviderDescription>> = {
  'black-forest-labs': blackForestLabs,
  gemini,
  modelark: modelArk,
  stability,
  xai,
};
