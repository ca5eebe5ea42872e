import { COMFYUI } from './comfyui.ts';
import { DIFFUSERS } from './diffusers.ts';
import { BLACK_FOREST_LABS } from './blackForestLabs.ts';
import { KLING } from './kling.ts';
import { LUMA } from './luma.ts';
import { MINIMAX } from './miniMax.ts';
import { GEMINI } from './gemini.ts';
import { MODEL_ARK } from './modelArk.ts';
import type { ProviderCase } from './providerFake.ts';
import { RUNWAY } from './runway.ts';
import { STABILITY } from './stability.ts';
import { XAI } from './xai.ts';

/** Providers whose descriptions come with the service, each with a strict fake. */
export const PROVIDER_CASES: readonly ProviderCase[] = [
  BLACK_FOREST_LABS,
  ...KLING,
  ...LUMA,
  ...MINIMAX,
  ...COMFYUI,
  ...DIFFUSERS,
  ...GEMINI,
  ...MODEL_ARK,
  ...RUNWAY,
  STABILITY,
  ...XAI,
];
