import type { ProviderDescription } from '../described/protocol.ts';
import { blackForestLabs } from './blackForestLabs.ts';
import { comfyui } from './comfyui.ts';
import { diffusers } from './diffusers.ts';
import { stability } from './stability.ts';

/** Descriptions that come with the service, by the name of the provider in UPSTREAMS. */
export const PROVIDERS: Readonly<Record<string, ProviderDescription>> = {
  'black-forest-labs': blackForestLabs,
  comfyui,
  diffusers,
  stability,
};
