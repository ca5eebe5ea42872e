import type { ProviderDescription } from '../described/protocol.ts';
import { blackForestLabs } from './blackForestLabs.ts';
import { kling } from './kling.ts';
import { luma } from './luma.ts';
import { miniMax } from './miniMax.ts';
import { runway } from './runway.ts';
import { gemini } from './gemini.ts';
import { modelArk } from './modelArk.ts';
import { comfyui } from './comfyui.ts';
import { diffusers } from './diffusers.ts';
import { stability } from './stability.ts';
import { xai } from './xai.ts';

/** Descriptions that come with the service, by the name of the provider in UPSTREAMS. */
export const PROVIDERS: Readonly<Record<string, ProviderDescription>> = {
  'black-forest-labs': blackForestLabs,
  kling,
  luma,
  minimax: miniMax,
  runway,
  gemini,
  modelark: modelArk,
  comfyui,
  diffusers,
  stability,
  xai,
};
